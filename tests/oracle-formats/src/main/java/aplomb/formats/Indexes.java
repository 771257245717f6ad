package aplomb.formats;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.OffsetPosition;
import org.apache.kafka.storage.internals.log.TimeIndex;
import org.apache.kafka.storage.internals.log.TimestampOffset;

/** A segment with its indexes, while it is written to and after it was rolled, and what its indexes answer. */
final class Indexes {
    private Indexes() { }

    private static final long BASE = 1000;

    static void write(Path out, Path dir) throws IOException {
        Files.createDirectories(dir);
        LogConfig config = new LogConfig(Map.of("index.interval.bytes", "300", "segment.index.bytes", "600"));
        LogSegment segment = LogSegment.open(dir.toFile(), BASE, config, Time.SYSTEM, 0, false);
        Random random = new Random(11);
        long next = BASE;
        long timestamp = 1_700_000_000_000L;
        for (int n = 0; n < 90; n++) {
            next += random.nextInt(4) == 0 ? random.nextInt(20) : 0; // compaction leaves holes
            SimpleRecord[] records = new SimpleRecord[1 + random.nextInt(3)];
            for (int r = 0; r < records.length; r++)
                records[r] = new SimpleRecord(timestamp + random.nextInt(500) - 200, null, new byte[random.nextInt(60)]);
            timestamp += random.nextInt(150);
            MemoryRecords batch = MemoryRecords.withRecords(next, Compression.NONE, 3, records);
            next += records.length;
            segment.append(next - 1, batch);
        }
        segment.updateTxnIndex(new CompletedTxn(1, BASE + 3, BASE + 10, true), BASE + 5);
        segment.updateTxnIndex(new CompletedTxn(1, BASE + 12, BASE + 20, true), BASE + 5);
        segment.updateTxnIndex(new CompletedTxn(3, BASE + 21, BASE + 22, false), BASE + 5);
        segment.updateTxnIndex(new CompletedTxn(2, BASE + 5, BASE + 30, true), BASE + 31);
        segment.flush();

        List<String> answers = new ArrayList<>();
        lookups(segment, next, timestamp, answers);
        for (long from = BASE; from < BASE + 40; from += 7)
            for (long upper = from + 1; upper < BASE + 45; upper += 6)
                aborted(segment, from, upper, answers);
        String prefix = "0000000000000000" + BASE;
        copy(dir, prefix + ".index", out, "active.index");
        copy(dir, prefix + ".timeindex", out, "active.timeindex");
        segment.onBecomeInactiveSegment();
        for (String extension : List.of(".log", ".index", ".timeindex", ".txnindex"))
            copy(dir, prefix + extension, out, prefix + extension);
        for (long to = BASE - 1; to < next + 3; to += 5)
            truncations(dir, prefix, to, answers);
        Files.write(out.resolve("index-answers.txt"), answers);
    }

    private static void lookups(LogSegment segment, long end, long lastTimestamp, List<String> answers) throws IOException {
        for (long offset = BASE - 1; offset < end + 3; offset += 3) {
            OffsetPosition found = segment.offsetIndex().lookup(offset);
            answers.add("offset " + offset + " " + found.offset() + " " + found.position());
        }
        for (int position = 0; position < segment.size() + 200; position += 170) {
            String found = segment.offsetIndex().fetchUpperBoundOffset(new OffsetPosition(BASE, position), 0)
                .map(entry -> entry.offset() + " " + entry.position()).orElse("none");
            answers.add("upper " + position + " " + found);
        }
        for (long timestamp = 1_700_000_000_000L - 300; timestamp < lastTimestamp + 600; timestamp += 130) {
            TimestampOffset found = segment.timeIndex().lookup(timestamp);
            answers.add("time " + timestamp + " " + found.timestamp() + " " + found.offset());
        }
    }

    private static void aborted(LogSegment segment, long from, long upper, List<String> answers) {
        var found = segment.collectAbortedTxns(from, upper);
        StringBuilder line = new StringBuilder("aborted " + from + " " + upper + " " + found.isComplete());
        found.abortedTransactions().forEach(txn -> line.append(' ').append(txn.producerId()).append(':').append(txn.firstOffset()));
        answers.add(line.toString());
    }

    private static void truncations(Path dir, String prefix, long to, List<String> answers) throws IOException {
        Path index = dir.resolve("copy.index");
        Path times = dir.resolve("copy.timeindex");
        copy(dir, prefix + ".index", dir, "copy.index");
        copy(dir, prefix + ".timeindex", dir, "copy.timeindex");
        try (OffsetIndex offsets = new OffsetIndex(index.toFile(), BASE); TimeIndex stamps = new TimeIndex(times.toFile(), BASE, -1)) {
            offsets.truncateTo(to);
            stamps.truncateTo(to);
            answers.add("truncate " + to + " " + offsets.entries() + " " + stamps.entries());
        }
    }

    private static void copy(Path from, String name, Path to, String newName) throws IOException {
        Files.copy(from.resolve(name), Golden.fresh(to.resolve(newName)));
    }
}
