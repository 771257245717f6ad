package aplomb.batches;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.CloseableIterator;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/** One line for a batch, one for each of its records; "broken" where reading them ends. Long values by length and checksum. */
final class Describe {
    private Describe() {
    }

    /** Says what is in the batches; sizes and checksums only if {@code exactly}. */
    static void describe(ByteBuffer bytes, boolean exactly, Consumer<String> out) {
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(bytes).batches()) {
            batch.ensureValid();
            out.accept(head((DefaultRecordBatch) batch, exactly));
            try (CloseableIterator<Record> records = fully(batch)) {
                while (records.hasNext())
                    out.accept(line(records.next()));
            } catch (RuntimeException | Error e) {
                out.accept("broken");
            }
        }
    }

    /** Whether every record can be read to its end. */
    static boolean isReadable(MutableRecordBatch batch) {
        try (CloseableIterator<Record> records = fully(batch)) {
            while (records.hasNext())
                records.next();
            return true;
        } catch (RuntimeException | Error e) {
            return false;
        }
    }

    private static CloseableIterator<Record> fully(MutableRecordBatch batch) {
        return batch.countOrNull() == 0
            ? CloseableIterator.wrap(List.<Record>of().iterator())
            : batch.streamingIterator(BufferSupplier.NO_CACHING);
    }

    private static String head(DefaultRecordBatch batch, boolean exactly) {
        OptionalLong horizon = batch.deleteHorizonMs();
        String line = "batch offsets=" + batch.baseOffset() + ".." + batch.lastOffset()
            + " epoch=" + batch.partitionLeaderEpoch()
            + " codec=" + batch.compressionType().name
            + " time=" + (batch.timestampType() == TimestampType.CREATE_TIME ? "create" : "append")
            + " transactional=" + batch.isTransactional()
            + " control=" + batch.isControlBatch()
            + " horizon=" + (horizon.isPresent() ? horizon.getAsLong() : "none")
            + " base=" + batch.baseTimestamp()
            + " max=" + batch.maxTimestamp()
            + " producer=" + (batch.hasProducerId()
                ? batch.producerId() + "/" + batch.producerEpoch() + "/" + batch.baseSequence()
                : "none")
            + " sequence=" + (!batch.hasProducerId() || batch.baseSequence() < 0 ? -1 : batch.lastSequence())
            + " count=" + batch.countOrNull();
        return exactly ? line + " size=" + batch.sizeInBytes() + " crc=" + batch.checksum() : line;
    }

    private static String line(Record record) {
        List<String> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            String key = header.key().contains("\ufffd")
                ? "garbled"
                : HexFormat.of().formatHex(header.key().getBytes(StandardCharsets.UTF_8));
            ByteBuffer value = header.value() == null ? null : ByteBuffer.wrap(header.value());
            headers.add(key + ":" + orNull(value));
        }
        return "record offset=" + record.offset() + " time=" + record.timestamp()
            + " key=" + orNull(record.key()) + " value=" + orNull(record.value())
            + " headers=[" + String.join(",", headers) + "]";
    }

    private static String orNull(ByteBuffer bytes) {
        if (bytes == null)
            return "null";
        if (bytes.remaining() <= 40)
            return Main.hex(bytes);
        CRC32C crc = new CRC32C();
        crc.update(bytes.duplicate());
        return bytes.remaining() + "#" + crc.getValue();
    }
}
