package aplomb.formats;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.log.LocalLog;

/** Which directory names are partitions, and whose. */
final class Names {
    private Names() { }

    private static final List<String> NAMES = List.of(
        "orders-0", "my-orders.v2_x-3", "a-b-c-12", "__consumer_offsets-49", "to-delete-0", "x-future-1", "a.b-0",
        "orders-2147483647", "orders-2147483648", "orders", "orders-", "-0", "orders-x", "lost+found", "-", "a-1b",
        "orders-0.e83d6ad2000000000000000000000000-delete", "my-orders.v2_x-3.e83d6ad2000000000000000000000000-stray",
        "orders-0.e83d6ad2000000000000000000000000-future", "orders-0.abc-delete", "orders-0-delete", "orders-0-stray",
        "orders-0.-delete", "orders.abc-stray", "orders-.abc-future", "-0.abc-delete", "orders-x.abc-delete",
        "a-b.c-0.d-delete", "remote-log-index-cache");

    static void write(Path out) throws IOException {
        List<String> lines = new ArrayList<>();
        for (String name : NAMES) {
            try {
                TopicPartition partition = LocalLog.parseTopicPartitionName(new File("/logs", name));
                lines.add(name + " " + partition.topic() + " " + partition.partition());
            } catch (KafkaException refused) {
                lines.add(name + " refused");
            }
        }
        Files.write(out, lines);
    }
}
