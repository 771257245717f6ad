package aplomb.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/** Kafka's generated class of a message, and its JsonConverter. */
final class Codec {
    private static final List<String> PACKAGES = List.of(
        "org.apache.kafka.common.message.",
        "org.apache.kafka.common.metadata.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.coordinator.share.generated.",
        "org.apache.kafka.raft.generated.",
        "org.apache.kafka.server.log.remote.metadata.storage.generated.");

    private final Constructor<?> empty;
    private final Constructor<?> reading;
    private final Method fromJson;
    private final Method toJson;
    private final Schema schema;

    Codec(String message, Schema schema) throws ReflectiveOperationException {
        String type = schema.root.get("type").asText();
        String suffix = List.of("request", "response", "header").contains(type) ? "Data" : "";
        Class<?> data = find(message + suffix);
        Class<?> converter = Class.forName(data.getName() + "JsonConverter");
        empty = data.getConstructor();
        reading = data.getConstructor(Readable.class, short.class);
        fromJson = converter.getMethod("read", JsonNode.class, short.class);
        toJson = converter.getMethod("write", data, short.class);
        this.schema = schema;
    }

    private static Class<?> find(String name) throws ClassNotFoundException {
        for (String place : PACKAGES) {
            try {
                return Class.forName(place + name);
            } catch (ClassNotFoundException next) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    /** Whether it is a record of __cluster_metadata. */
    boolean inMetadataLog() {
        return empty.getDeclaringClass().getPackageName().equals("org.apache.kafka.common.metadata");
    }

    Message empty() throws ReflectiveOperationException {
        return (Message) empty.newInstance();
    }

    Message fromJson(JsonNode json, short version) throws ReflectiveOperationException {
        return (Message) call(fromJson, json, version);
    }

    /** The message's bytes, after Kafka read them back and passed them through its JSON form. */
    byte[] bytes(Message message, short version) throws ReflectiveOperationException {
        byte[] bytes = write(message, version);
        Message back = (Message) reading.newInstance(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
        if (!Arrays.equals(bytes, write(back, version))) {
            throw new IllegalStateException("not read back: " + message);
        }
        Message again = fromJson((JsonNode) call(toJson, back, version), version);
        // The JSON form is written with empty records, whatever they were.
        if (!schema.hasRecords() && !Arrays.equals(bytes, write(again, version))) {
            throw new IllegalStateException("changed by its JSON form: " + message);
        }
        return bytes;
    }

    /** What Kafka prints for the message that it reads from these bytes, without fields of removed versions only. */
    String text(byte[] bytes, short version) throws ReflectiveOperationException {
        Message message = (Message) reading.newInstance(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), version);
        String text = message.toString();
        for (String removed : schema.removedFields()) {
            text = text.replaceAll("\\b" + removed + "=[^,()]*(, )?", "");
        }
        return text.replaceAll("java\\.nio\\.\\w+\\[[^]]*]", "[]").replaceAll("MemoryRecords\\([^)]*\\)", "[]");
    }

    static String hex(byte[] bytes) {
        return bytes.length == 0 ? "-" : HexFormat.of().formatHex(bytes);
    }

    private static byte[] write(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer out = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(out), cache, version);
        if (out.hasRemaining()) {
            throw new IllegalStateException("size and bytes differ: " + message);
        }
        return out.array();
    }

    private static Object call(Method method, Object... arguments) throws ReflectiveOperationException {
        try {
            return method.invoke(null, arguments);
        } catch (InvocationTargetException why) {
            throw new IllegalStateException(method + " " + Arrays.toString(arguments), why.getCause());
        }
    }
}
