package aplomb.first;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** The first minute with kafka-clients: the steps of ../../steps.py, told as it tells them. */
public final class Main {
    private static final String TOPIC = "first";
    private static final int RECORDS = 20;
    private static final TopicPartition PARTITION = new TopicPartition(TOPIC, 0);
    private static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));

    private interface Step {
        /** What the step found, as JSON. */
        String at(String bootstrap) throws Exception;
    }

    public static void main(String[] arguments) throws IOException {
        Map<String, Step> steps = new LinkedHashMap<>();
        steps.put("list", Main::topics);
        steps.put("cluster", Main::cluster);
        steps.put("create", Main::create);
        steps.put("describe", Main::describe);
        steps.put("configs", Main::configs);
        steps.put("produce", Main::produce);
        steps.put("consume", Main::consume);
        steps.put("missing", Main::missing);
        steps.put("restart", Main::restart);
        steps.put("delete", Main::delete);
        steps.put("nowhere", Main::nowhere);
        steps.forEach((name, step) -> {
            String said;
            try {
                said = step.at(arguments[name.equals("nowhere") ? 1 : 0]);
            } catch (Exception failure) {
                Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
                said = "{\"error\": " + text(cause.toString()) + "}";
            }
            say("{\"step\": " + text(name) + ", \"said\": " + said + "}");
        });
        say("{\"release\": " + text("kafka-clients " + release()) + "}");
    }

    private static String release() throws IOException {
        Properties properties = new Properties();
        properties.load(Admin.class.getResourceAsStream("/kafka/kafka-version.properties"));
        return properties.getProperty("version");
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static String text(String value) {
        return '"' + value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ") + '"';
    }

    private static Properties at(String bootstrap, String... more) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("default.api.timeout.ms", "30000");
        for (String part : List.of("key.", "value.")) {
            properties.put(part + "serializer", "org.apache.kafka.common.serialization.StringSerializer");
            properties.put(part + "deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        for (int i = 0; i < more.length; i += 2) {
            properties.put(more[i], more[i + 1]);
        }
        return properties;
    }

    private static Admin admin(String bootstrap) {
        return Admin.create(at(bootstrap));
    }

    private static String topics(String bootstrap) throws Exception {
        return topics(admin(bootstrap));
    }

    private static String nowhere(String bootstrap) throws Exception {
        return topics(Admin.create(at(bootstrap, "request.timeout.ms", "2000", "default.api.timeout.ms", "5000")));
    }

    private static String topics(Admin ours) throws Exception {
        try (Admin admin = ours) {
            return admin.listTopics().names().get().stream().sorted().map(Main::text)
                    .collect(Collectors.joining(", ", "[", "]"));
        }
    }

    private static String cluster(String bootstrap) throws Exception {
        try (Admin admin = admin(bootstrap)) {
            return String.valueOf(admin.describeCluster().nodes().get().size());
        }
    }

    private static String create(String bootstrap) throws Exception {
        try (Admin admin = admin(bootstrap)) {
            admin.createTopics(List.of(new NewTopic(TOPIC, 3, (short) 1))).all().get();
        }
        return topics(bootstrap);
    }

    private static String describe(String bootstrap) throws Exception {
        try (Admin admin = admin(bootstrap)) {
            var described = admin.describeTopics(List.of(TOPIC)).allTopicNames().get();
            return String.valueOf(described.get(TOPIC).partitions().size());
        }
    }

    private static String configs(String bootstrap) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, TOPIC);
        try (Admin admin = admin(bootstrap)) {
            var config = admin.describeConfigs(List.of(topic)).all().get().get(topic);
            return text(config.get("cleanup.policy").value());
        }
    }

    private static int send(KafkaProducer<String, String> producer) throws Exception {
        List<Future<?>> sent = new ArrayList<>();
        for (int number = 0; number < RECORDS; number++) {
            sent.add(producer.send(new ProducerRecord<>(TOPIC, 0, null, String.valueOf(number))));
        }
        for (Future<?> each : sent) {
            each.get();
        }
        return sent.size();
    }

    private static KafkaConsumer<String, String> reader(String bootstrap) {
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(at(bootstrap, "enable.auto.commit", "false"));
        consumer.assign(List.of(PARTITION));
        consumer.seekToBeginning(List.of(PARTITION));
        return consumer;
    }

    /** The offsets of the next records, or of those that came within half a minute. */
    private static List<Long> read(KafkaConsumer<String, String> consumer, int count) {
        List<Long> found = new ArrayList<>();
        long late = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (found.size() < count && System.nanoTime() < late) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                found.add(record.offset());
            }
        }
        return found;
    }

    private static String produce(String bootstrap) throws Exception {
        try (var producer = new KafkaProducer<String, String>(at(bootstrap))) {
            return String.valueOf(send(producer));
        }
    }

    private static String consume(String bootstrap) {
        try (var consumer = reader(bootstrap)) {
            return String.valueOf(read(consumer, RECORDS).size());
        }
    }

    private static String missing(String bootstrap) throws Exception {
        try (Admin admin = admin(bootstrap)) {
            return text(admin.describeTopics(List.of("missing")).allTopicNames().get().toString());
        } catch (ExecutionException refused) {
            if (refused.getCause() instanceof UnknownTopicOrPartitionException) {
                return text("UNKNOWN_TOPIC_OR_PARTITION");
            }
            throw refused;
        }
    }

    private static String restart(String bootstrap) throws Exception {
        try (var producer = new KafkaProducer<String, String>(at(bootstrap)); var consumer = reader(bootstrap)) {
            send(producer);
            int before = read(consumer, 2 * RECORDS).size();
            awaitRestart();
            send(producer);
            List<Long> after = read(consumer, RECORDS);
            return List.of(before, after.size(), after.get(after.size() - 1)).toString();
        }
    }

    private static void awaitRestart() throws IOException {
        say("{\"restart\": true}");
        INPUT.readLine();
    }

    private static String delete(String bootstrap) throws Exception {
        try (Admin admin = admin(bootstrap)) {
            admin.deleteTopics(List.of(TOPIC)).all().get();
        }
        return topics(bootstrap);
    }

    private Main() {}
}
