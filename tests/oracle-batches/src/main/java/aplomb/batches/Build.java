package aplomb.batches;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.BiConsumer;

/** Batches of every kind that Apache Kafka's own builder makes. */
final class Build {
    private static final long NOW = 1_700_000_000_000L;
    private static final Header[] NO_HEADERS = {};

    private Build() {
    }

    static void all(BiConsumer<String, MemoryRecords> out) {
        for (CompressionType type : CompressionType.values()) {
            out.accept("plain-" + type.name, records(new Kind(type)));
            out.accept("idempotent-" + type.name, records(new Kind(type).producer(4_000_000_000L, 7, 2_147_483_646)));
            out.accept("transactional-" + type.name, records(new Kind(type).producer(12, 0, 0).transactional()));
            out.accept("append-time-" + type.name, records(new Kind(type).appendTime()));
            out.accept("horizon-" + type.name, records(new Kind(type).horizon()));
            out.accept("gaps-" + type.name, gaps(type));
            out.accept("many-" + type.name, many(type));
        }
        out.accept("commit", MemoryRecords.withEndTransactionMarker(99, NOW, 4, 12, (short) 3,
            new EndTransactionMarker(ControlRecordType.COMMIT, 5)));
        out.accept("abort", MemoryRecords.withEndTransactionMarker(100, NOW, 4, 12, (short) 3,
            new EndTransactionMarker(ControlRecordType.ABORT, 5)));
        out.accept("leader-change", MemoryRecords.withLeaderChangeMessage(7, NOW, 2, ByteBuffer.allocate(512),
            new LeaderChangeMessage().setLeaderId(1)));
        out.accept("two-batches", twoBatches());
    }

    /** Null, empty and present keys, values and headers; duplicate header keys; times that go back. */
    private static MemoryRecords records(Kind kind) {
        MemoryRecordsBuilder builder = kind.builder();
        Header[] headers = {
            new RecordHeader("trace", bytes("a1")), new RecordHeader("trace", bytes("a2")),
            new RecordHeader("", (byte[]) null), new RecordHeader("h\u00e9\u4e16", new byte[0]),
        };
        builder.append(NOW, bytes("key"), bytes("value"), NO_HEADERS);
        builder.append(NOW + 5, (byte[]) null, bytes("no key"), headers);
        builder.append(NOW - 70_000, bytes(""), (byte[]) null, NO_HEADERS);
        builder.append(NOW + 3, bytes("k"), new byte[300], new Header[] {headers[2]});
        builder.append(NOW, (byte[]) null, (byte[]) null, NO_HEADERS);
        return builder.build();
    }

    private static MemoryRecords gaps(CompressionType type) {
        MemoryRecordsBuilder builder = new Kind(type).builder();
        for (long offset : new long[] {500, 502, 570})
            builder.appendWithOffset(offset, NOW + offset, bytes("key-" + offset), bytes("value"), NO_HEADERS);
        builder.overrideLastOffset(600);
        return builder.build();
    }

    /** Enough output for several blocks of every codec. */
    private static MemoryRecords many(CompressionType type) {
        MemoryRecordsBuilder builder = new Kind(type).builder();
        for (int i = 0; i < 12; i++) {
            byte[] value = new byte[20_000];
            for (int at = 0; at < value.length; at++)
                value[at] = (byte) (i * (at / 1000));
            builder.append(NOW + i, i % 3 == 0 ? null : bytes("key-" + i), type == CompressionType.NONE ? bytes("v" + i) : value,
                NO_HEADERS);
        }
        return builder.build();
    }

    private static MemoryRecords twoBatches() {
        ByteBuffer first = records(new Kind(CompressionType.NONE)).buffer();
        ByteBuffer second = records(new Kind(CompressionType.LZ4)).buffer();
        ByteBuffer both = ByteBuffer.allocate(first.remaining() + second.remaining());
        both.put(first).put(second).flip();
        return MemoryRecords.readableRecords(both);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static final class Kind {
        private final CompressionType type;
        private long producerId = RecordBatch.NO_PRODUCER_ID;
        private short producerEpoch = RecordBatch.NO_PRODUCER_EPOCH;
        private int sequence = RecordBatch.NO_SEQUENCE;
        private boolean transactional;
        private TimestampType timestampType = TimestampType.CREATE_TIME;
        private long horizon = RecordBatch.NO_TIMESTAMP;

        Kind(CompressionType type) {
            this.type = type;
        }

        Kind producer(long id, int epoch, int baseSequence) {
            producerId = id;
            producerEpoch = (short) epoch;
            sequence = baseSequence;
            return this;
        }

        Kind transactional() {
            transactional = true;
            return this;
        }

        Kind appendTime() {
            timestampType = TimestampType.LOG_APPEND_TIME;
            return this;
        }

        Kind horizon() {
            horizon = NOW + 86_400_000;
            return this;
        }

        MemoryRecordsBuilder builder() {
            return new MemoryRecordsBuilder(new ByteBufferOutputStream(512), RecordBatch.CURRENT_MAGIC_VALUE,
                Compression.of(type).build(), timestampType, 500, NOW + 1000, producerId, producerEpoch, sequence,
                transactional, false, 3, Integer.MAX_VALUE, horizon);
        }
    }
}
