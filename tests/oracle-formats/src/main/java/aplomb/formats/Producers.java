package aplomb.formats;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.Duplicates;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;

/**
 * The life of a partition's producers: batches in and out of order, repetitions, new epochs, transactions, markers,
 * expiry, snapshots and restarts, each with what Apache Kafka's ProducerStateManager decides.
 */
final class Producers {
    static final int EXPIRATION_MS = 700;

    private final Random random = new Random(17);
    private final List<String> lines = new ArrayList<>();
    private final Path dir;
    private ProducerStateManager manager;
    private long next = 0;
    private long now = 1_000_000;

    private Producers(Path dir) throws IOException {
        this.dir = Files.createDirectories(dir);
        this.manager = open();
    }

    static void write(Path out, Path dir) throws IOException {
        Producers run = new Producers(dir);
        for (int n = 0; n < 2000; n++)
            run.step();
        Files.write(out, run.lines);
    }

    private ProducerStateManager open() throws IOException {
        ProducerStateManagerConfig config = new ProducerStateManagerConfig(EXPIRATION_MS, false);
        return new ProducerStateManager(new TopicPartition("producers", 0), dir.toFile(), 60_000, config, Time.SYSTEM);
    }

    private void step() throws IOException {
        now += random.nextInt(120);
        int kind = random.nextInt(100);
        if (kind < 66) {
            batch();
        } else if (kind < 88) {
            marker();
        } else if (kind < 94) {
            long highWatermark = Math.max(0, next - random.nextInt(12));
            manager.onHighWatermarkUpdated(highWatermark);
            lines.add("hw " + highWatermark + unstable());
        } else if (kind < 96) {
            manager.removeExpiredProducers(now);
            lines.add("expire " + now + " " + manager.activeProducers().keySet().stream().sorted().toList().toString().replace(" ", ""));
        } else {
            snapshot(kind == 99);
        }
    }

    private void batch() {
        long producer = random.nextInt(6);
        Optional<ProducerStateEntry> entry = manager.lastEntry(producer);
        boolean open = entry.map(e -> e.currentTxnFirstOffset().isPresent()).orElse(false);
        AppendOrigin origin = random.nextInt(8) == 0 ? AppendOrigin.COORDINATOR : random.nextInt(8) == 0 ? AppendOrigin.REPLICATION : AppendOrigin.CLIENT;
        int epoch = Math.max(0, entry.map(e -> (int) e.producerEpoch()).orElse(random.nextInt(3)) + (random.nextInt(9) == 0 ? random.nextInt(3) - 1 : 0));
        int records = 1 + random.nextInt(4);
        int sequence = sequence(entry, epoch);
        if (origin == AppendOrigin.COORDINATOR)
            sequence = 0; // as the group coordinator has it, in every batch
        if (entry.isPresent() && origin == AppendOrigin.CLIENT && random.nextInt(5) == 0 && !entry.get().batchMetadata().isEmpty()) {
            List<BatchMetadata> known = new ArrayList<>(entry.get().batchMetadata());
            BatchMetadata again = known.get(random.nextInt(known.size()));
            if (again.lastSeq() >= 0) {
                sequence = again.firstSeq();
                records = again.offsetDelta() + 1 + (random.nextInt(4) == 0 ? 1 : 0);
            }
        }
        // What replication brings obeys the rule already that a producer stays within its transaction.
        boolean transactional = origin == AppendOrigin.REPLICATION && open || (open ? random.nextInt(8) != 0 : random.nextInt(3) == 0);
        SimpleRecord[] values = new SimpleRecord[records];
        for (int r = 0; r < records; r++)
            values[r] = new SimpleRecord(now, null, new byte[1]);
        MemoryRecords memory = transactional
            ? MemoryRecords.withTransactionalRecords(RecordBatch.MAGIC_VALUE_V2, next, Compression.NONE, producer, (short) epoch, sequence, 0, values)
            : MemoryRecords.withIdempotentRecords(RecordBatch.MAGIC_VALUE_V2, next, Compression.NONE, producer, (short) epoch, sequence, 0, values);
        RecordBatch batch = memory.batches().iterator().next();
        String line = "batch " + origin + " " + producer + " " + epoch + " " + sequence + " " + (records - 1) + " " + transactional
            + " " + next + " " + now + " ";
        Optional<BatchMetadata> duplicate =
            origin == AppendOrigin.CLIENT ? entry.flatMap(e -> Duplicates.find(e, batch)) : Optional.empty();
        if (duplicate.isPresent()) {
            BatchMetadata known = duplicate.get();
            lines.add(line + "duplicate " + known.firstOffset() + " " + known.lastOffset() + " " + known.timestamp());
            return;
        }
        try {
            ProducerAppendInfo info = manager.prepareUpdate(producer, origin);
            info.append(batch, Optional.empty(), (short) 0);
            manager.update(info);
            next = batch.lastOffset() + 1;
            manager.updateMapEndOffset(next);
            lines.add(line + "append" + unstable());
        } catch (ApiException refused) {
            lines.add(line + Errors.forException(refused));
        }
    }

    private int sequence(Optional<ProducerStateEntry> entry, int epoch) {
        int kind = random.nextInt(12);
        if (kind == 0)
            return random.nextInt(50);
        if (kind == 1)
            return Integer.MAX_VALUE - random.nextInt(4);
        if (entry.isEmpty() || entry.get().producerEpoch() != epoch || entry.get().batchMetadata().isEmpty())
            return kind == 2 ? 5 : 0;
        List<BatchMetadata> known = new ArrayList<>(entry.get().batchMetadata());
        int last = known.get(known.size() - 1).lastSeq();
        return last == Integer.MAX_VALUE ? 0 : last + 1;
    }

    private void marker() {
        long producer = random.nextInt(6);
        Optional<ProducerStateEntry> entry = manager.lastEntry(producer);
        short version = (short) (random.nextInt(2) * 2);
        AppendOrigin origin = random.nextInt(5) == 0 ? AppendOrigin.REPLICATION : AppendOrigin.COORDINATOR;
        int current = entry.map(e -> (int) e.producerEpoch()).orElse(0);
        short epoch = (short) Math.max(0, current + (version == 2 ? 1 : 0) + (random.nextInt(4) == 0 ? random.nextInt(3) - 1 : 0));
        int coordinator = Math.max(0, entry.map(ProducerStateEntry::coordinatorEpoch).orElse(0) + (random.nextInt(6) == 0 ? random.nextInt(3) - 1 : 0));
        boolean commit = random.nextBoolean();
        EndTransactionMarker end = new EndTransactionMarker(commit ? ControlRecordType.COMMIT : ControlRecordType.ABORT, coordinator);
        String line = "marker " + origin + " " + version + " " + producer + " " + epoch + " " + coordinator + " " + commit + " " + next + " " + now + " ";
        try {
            ProducerAppendInfo info = manager.prepareUpdate(producer, origin);
            Optional<CompletedTxn> completed = info.appendEndTxnMarker(end, epoch, next, now, version);
            manager.update(info);
            String outcome = "nothing-open";
            if (completed.isPresent()) {
                CompletedTxn txn = completed.get();
                outcome = "completed " + txn.firstOffset() + " " + txn.lastOffset() + " " + txn.isAborted() + " " + manager.lastStableOffset(txn);
                manager.completeTxn(txn);
            }
            next += 1;
            manager.updateMapEndOffset(next);
            lines.add(line + outcome + unstable());
        } catch (ApiException refused) {
            lines.add(line + Errors.forException(refused));
        }
    }

    private void snapshot(boolean restart) throws IOException {
        Optional<java.io.File> file = manager.takeSnapshot(false);
        if (file.isEmpty()) {
            lines.add("snapshot none");
            return;
        }
        lines.add("snapshot " + next + " " + HexFormat.of().formatHex(Files.readAllBytes(file.get().toPath())));
        if (restart) {
            manager = open();
            manager.truncateAndReload(0, next, now);
            lines.add("restart " + now + unstable());
        }
    }

    private String unstable() {
        return " " + manager.firstUnstableOffset().map(offset -> offset.messageOffset).orElse(-1L);
    }
}
