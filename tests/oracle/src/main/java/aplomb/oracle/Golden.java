package aplomb.oracle;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.message.ApiMessageType.ListenerType;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Writes what Apache Kafka's own code makes of every message in use, in every version.
 *
 * <p>One file per message, one line per case: version, case, bytes in hexadecimal ("-" for none) and, for cases of kind
 * TEXT and for the defaults, what Kafka prints for the message it reads back. Nothing in the files depends on when or
 * where they were written.
 *
 * <p>Arguments: the file that lists the messages, the directory to write into.
 */
public final class Golden {
    private Golden() {}

    public static void main(String[] args) throws Exception {
        Path out = Path.of(args[1]);
        Files.createDirectories(out);
        try (var stale = Files.list(out)) {
            for (Path file : stale.toList()) {
                Files.delete(file);
            }
        }
        List<String> frames = new ArrayList<>();
        for (String name : Files.readAllLines(Path.of(args[0]))) {
            if (!name.isEmpty() && !name.startsWith("#")) {
                Files.write(out.resolve(name + ".txt"), message(name, frames));
            }
        }
        Files.write(out.resolve("metadata_frames"), frames);
        Files.write(out.resolve("api_keys"), apiKeys());
    }

    private static List<String> message(String name, List<String> frames)
            throws IOException, ReflectiveOperationException {
        Schema schema = Schema.of(name);
        Codec codec = new Codec(name, schema);
        List<String> lines = new ArrayList<>();
        for (short version = schema.lowest(); version <= schema.highest(); version++) {
            byte[] defaults = codec.bytes(codec.empty(), version);
            lines.add(version + " default " + Codec.hex(defaults) + " " + codec.text(defaults, version));
            for (Filling.Kind kind : Filling.Kind.values()) {
                if (kind == Filling.Kind.LONG && version != schema.highest()) {
                    continue;
                }
                int count = kind == Filling.Kind.MIXED ? 3 : 1;
                for (int i = 0; i < count; i++) {
                    long seed = (name + kind + i).hashCode() * 1000L + version;
                    var json = new Filling(schema, version, kind, seed).message();
                    byte[] bytes = codec.bytes(codec.fromJson(json, version), version);
                    String text = kind == Filling.Kind.TEXT ? " " + codec.text(bytes, version) : "";
                    lines.add(version + " " + kind.name().toLowerCase() + i + " " + Codec.hex(bytes) + text);
                    if (kind == Filling.Kind.FULL && codec.inMetadataLog()) {
                        frames.add(name + " " + version + " " + frame(codec.fromJson(json, version), version));
                    }
                }
            }
        }
        return lines;
    }

    /** The record as the metadata log holds it. */
    private static String frame(Message record, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ApiMessageAndVersion versioned = new ApiMessageAndVersion((ApiMessage) record, version);
        ByteBuffer out = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(versioned, cache));
        MetadataRecordSerde.INSTANCE.write(versioned, cache, new ByteBufferAccessor(out));
        return Codec.hex(out.array());
    }

    /**
     * The table of APIs: key, name, versions, highest stable version, whether brokers and controllers serve it, whether
     * it is forwarded, and the header versions of each request and response.
     */
    private static List<String> apiKeys() {
        List<String> lines = new ArrayList<>();
        for (ApiKeys api : ApiKeys.values()) {
            if (!api.hasValidVersion()) {
                continue;
            }
            StringBuilder line = new StringBuilder();
            line.append(api.id).append(' ').append(api.messageType.name);
            line.append(' ').append(api.oldestVersion()).append(' ').append(api.latestVersion());
            line.append(' ').append(api.latestVersion(false));
            line.append(' ').append(api.inScope(ListenerType.BROKER)).append(' ');
            line.append(api.inScope(ListenerType.CONTROLLER)).append(' ').append(api.forwardable);
            for (short version : api.allVersions()) {
                line.append(' ').append(api.requestHeaderVersion(version));
                line.append('/').append(api.responseHeaderVersion(version));
            }
            lines.add(line.toString());
        }
        return lines;
    }
}
