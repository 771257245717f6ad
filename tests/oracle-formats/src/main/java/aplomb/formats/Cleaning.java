package aplomb.formats;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Stream;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Logs with keys, tombstones and transactions, as they are before Apache Kafka's Cleaner has passed over them and after each of some
 * passes: {@code OUT/n/before}, {@code OUT/n/after-1}..., and in {@code OUT/n/passes.txt} what each pass was told, a line a pass:
 * the first dirty offset, the first that may not be cleaned, the time, bytes of the map, and where it has come to.
 */
public final class Cleaning {
    private static final int DELETE_RETENTION_MS = 100_000;
    private static final int PRODUCERS = 4;

    private final Random random;
    private final Path out;
    private final Path dir;
    private final UnifiedLog log;
    private final int[] sequences = new int[PRODUCERS];
    private final short[] epochs = new short[PRODUCERS];
    private final boolean[] open = new boolean[PRODUCERS];
    private final boolean transactions;
    private long now;

    private Cleaning(Random random, Path out, KafkaScheduler scheduler) throws IOException {
        this.random = random;
        this.out = out;
        this.dir = Files.createDirectories(out.resolve("work").resolve("table-0"));
        this.now = 1_790_000_000_000L;
        this.transactions = random.nextInt(3) > 0;
        Properties properties = new Properties();
        properties.put("cleanup.policy", "compact");
        properties.put("internal.segment.bytes", "3000");
        properties.put("index.interval.bytes", "400");
        properties.put("segment.index.bytes", "2000");
        properties.put("delete.retention.ms", String.valueOf(DELETE_RETENTION_MS));
        this.log = UnifiedLog.create(dir.toFile(), new LogConfig(properties), 0, 0, scheduler, new BrokerTopicStats(false), Time.SYSTEM,
            900_000, new ProducerStateManagerConfig(Integer.MAX_VALUE, true), 600_000, new LogDirFailureChannel(10), true,
            Optional.of(new Uuid(2, 2)));
    }

    /** Command line: OUT SEED LOGS. */
    public static void main(String[] args) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        Path folder = Path.of(args[0]);
        removeAll(folder);
        for (int n = 0; n < Integer.parseInt(args[2]); n++) {
            Random random = new Random(Long.parseLong(args[1]) * 1000 + n);
            new Cleaning(random, Files.createDirectories(folder.resolve(String.valueOf(n))), scheduler).run();
        }
        scheduler.shutdown();
    }

    private void run() throws Exception {
        int steps = 40 + random.nextInt(80);
        for (int n = 0; n < steps; n++)
            step();
        if (random.nextInt(3) == 0)
            log.roll();
        log.updateHighWatermark(log.logEndOffset());
        log.takeProducerSnapshot();
        log.flush(true);
        copyTo("before");
        List<String> passes = new ArrayList<>();
        long dirty = 0;
        for (int pass = 1; pass <= 3; pass++) {
            List<LogSegment> segments = log.logSegments();
            long stable = log.lastStableOffset();
            long uncleanable = 0;
            for (LogSegment segment : segments)
                if (segment.baseOffset() <= stable && (pass == 3 || random.nextInt(4) > 0))
                    uncleanable = Math.max(uncleanable, segment.baseOffset());
            if (uncleanable <= dirty)
                break;
            now += random.nextInt(2 * DELETE_RETENTION_MS);
            // A pass that begins within a segment takes a producer for one whose transaction is aborted when an earlier one was that ended
            // before (seen), and then keeps more than it has to. Ours does not; so such logs have no transactions.
            boolean small = random.nextInt(3) == 0 && (!transactions || pass == 3);
            int bytes = small ? 24 * (8 + random.nextInt(20)) : 1 << 20;
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(bytes), 1 << 16, 1 << 20, 0.9,
                new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", Time.SYSTEM), Time.SYSTEM, partition -> { });
            long from = dirty;
            dirty = cleaner.doClean(new LogToClean(log, dirty, uncleanable, false), now).getKey();
            passes.add(from + " " + uncleanable + " " + now + " " + bytes + " " + dirty);
            log.flush(true);
            copyTo("after-" + pass);
        }
        Files.write(out.resolve("passes.txt"), passes);
        log.close();
        removeAll(out.resolve("work"));
    }

    private void step() throws IOException {
        int what = random.nextInt(12);
        now += random.nextInt(2000);
        if (what == 0)
            log.roll();
        else if (what <= 3)
            end(random.nextInt(PRODUCERS));
        else
            append(transactions ? random.nextInt(PRODUCERS + 2) : 2 + random.nextInt(PRODUCERS));
        log.updateHighWatermark(log.logEndOffset());
    }

    /** The last two write without an identity, the first two in transactions. */
    private void append(int who) {
        Compression[] codecs = {Compression.NONE, Compression.NONE, Compression.lz4().build(), Compression.gzip().build(),
            Compression.zstd().build(), Compression.snappy().build()};
        boolean known = who < PRODUCERS;
        boolean transactional = who < 2;
        long end = log.logEndOffset();
        int count = 1 + random.nextInt(6);
        long time = now;
        TimestampType type = random.nextInt(5) == 0 ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1024), RecordBatch.MAGIC_VALUE_V2,
            codecs[random.nextInt(codecs.length)], type, end, time, known ? who : RecordBatch.NO_PRODUCER_ID,
            known ? epochs[who] : RecordBatch.NO_PRODUCER_EPOCH, known ? sequences[who] : random.nextInt(2) - 1, transactional, false, 5);
        for (int n = 0; n < count; n++) {
            byte[] key = ("k" + random.nextInt(14)).getBytes();
            byte[] value = random.nextInt(4) == 0 ? null : new byte[random.nextInt(150)];
            Header[] headers = random.nextInt(4) == 0 ? new Header[] {new RecordHeader("h", new byte[] {1, 2})} : new Header[0];
            builder.append(new SimpleRecord(time + random.nextInt(100), key, value, headers));
        }
        log.appendAsFollower(builder.build(), 5);
        if (known) {
            sequences[who] += count;
            open[who] |= transactional;
        }
    }

    private void end(int who) {
        if (who >= 2 || !open[who] && random.nextInt(10) > 0)
            return;
        ControlRecordType type = random.nextBoolean() ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
        // Sometimes as transaction version 2 does it, with an epoch for each.
        if (random.nextBoolean()) {
            epochs[who]++;
            sequences[who] = 0;
        }
        MemoryRecords marker = MemoryRecords.withEndTransactionMarker(log.logEndOffset(), now, 5, who, epochs[who],
            new EndTransactionMarker(type, 3));
        log.appendAsFollower(marker, 5);
        open[who] = false;
    }

    private void copyTo(String name) throws IOException {
        Path to = Files.createDirectories(out.resolve(name));
        Map<String, Path> files = new HashMap<>();
        try (Stream<Path> all = Files.list(dir)) {
            all.forEach(file -> files.put(file.getFileName().toString(), file));
        }
        for (Map.Entry<String, Path> file : files.entrySet())
            if (file.getKey().matches("[0-9]+\\.(log|index|timeindex|txnindex|snapshot)"))
                Files.copy(file.getValue(), to.resolve(file.getKey()));
        // The active segment's indexes are as long as they may get until it is closed.
        String active = String.format("%020d", log.activeSegment().baseOffset());
        Files.deleteIfExists(to.resolve(active + ".index"));
        Files.deleteIfExists(to.resolve(active + ".timeindex"));
    }

    private static void removeAll(Path folder) throws IOException {
        if (!Files.exists(folder))
            return;
        try (Stream<Path> all = Files.walk(folder)) {
            all.sorted((a, b) -> b.compareTo(a)).forEach(path -> {
                try {
                    Files.delete(path);
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
            });
        }
    }
}
