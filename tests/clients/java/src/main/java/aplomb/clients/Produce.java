package aplomb.clients;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends {@code --count} records and reports each acknowledgement, or its failure by exception class. */
final class Produce {
    private Produce() {}

    static void run(Options options) throws Exception {
        String acks = options.get("--acks", "all");
        var properties = new Properties();
        properties.put("bootstrap.servers", options.get("--bootstrap"));
        properties.put("acks", acks);
        properties.put("enable.idempotence", Boolean.toString(options.has("--idempotent")));
        properties.put("compression.type", options.get("--compression", "none"));
        properties.put("linger.ms", "5");
        properties.put("max.block.ms", "20000");
        properties.put("delivery.timeout.ms", "60000");
        properties.put("request.timeout.ms", "20000");
        options.addConfigsTo(properties);

        String topic = options.get("--topic");
        Integer partition = options.has("--partition") ? Integer.valueOf(options.get("--partition")) : null;
        int seed = options.number("--seed", 0);
        int size = options.number("--size", 100);
        int count = options.number("--count", 1);
        int rate = options.number("--rate", 0);
        boolean summary = options.has("--summary");
        List<Header> headers = options.has("--headers") ? Values.headers(seed) : List.of();
        var acknowledged = new AtomicInteger();

        try (var producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            long start = System.nanoTime();
            for (int i = 0; i < count; i++) {
                int seq = i;
                if (rate > 0) {
                    long due = start + seq * 1_000_000_000L / rate;
                    Thread.sleep(Math.max(0, (due - System.nanoTime()) / 1_000_000));
                }
                byte[] key = options.has("--key-prefix") ? (options.get("--key-prefix") + seq).getBytes(StandardCharsets.UTF_8) : null;
                byte[] value = Values.value(seed, seq, size, options.has("--tombstones"));
                Long timestamp = options.has("--timestamp") ? Long.valueOf(options.large("--timestamp", 0) + seq) : null;
                try {
                    producer.send(new ProducerRecord<>(topic, partition, timestamp, key, value, headers), (metadata, failure) -> {
                        if (failure != null) {
                            Output.line(Map.of("seq", seq, "error", Output.name(failure), "message", String.valueOf(failure.getMessage())));
                        } else {
                            acknowledged.incrementAndGet();
                            if (!acks.equals("0") && !summary) {
                                Output.line(Map.of("partition", metadata.partition(), "offset", metadata.offset(), "seq", seq));
                            }
                        }
                    });
                } catch (org.apache.kafka.common.KafkaException refused) {
                    Output.line(Map.of("seq", seq, "error", Output.name(refused), "message", String.valueOf(refused.getMessage())));
                }
            }
            producer.flush();
        }
        if (acks.equals("0") || summary) {
            Output.line(Map.of("count", acknowledged.get()));
        }
    }
}
