package aplomb.batches;

import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.PrimitiveRef;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

import java.nio.ByteBuffer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What a leader does with a produced batch. The request's checks and the validator are called as they
 * are; the few checks between them are private to the log, and repeated here.
 */
final class Validate {
    private Validate() {
    }

    static void validate(ByteBuffer bytes, Rules rules, Consumer<String> out) {
        try {
            LogValidator.ValidationResult result = validate(bytes, rules);
            boolean readable = Describe.isReadable(result.validatedRecords().batches().iterator().next());
            out.accept("accepted rebuilt=" + result.messageSizeMaybeChanged() + " max=" + result.maxTimestampMs()
                + (readable ? "" : " unreadable"));
            Describe.describe(result.validatedRecords().buffer(), !result.messageSizeMaybeChanged(), out);
        } catch (RecordValidationException e) {
            out.accept("refused " + Errors.forException(e.invalidException()).name() + " records="
                + e.recordErrors().stream().map(error -> "" + error.batchIndex).collect(Collectors.joining(",")));
        } catch (RuntimeException | Error e) {
            // Libraries throw errors of their own, such as SnappyError.
            out.accept("refused " + Errors.forException(e).name() + " records=");
        }
    }

    private static LogValidator.ValidationResult validate(ByteBuffer bytes, Rules rules) {
        MemoryRecords records = MemoryRecords.readableRecords(bytes);
        ProduceRequest.validateRecords((short) 13, records);
        MutableRecordBatch batch = records.batches().iterator().next();
        if (batch.baseOffset() != 0)
            throw new InvalidRecordException("base offset");
        checkSize(batch, rules);
        if (!batch.isValid())
            throw new CorruptRecordException("checksum");

        CompressionType source = batch.compressionType();
        Compression target = Compression.of(rules.codec() == null ? source : rules.codec()).build();
        LogValidator.ValidationResult result = new LogValidator(records, new TopicPartition("t", 0), new At(rules.now()),
            source, target, rules.compact(), RecordBatch.CURRENT_MAGIC_VALUE, rules.timestampType(),
            rules.beforeMaxMs(), rules.afterMaxMs(), RecordBatch.NO_PARTITION_LEADER_EPOCH, AppendOrigin.CLIENT,
            rules.maxRecordBytes())
            .validateMessagesAndAssignOffsets(PrimitiveRef.ofLong(0), new NoMetrics(), BufferSupplier.NO_CACHING);
        if (result.messageSizeMaybeChanged())
            result.validatedRecords().batches().forEach(rebuilt -> checkSize(rebuilt, rules));
        return result;
    }

    private static void checkSize(RecordBatch batch, Rules rules) {
        if (batch.sizeInBytes() > rules.maxMessageBytes())
            throw new RecordTooLargeException("size");
    }

    private record At(long milliseconds) implements Time {
        @Override
        public long nanoseconds() {
            return milliseconds * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void waitObject(Object obj, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }

    private static final class NoMetrics implements LogValidator.MetricsRecorder {
        @Override
        public void recordInvalidMagic() {
        }

        @Override
        public void recordInvalidOffset() {
        }

        @Override
        public void recordInvalidSequence() {
        }

        @Override
        public void recordInvalidChecksums() {
        }

        @Override
        public void recordNoKeyCompactedTopic() {
        }
    }
}
