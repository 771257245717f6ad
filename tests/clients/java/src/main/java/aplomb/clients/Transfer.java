package aplomb.clients;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;

/** Takes from one account and gives to another, each time in one transaction, until a file is there; says how each has ended. */
final class Transfer {
    private final Options options;
    private final Random random;
    private final int partitions;
    private final Path until;
    private int next = 0;

    private Transfer(Options options) {
        this.options = options;
        random = new Random(options.number("--seed", 0));
        partitions = options.number("--partitions", 1);
        until = Path.of(options.get("--until"));
    }

    static void run(Options options) {
        new Transfer(options).goOn();
    }

    private void goOn() {
        while (!Files.exists(until)) {
            try (var producer = new KafkaProducer<>(properties(), new StringSerializer(), new StringSerializer())) {
                producer.initTransactions();
                while (!Files.exists(until)) {
                    transact(producer);
                }
            } catch (ProducerFencedException | InvalidProducerEpochException fenced) {
                say(Map.of("fenced", true));
                return;
            } catch (KafkaException failure) {
                // How this one has ended is not known; another producer of the same id aborts it if it has not.
                say(Map.of("failed", Output.name(failure)));
            }
        }
    }

    private void transact(KafkaProducer<String, String> producer) {
        String id = options.get("--name") + "." + next++;
        int from = random.nextInt(partitions);
        int to = (from + 1 + random.nextInt(partitions - 1)) % partitions;
        int amount = 1 + random.nextInt(100);
        boolean commits = random.nextInt(5) != 0;
        producer.beginTransaction();
        var sent = List.of(
            producer.send(new ProducerRecord<>(options.get("--topic"), from, null, id + ":" + -amount)),
            producer.send(new ProducerRecord<>(options.get("--topic"), to, null, id + ":" + amount)));
        try {
            for (var each : sent) {
                each.get();
            }
        } catch (ExecutionException refused) {
            commits = false;
        } catch (InterruptedException never) {
            throw new IllegalStateException(never);
        }
        end(producer, commits);
        say(Map.of("ended", id, "committed", commits));
    }

    /** What has not ended in time is asked for again: so the client's documentation wants it. */
    private static void end(KafkaProducer<String, String> producer, boolean commits) {
        while (true) {
            try {
                if (commits) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
                return;
            } catch (TimeoutException again) {
                // Once more.
            }
        }
    }

    private Properties properties() {
        var properties = new Properties();
        properties.put("bootstrap.servers", options.get("--bootstrap"));
        properties.put("transactional.id", options.get("--transactional-id"));
        properties.put("transaction.timeout.ms", "10000");
        properties.put("request.timeout.ms", "3000");
        properties.put("delivery.timeout.ms", "9000");
        properties.put("max.block.ms", "10000");
        properties.put("reconnect.backoff.max.ms", "200");
        return properties;
    }

    private static void say(Map<String, Object> line) {
        Output.line(line);
        Output.flush();
    }
}
