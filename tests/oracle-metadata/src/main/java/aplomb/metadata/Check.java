package aplomb.metadata;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.ControlRecordUtils;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.FileRawSnapshotReader;
import org.apache.kafka.snapshot.RecordsSnapshotReader;

/** A log ({@code aplomb.log}) and a snapshot of Aplomb's: does Apache Kafka read them, and do they say the same? */
final class Check {
    static void run(Path directory) throws Exception {
        List<ApiMessageAndVersion> log = readLog(directory.resolve("aplomb.log"));
        List<String> fromLog = Images.lines(Images.records(Images.replay(log)));
        List<String> fromSnapshot = Images.lines(readSnapshot(directory));
        if (!fromLog.equals(fromSnapshot)) {
            List<String> lost = new ArrayList<>(fromLog);
            lost.removeAll(fromSnapshot);
            List<String> invented = new ArrayList<>(fromSnapshot);
            invented.removeAll(fromLog);
            lost.forEach(line -> System.err.println("only in Apache Kafka's image of the log: " + line));
            invented.forEach(line -> System.err.println("only in Aplomb's snapshot: " + line));
            System.exit(1);
        }
        System.out.println("the same " + fromLog.size() + " records, out of a log of " + log.size());
    }

    private static List<ApiMessageAndVersion> readLog(Path file) throws Exception {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        long next = 0;
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(file))).batches()) {
            batch.ensureValid();
            require(batch.baseOffset() == next, "batches follow each other: " + batch.baseOffset() + ", not " + next);
            for (Record record : batch) {
                if (batch.isControlBatch()) {
                    readControl(record);
                } else {
                    records.add(MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(record.value()), record.valueSize()));
                }
            }
            next = batch.nextOffset();
        }
        return records;
    }

    private static void readControl(Record record) {
        switch (ControlRecordType.parse(record.key())) {
            case LEADER_CHANGE -> require(ControlRecordUtils.deserializeLeaderChangeMessage(record).leaderId() == 1, "leader");
            case KRAFT_VERSION -> require(ControlRecordUtils.deserializeKRaftVersionRecord(record).kRaftVersion() == 1, "version");
            case KRAFT_VOTERS -> require(ControlRecordUtils.deserializeVotersRecord(record).voters().size() == 1, "voters");
            default -> throw new IllegalStateException("control record " + record);
        }
    }

    private static List<ApiMessageAndVersion> readSnapshot(Path directory) throws Exception {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        Path file;
        try (var files = Files.list(directory)) {
            file = files.filter(path -> path.toString().endsWith(".checkpoint")).findFirst().orElseThrow();
        }
        String[] name = file.getFileName().toString().split("[-.]");
        OffsetAndEpoch id = new OffsetAndEpoch(Long.parseLong(name[0]), Integer.parseInt(name[1]));
        try (var reader = RecordsSnapshotReader.of(FileRawSnapshotReader.open(directory, id), MetadataRecordSerde.INSTANCE,
                BufferSupplier.create(), 8 << 20, true, new LogContext())) {
            require(reader.lastContainedLogTimestamp() == 1_700_000_000_000L, "the last record's time");
            while (reader.hasNext()) {
                Batch<ApiMessageAndVersion> batch = reader.next();
                records.addAll(batch.records());
            }
        }
        return records;
    }

    private static void require(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    private Check() { }
}
