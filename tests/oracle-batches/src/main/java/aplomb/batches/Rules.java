package aplomb.batches;

import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;

/** What a topic demands; {@code codec} is null for {@code compression.type=producer}. */
record Rules(long now, TimestampType timestampType, long beforeMaxMs, long afterMaxMs, boolean compact,
             CompressionType codec, int maxMessageBytes, int maxRecordBytes) {

    static Rules parse(String[] fields, int at) {
        return new Rules(
            Long.parseLong(fields[at]),
            fields[at + 1].equals("append") ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
            Long.parseLong(fields[at + 2]),
            Long.parseLong(fields[at + 3]),
            fields[at + 4].equals("compact"),
            fields[at + 5].equals("producer") ? null : CompressionType.forName(fields[at + 5]),
            Integer.parseInt(fields[at + 6]),
            Integer.parseInt(fields[at + 7]));
    }
}
