package aplomb.streams;

import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * An instance of an application of Kafka Streams, until standard input ends. It gathers for each letter the keys of the records
 * whose values begin with it, by way of a repartition topic and a store with its changelog. What is processed twice changes
 * nothing, so the result is exact although processing is not.
 *
 * <p>It prints a JSON line for each change: {@code {"state": ...}}, {@code {"tasks": [...]}} for what is active here,
 * {@code {"error": class}} for a thread that died and was replaced, at the end {@code {"end": true}}.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        var options = new HashMap<String, String>();
        for (int i = 0; i < arguments.length; i += 2) {
            options.put(arguments[i].substring(2), arguments[i + 1]);
        }
        var streams = new KafkaStreams(topology(options.get("from"), options.get("to")), properties(options));
        streams.setStateListener((now, before) -> say("state", quoted(now.name())));
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace();
            say("error", quoted(failure.getClass().getSimpleName()));
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
        var ended = endOfInput();
        String tasks = "";
        while (!ended.await(100, TimeUnit.MILLISECONDS)) {
            String active = active(streams);
            if (!active.equals(tasks)) {
                say("tasks", "[" + active + "]");
                tasks = active;
            }
        }
        if (!streams.close(Duration.ofSeconds(30))) {
            throw new IllegalStateException("the application did not close in time");
        }
        say("end", "true");
    }

    private static Topology topology(String from, String to) {
        var builder = new StreamsBuilder();
        builder.stream(from, Consumed.with(Serdes.String(), Serdes.String()))
            .map((key, value) -> KeyValue.pair(value.substring(0, 1), key))
            .groupByKey(Grouped.with("letters", Serdes.String(), Serdes.String()))
            .aggregate(() -> "", (letter, key, keys) -> with(keys, key), Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as("keys")
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.String()))
            .toStream()
            .to(to, Produced.with(Serdes.String(), Serdes.String()));
        return builder.build();
    }

    /** The keys with one more, in order, each once. */
    private static String with(String keys, String key) {
        var all = new TreeSet<String>();
        if (!keys.isEmpty()) {
            all.addAll(Arrays.asList(keys.split(" ")));
        }
        all.add(key);
        return String.join(" ", all);
    }

    private static Properties properties(Map<String, String> options) {
        var properties = new Properties();
        properties.put("application.id", options.get("group"));
        properties.put("bootstrap.servers", options.get("bootstrap"));
        properties.put("state.dir", options.get("state"));
        properties.put("processing.guarantee", options.getOrDefault("guarantee", "at_least_once"));
        properties.put("num.standby.replicas", "1");
        properties.put("commit.interval.ms", "200");
        properties.put("repartition.purge.interval.ms", "500");
        properties.put("metadata.max.age.ms", "1000");
        properties.put("reconnect.backoff.max.ms", "500");
        // An instance that is closed does not leave its group; its session has to end.
        properties.put("session.timeout.ms", "3000");
        properties.put("heartbeat.interval.ms", "300");
        return properties;
    }

    private static String active(KafkaStreams streams) {
        return streams.metadataForLocalThreads().stream()
            .flatMap(thread -> thread.activeTasks().stream())
            .map(task -> quoted(task.taskId().toString()))
            .sorted()
            .collect(Collectors.joining(","));
    }

    private static CountDownLatch endOfInput() {
        var ended = new CountDownLatch(1);
        var reader = new Thread(() -> {
            try {
                System.in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException broken) {
                // An input that breaks has ended too.
            }
            ended.countDown();
        });
        reader.setDaemon(true);
        reader.start();
        return ended;
    }

    private static String quoted(String text) {
        return "\"" + text + "\"";
    }

    private static synchronized void say(String what, String value) {
        System.out.println("{" + quoted(what) + ":" + value + "}");
        System.out.flush();
    }
}
