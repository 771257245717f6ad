package org.apache.kafka.storage.internals.log;

import java.util.Optional;

import org.apache.kafka.common.record.internal.RecordBatch;

/** Opens to the oracle what a log asks before it appends, which Kafka keeps within this package. */
public final class Duplicates {
    private Duplicates() { }

    public static Optional<BatchMetadata> find(ProducerStateEntry entry, RecordBatch batch) {
        return entry.findDuplicateBatch(batch);
    }
}
