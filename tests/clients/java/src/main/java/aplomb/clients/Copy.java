package aplomb.clients;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Reads as a member of a group, and writes what it has read and the offsets in transactions; every third one is aborted, and done again. */
final class Copy {
    private Copy() {}

    static void run(Options options) {
        int left = options.number("--count", 1);
        int batch = options.number("--batch", 5);
        try (var consumer = new KafkaConsumer<>(reading(options, batch), new ByteArrayDeserializer(), new ByteArrayDeserializer());
             var producer = new KafkaProducer<>(writing(options), new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            consumer.subscribe(List.of(options.get("--topic")));
            for (int transaction = 0; left > 0; ) {
                var records = new ArrayList<ConsumerRecord<byte[], byte[]>>();
                consumer.poll(Duration.ofMillis(200)).forEach(records::add);
                if (records.isEmpty()) {
                    continue;
                }
                for (boolean committed = false; !committed; transaction++) {
                    committed = transaction % 3 != 1;
                    transact(consumer, producer, records, options.get("--output"), committed);
                    Output.line(Map.of("committed", committed, "records", records.size()));
                    Output.flush();
                }
                left -= records.size();
            }
        }
    }

    private static void transact(
            KafkaConsumer<byte[], byte[]> consumer,
            KafkaProducer<byte[], byte[]> producer,
            List<ConsumerRecord<byte[], byte[]>> records,
            String output,
            boolean commits) {
        producer.beginTransaction();
        var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
        for (var record : records) {
            producer.send(new ProducerRecord<>(output, record.value()));
            offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        if (commits) {
            producer.commitTransaction();
        } else {
            producer.flush();
            producer.abortTransaction();
        }
    }

    private static Properties reading(Options options, int batch) {
        var properties = new Properties();
        properties.put("bootstrap.servers", options.get("--bootstrap"));
        properties.put("group.id", options.get("--group"));
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("isolation.level", "read_committed");
        properties.put("max.poll.records", String.valueOf(batch));
        properties.put("session.timeout.ms", "6000");
        return properties;
    }

    private static Properties writing(Options options) {
        var properties = new Properties();
        properties.put("bootstrap.servers", options.get("--bootstrap"));
        properties.put("transactional.id", options.get("--transactional-id"));
        properties.put("request.timeout.ms", "5000");
        return properties;
    }
}
