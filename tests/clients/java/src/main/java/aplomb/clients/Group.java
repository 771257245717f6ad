package aplomb.clients;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a group: joins, reads, commits, and leaves when the file {@code --until} is there. */
final class Group implements ConsumerRebalanceListener {
    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "org.apache.kafka.clients.consumer.RangeAssignor",
        "roundrobin", "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        "sticky", "org.apache.kafka.clients.consumer.StickyAssignor",
        "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String commits;
    private final String metadata;
    private final Map<TopicPartition, OffsetAndMetadata> uncommitted = new LinkedHashMap<>();

    private Group(Options options) {
        consumer = new KafkaConsumer<>(properties(options), new ByteArrayDeserializer(), new ByteArrayDeserializer());
        commits = options.get("--commit", "sync");
        metadata = options.get("--metadata", "");
    }

    private static Properties properties(Options options) {
        var properties = new Properties();
        properties.put("bootstrap.servers", options.get("--bootstrap"));
        properties.put("group.id", options.get("--group"));
        properties.put("enable.auto.commit", Boolean.toString(options.get("--commit", "sync").equals("auto")));
        properties.put("auto.commit.interval.ms", "500");
        properties.put("auto.offset.reset", options.get("--reset", "earliest"));
        properties.put("fetch.max.wait.ms", "100");
        properties.put("metadata.max.age.ms", "1000");
        properties.put("reconnect.backoff.max.ms", "500");
        if (options.has("--instance")) {
            properties.put("group.instance.id", options.get("--instance"));
        }
        if (options.get("--protocol", "classic").equals("consumer")) {
            properties.put("group.protocol", "consumer");
            if (options.has("--assignor")) {
                properties.put("group.remote.assignor", options.get("--assignor"));
            }
        } else {
            properties.put("session.timeout.ms", options.get("--session", "10000"));
            // Members learn of a rebalance from a heartbeat's answer.
            properties.put("heartbeat.interval.ms", "300");
            properties.put("partition.assignment.strategy", ASSIGNORS.get(options.get("--assignor", "range")));
        }
        options.addConfigsTo(properties);
        return properties;
    }

    static void run(Options options) throws Exception {
        var until = Path.of(options.get("--until"));
        long deadline = System.nanoTime() + Duration.ofSeconds(options.number("--timeout", 120)).toNanos();
        var resume = Path.of(until + ".resume");
        int again = options.number("--reread", 0);
        int pause = options.number("--pause", 0);
        int seen = 0;
        var member = new Group(options);
        try (var consumer = member.consumer) {
            member.subscribe(options);
            while (!Files.exists(until)) {
                if (System.nanoTime() > deadline) {
                    throw new TimeoutException("the file that ends the membership was not made in time");
                }
                for (var record : consumer.poll(Duration.ofMillis(100))) {
                    member.tell(record);
                    seen++;
                }
                if (again > 0 && seen >= again) {
                    member.goBack();
                    again = 0;
                }
                if (pause > 0 && seen >= pause) {
                    member.pause();
                    pause = 0;
                }
                if (!consumer.paused().isEmpty() && Files.exists(resume)) {
                    say(Map.of("resumed", pairs(consumer.paused())));
                    consumer.resume(consumer.paused());
                }
                // Whoever is to read again has committed nothing before.
                if (again == 0) {
                    member.commit(!member.commits.equals("async"));
                }
            }
            member.commit(true);
        }
    }

    private void subscribe(Options options) {
        if (!options.has("--pattern")) {
            consumer.subscribe(List.of(options.get("--topic").split(",")), this);
        } else if (options.get("--protocol", "classic").equals("consumer")) {
            consumer.subscribe(new SubscriptionPattern(options.get("--pattern")), this);
        } else {
            consumer.subscribe(Pattern.compile(options.get("--pattern")), this);
        }
    }

    private void tell(ConsumerRecord<byte[], byte[]> record) {
        var next = new OffsetAndMetadata(record.offset() + 1, record.leaderEpoch(), metadata);
        uncommitted.put(new TopicPartition(record.topic(), record.partition()), next);
        var line = new LinkedHashMap<String, Object>();
        line.put("topic", record.topic());
        line.putAll(Consume.describe(record));
        say(line);
    }

    /** Seeks to what the group has committed, and to the start where it has nothing. */
    private void goBack() {
        consumer.committed(consumer.assignment()).forEach((partition, committed) -> {
            if (committed == null) {
                consumer.seekToBeginning(List.of(partition));
            } else {
                consumer.seek(partition, committed);
            }
        });
        uncommitted.clear();
    }

    /** All but the first partition. */
    private void pause() {
        var all = consumer.assignment().stream().sorted(Comparator.comparing(TopicPartition::toString)).toList();
        consumer.pause(all.subList(1, all.size()));
        say(Map.of("paused", pairs(consumer.paused())));
    }

    private void commit(boolean waits) {
        if (commits.equals("auto") || uncommitted.isEmpty()) {
            return;
        }
        var offsets = Map.copyOf(uncommitted);
        if (!waits) {
            uncommitted.clear();
            consumer.commitAsync(offsets, (done, failure) -> {
                if (failure == null) {
                    committed(done);
                } else {
                    error(failure);
                }
            });
            return;
        }
        try {
            consumer.commitSync(offsets);
        } catch (CommitFailedException | RebalanceInProgressException | RetriableException failure) {
            error(failure);
            return;
        }
        uncommitted.clear();
        committed(offsets);
    }

    private static void committed(Map<TopicPartition, OffsetAndMetadata> offsets) {
        say(Map.of("committed", offsets.entrySet().stream()
            .map(entry -> List.of(entry.getKey().topic(), entry.getKey().partition(), entry.getValue().offset()))
            .toList()));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        var line = change("assigned", partitions);
        line.put("generation", consumer.groupMetadata().generationId());
        line.put("member", consumer.groupMetadata().memberId());
        say(line);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        commit(true);
        gone("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        gone("lost", partitions);
    }

    private void gone(String how, Collection<TopicPartition> partitions) {
        uncommitted.keySet().removeAll(partitions);
        say(change(how, partitions));
    }

    /** With the time, so that what several members say can be put in order. */
    private static Map<String, Object> change(String how, Collection<TopicPartition> partitions) {
        var line = new TreeMap<String, Object>();
        line.put(how, pairs(partitions));
        line.put("at", System.currentTimeMillis());
        return line;
    }

    private static List<List<Object>> pairs(Collection<TopicPartition> partitions) {
        return partitions.stream().map(partition -> List.<Object>of(partition.topic(), partition.partition())).toList();
    }

    private static void error(Exception failure) {
        say(Map.of("error", Output.name(failure), "message", String.valueOf(failure.getMessage())));
    }

    private static void say(Object line) {
        Output.line(line);
        Output.flush();
    }
}
