package aplomb.crash;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java producer of the crash tests: idempotent, and it goes on whatever happens to its broker. It sends to its partitions in turn
 * until standard input ends, logs every acknowledgement with its time, and says at the end how many records each partition was sent.
 * Command line, log and values are those of the franz-go client's {@code load}: see ../README.md.
 */
public final class Load {
    private static final byte[] ALPHABET =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".getBytes(StandardCharsets.US_ASCII);
    private static volatile boolean stopped;

    private Load() {}

    public static void main(String[] arguments) throws Exception {
        var options = new HashMap<String, String>();
        for (int i = 0; i < arguments.length; i += 2) {
            options.put(arguments[i].substring(2), arguments[i + 1]);
        }
        var sent = new TreeMap<Integer, Long>();
        stopWhenInputEnds();
        try (var log = new Log(Path.of(options.get("log")))) {
            try (var producer = new KafkaProducer<>(properties(options), new ByteArraySerializer(), new ByteArraySerializer())) {
                send(options, producer, log, sent);
                producer.flush();
            }
        }
        var counts = new StringBuilder();
        sent.forEach((partition, count) -> counts.append(counts.isEmpty() ? "" : ",").append("\"" + partition + "\":" + count));
        System.out.println("{\"sent\":{" + counts + "}}");
    }

    private static Properties properties(Map<String, String> options) {
        var properties = new Properties();
        properties.put("bootstrap.servers", options.get("bootstrap"));
        properties.put("acks", "all");
        properties.put("enable.idempotence", "true");
        properties.put("linger.ms", "5");
        // Patience without end: a broker that is gone or that makes its producers wait must cost nothing but time.
        properties.put("delivery.timeout.ms", "1800000");
        properties.put("max.block.ms", "1800000");
        properties.put("request.timeout.ms", "15000");
        properties.put("buffer.memory", options.getOrDefault("memory", "8388608"));
        properties.put("reconnect.backoff.max.ms", "200");
        properties.put("retry.backoff.max.ms", "200");
        return properties;
    }

    private static void send(Map<String, String> options, KafkaProducer<byte[], byte[]> producer, Log log, Map<Integer, Long> sent)
            throws InterruptedException {
        String topic = options.get("topic");
        String id = options.get("id");
        int size = Integer.parseInt(options.getOrDefault("size", "200"));
        long rate = Long.parseLong(options.getOrDefault("rate", "0"));
        List<Integer> partitions = partitions(options.get("partitions"));
        long due = System.nanoTime();
        for (int turn = 0; !stopped; turn++) {
            if (rate > 0) {
                long early = due - System.nanoTime();
                if (early > 0) {
                    Thread.sleep(early / 1_000_000, (int) (early % 1_000_000));
                }
                // Time lost in waiting for the broker is not made up for.
                due = Math.max(due + 1_000_000_000 / rate, System.nanoTime() - 100_000_000);
            }
            int partition = partitions.get(turn % partitions.size());
            long seq = sent.merge(partition, 1L, Long::sum) - 1;
            producer.send(new ProducerRecord<>(topic, partition, null, value(id, partition, seq, size)), (metadata, failure) ->
                log.acknowledged(partition, seq, failure == null ? metadata.offset() : -1, failure));
        }
    }

    private static List<Integer> partitions(String text) {
        var all = new ArrayList<Integer>();
        for (String part : text.split(",")) {
            String[] ends = part.split("-");
            int last = Integer.parseInt(ends[ends.length - 1]);
            for (int partition = Integer.parseInt(ends[0]); partition <= last; partition++) {
                all.add(partition);
            }
        }
        return all;
    }

    /** The record's name, and then bytes that follow from it: FNV-1a of the name is the seed of a xorshift. */
    private static byte[] value(String id, int partition, long seq, int size) {
        byte[] name = (id + "/" + partition + "/" + seq + "/").getBytes(StandardCharsets.US_ASCII);
        int state = 0x811C9DC5;
        for (byte each : name) {
            state = (state ^ each) * 0x01000193;
        }
        state |= 1;
        byte[] bytes = java.util.Arrays.copyOf(name, Math.max(size, name.length));
        for (int i = name.length; i < bytes.length; i++) {
            state ^= state << 13;
            state ^= state >>> 17;
            state ^= state << 5;
            bytes[i] = ALPHABET[state & 63];
        }
        return bytes;
    }

    private static void stopWhenInputEnds() {
        var reader = new Thread(() -> {
            try {
                System.in.transferTo(java.io.OutputStream.nullOutputStream());
            } catch (IOException ended) {
                // An input that breaks has ended too.
            }
            stopped = true;
        });
        reader.setDaemon(true);
        reader.start();
    }

    /** One JSON line for each record, written soon after it was acknowledged. */
    private static final class Log implements AutoCloseable {
        private final BufferedWriter out;
        private final Thread flushing = new Thread(this::flushOften);

        Log(Path path) throws IOException {
            out = Files.newBufferedWriter(path);
            flushing.setDaemon(true);
            flushing.start();
        }

        void acknowledged(int partition, long seq, long offset, Exception failure) {
            String error = failure == null ? "" : ",\"error\":\"" + failure.getClass().getSimpleName() + "\"";
            write("{\"at\":" + System.currentTimeMillis() + ",\"partition\":" + partition + ",\"seq\":" + seq
                + ",\"offset\":" + offset + error + "}\n");
        }

        private synchronized void write(String line) {
            try {
                out.write(line);
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
        }

        private void flushOften() {
            try {
                while (true) {
                    Thread.sleep(20);
                    synchronized (this) {
                        out.flush();
                    }
                }
            } catch (InterruptedException | IOException closed) {
                // Closed: whatever is left was written by close().
            }
        }

        @Override
        public synchronized void close() throws IOException {
            flushing.interrupt();
            out.close();
        }
    }
}
