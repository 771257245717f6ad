package aplomb.formats;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import java.util.Optional;
import java.util.Set;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.properties.PropertiesUtils;
import org.apache.kafka.raft.ElectionState;
import org.apache.kafka.raft.FileQuorumStateStore;
import org.apache.kafka.raft.ReplicaKey;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/** Writes all golden files into the directory that it is given. */
public final class Golden {
    private Golden() { }

    public static void main(String[] args) throws Exception {
        Path out = Path.of(args[0]);
        Files.createDirectories(out);
        Path scratch = Files.createTempDirectory("golden");
        smallFiles(out, scratch);
        Names.write(out.resolve("directory-names.txt"));
        PropertiesTexts.write(out.resolve("properties.txt"));
        Indexes.write(out, scratch.resolve("indexes-0"));
        Epochs.write(out, scratch.resolve("epochs-0"));
        Producers.write(out.resolve("producers.txt"), scratch.resolve("producers-0"));
        System.exit(0); // Kafka's time utilities leave threads behind
    }

    private static void smallFiles(Path out, Path scratch) throws Exception {
        LogDirFailureChannel failures = new LogDirFailureChannel(10);
        Path partition = Files.createDirectories(scratch.resolve("orders-0"));

        OffsetCheckpointFile checkpoint =
            new OffsetCheckpointFile(scratch.resolve("replication-offset-checkpoint").toFile(), failures);
        TreeMap<TopicPartition, Long> offsets = new TreeMap<>((a, b) -> a.toString().compareTo(b.toString()));
        offsets.put(new TopicPartition("__consumer_offsets", 49), 0L);
        offsets.put(new TopicPartition("my-orders.v2_x", 3), 42L);
        offsets.put(new TopicPartition("orders", 0), Long.MAX_VALUE);
        checkpoint.write(offsets);
        keep(scratch.resolve("replication-offset-checkpoint"), out);

        PartitionMetadataFile metadata =
            new PartitionMetadataFile(PartitionMetadataFile.newFile(partition.toFile()), failures);
        metadata.record(new Uuid(0x1122334455667788L, 0x99aabbccddeeff00L));
        metadata.maybeFlush();
        keep(partition.resolve("partition.metadata"), out);

        new CleanShutdownFileHandler(scratch.toString()).write(4711);
        keep(scratch.resolve(".kafka_cleanshutdown"), out);

        Path quorum = scratch.resolve("quorum-state");
        FileQuorumStateStore store = new FileQuorumStateStore(quorum.toFile());
        store.writeElectionState(ElectionState.withElectedLeader(5, 2, Optional.empty(), Set.of(2)), KRaftVersion.KRAFT_VERSION_0);
        Files.copy(quorum, fresh(out.resolve("quorum-state-0")));
        ReplicaKey candidate = ReplicaKey.of(3, new Uuid(0x1122334455667788L, 0x99aabbccddeeff00L));
        store.writeElectionState(ElectionState.withVotedCandidate(7, candidate, Set.of()), KRaftVersion.KRAFT_VERSION_1);
        Files.copy(quorum, fresh(out.resolve("quorum-state-1")));

        Properties properties = new Properties();
        properties.setProperty("version", "1");
        properties.setProperty("cluster.id", "4L6g3nShT-eMCtK--X86sw");
        properties.setProperty("node.id", "3");
        properties.setProperty("directory.id", new Uuid(1, 2).toString());
        Path meta = scratch.resolve("meta.properties");
        PropertiesUtils.writePropertiesFile(properties, meta.toString(), false);
        List<String> lines = Files.readAllLines(meta);
        lines.set(1, "#Wed Nov 04 10:11:12 UTC 2026"); // a second run changes nothing
        Files.write(out.resolve("meta.properties"), lines);
    }

    static Path fresh(Path file) throws IOException {
        Files.deleteIfExists(file);
        return file;
    }

    /** Copies a file to the golden ones, under its own name. */
    static void keep(Path file, Path out) throws IOException {
        Files.copy(file, fresh(out.resolve(file.getFileName().toString())));
    }
}
