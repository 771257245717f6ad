package aplomb.clients;

import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads by assignment, never by group: {@code --count} records of the given partitions, or what came before {@code --timeout}. */
final class Consume {
    private Consume() {}

    static void run(Options options) throws Exception {
        var properties = new Properties();
        properties.put("bootstrap.servers", options.get("--bootstrap"));
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "none");
        // Closing waits for the fetch that is parked at the broker.
        properties.put("fetch.max.wait.ms", "100");
        if (options.has("--max-partition-bytes")) {
            properties.put("max.partition.fetch.bytes", options.get("--max-partition-bytes"));
        }
        options.addConfigsTo(properties);

        String topic = options.get("--topic");
        int count = options.number("--count", 1);
        long deadline = System.nanoTime() + Duration.ofSeconds(options.number("--timeout", 30)).toNanos();
        try (var consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            var partitions = partitions(options, topic, consumer);
            consumer.assign(partitions);
            seek(options, consumer, partitions);
            if (options.has("--summary")) {
                summarize(consumer, count, deadline);
                return;
            }
            int seen = 0;
            while (seen < count && System.nanoTime() < deadline) {
                for (var record : consumer.poll(Duration.ofMillis(200))) {
                    if (seen++ < count) {
                        Output.line(describe(record));
                    }
                }
            }
        }
    }

    private static List<TopicPartition> partitions(Options options, String topic, KafkaConsumer<byte[], byte[]> consumer) {
        var partitions = new ArrayList<TopicPartition>();
        if (options.get("--partition").equals("all")) {
            consumer.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
        } else {
            for (String partition : options.get("--partition").split(",")) {
                partitions.add(new TopicPartition(topic, Integer.parseInt(partition)));
            }
        }
        return partitions;
    }

    private static void seek(Options options, KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> partitions) {
        if (options.has("--timestamp")) {
            var wanted = new HashMap<TopicPartition, Long>();
            partitions.forEach(partition -> wanted.put(partition, options.large("--timestamp", 0)));
            var found = consumer.offsetsForTimes(wanted);
            for (var partition : partitions) {
                if (found.get(partition) == null) {
                    consumer.seekToEnd(List.of(partition));
                } else {
                    consumer.seek(partition, found.get(partition).offset());
                }
            }
            return;
        }
        switch (options.get("--offset", "earliest")) {
            case "earliest" -> consumer.seekToBeginning(partitions);
            case "latest" -> {
                consumer.seekToEnd(partitions);
                // Seeking is lazy: asking for the position pins the end as of now, before the test produces more.
                partitions.forEach(consumer::position);
                Output.line(Map.of("positioned", true));
                Output.flush();
            }
            default -> partitions.forEach(partition -> consumer.seek(partition, options.large("--offset", 0)));
        }
    }

    /** One line for many records: how many, how many bytes, one digest over the values of each partition in order, and any gap. */
    private static void summarize(KafkaConsumer<byte[], byte[]> consumer, int count, long deadline) throws Exception {
        var digests = new HashMap<Integer, MessageDigest>();
        var next = new HashMap<Integer, Long>();
        long records = 0;
        long bytes = 0;
        long gaps = 0;
        while (records < count && System.nanoTime() < deadline) {
            for (var record : consumer.poll(Duration.ofMillis(200))) {
                if (records == count) {
                    break;
                }
                records++;
                bytes += record.value().length;
                if (next.getOrDefault(record.partition(), record.offset()) != record.offset()) {
                    gaps++;
                }
                next.put(record.partition(), record.offset() + 1);
                if (!digests.containsKey(record.partition())) {
                    digests.put(record.partition(), MessageDigest.getInstance("SHA-256"));
                }
                digests.get(record.partition()).update(record.value());
            }
        }
        var values = new LinkedHashMap<String, String>();
        for (int partition : new TreeSet<>(digests.keySet())) {
            values.put(Integer.toString(partition), java.util.HexFormat.of().formatHex(digests.get(partition).digest()));
        }
        Output.line(Map.of("records", records, "bytes", bytes, "gaps", gaps, "values", values));
    }

    static Map<String, Object> describe(ConsumerRecord<byte[], byte[]> record) {
        var line = new LinkedHashMap<String, Object>();
        line.put("partition", record.partition());
        line.put("offset", record.offset());
        line.put("timestamp", record.timestamp());
        line.put("timestamp_type", record.timestampType().toString());
        line.put("key", Values.text(record.key()));
        line.put("value_sha", Values.sha256(record.value()));
        var headers = new ArrayList<List<String>>();
        record.headers().forEach(header -> headers.add(java.util.Arrays.asList(header.key(), Values.text(header.value()))));
        line.put("headers", headers);
        return line;
    }
}
