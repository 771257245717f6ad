package aplomb.metadata;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;

import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriter;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Apache Kafka's own image of a list of records, and that image as a list of records again. */
final class Images {
    /**
     * Applies records; those of a transaction when it ends, as the metadata loader does. One delta for each record: a delta that
     * adds a SCRAM user and removes another may lose both in Kafka 4.4.
     */
    static MetadataImage replay(List<ApiMessageAndVersion> records) {
        MetadataImage image = MetadataImage.EMPTY;
        List<ApiMessageAndVersion> transaction = null;
        for (ApiMessageAndVersion record : records) {
            switch (MetadataRecordType.fromId(record.message().apiKey())) {
                case BEGIN_TRANSACTION_RECORD -> transaction = new ArrayList<>();
                case ABORT_TRANSACTION_RECORD -> transaction = null;
                case END_TRANSACTION_RECORD -> {
                    for (ApiMessageAndVersion held : transaction) image = apply(image, held);
                    transaction = null;
                }
                default -> {
                    if (transaction == null) image = apply(image, record);
                    else transaction.add(record);
                }
            }
        }
        return image;
    }

    private static MetadataImage apply(MetadataImage image, ApiMessageAndVersion record) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        delta.replay(record.message());
        return delta.apply(new MetadataProvenance(image.offset() + 1, 1, 0, true));
    }

    static List<ApiMessageAndVersion> records(MetadataImage image) {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        ImageWriterOptions options = new ImageWriterOptions.Builder(image).setEligibleLeaderReplicasEnabled(true).build();
        image.write(new ImageWriter() {
            @Override public void write(ApiMessageAndVersion record) { records.add(record); }
            @Override public void close(boolean complete) { }
        }, options);
        return records;
    }

    /** One sorted line for each record: two lists say the same if these are equal. */
    static List<String> lines(List<ApiMessageAndVersion> records) {
        return records.stream()
            .map(record -> MetadataRecordType.fromId(record.message().apiKey()) + " v" + record.version() + " "
                + ordered(MetadataJsonConverters.writeJson(record.message(), record.version())))
            .sorted()
            .toList();
    }

    /** Features are a map in Apache Kafka, and come in any order. */
    private static JsonNode ordered(JsonNode record) {
        if (record.get("features") instanceof ArrayNode features) {
            List<JsonNode> sorted = new ArrayList<>();
            features.forEach(sorted::add);
            sorted.sort(Comparator.comparing(JsonNode::toString));
            features.removeAll().addAll(sorted);
        }
        return record;
    }

    private Images() { }
}
