package aplomb.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.ShortNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.Random;
import org.apache.kafka.common.Uuid;

/** Fills a message of one version with pseudo-random values, in the JSON form that Kafka's JsonConverters read. */
final class Filling {
    /** What a case is about. */
    enum Kind {
        /** Null wherever it is allowed, arrays empty, no tagged fields. */
        NULLS,
        /** Everything present, of random length. */
        FULL,
        /** Nulls, empty and filled values mixed; tagged fields sometimes left out. */
        MIXED,
        /** Strings and arrays whose compact length takes two bytes. */
        LONG,
        /** Like FULL without bytes and records, and with letters only: readable as text. */
        TEXT
    }

    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
    private static final String[] WORDS = {"", "a", "topic-1", "Zürich", "時計", "😀", "with space"};
    private static final long[] EDGES = {0, 1, -1, Long.MAX_VALUE, Long.MIN_VALUE};

    private final Schema schema;
    private final short version;
    private final Kind kind;
    private final Random random;

    Filling(Schema schema, short version, Kind kind, long seed) {
        this.schema = schema;
        this.version = version;
        this.kind = kind;
        this.random = new Random(seed);
    }

    JsonNode message() {
        return struct(schema.root.path("fields"));
    }

    private ObjectNode struct(JsonNode fields) {
        ObjectNode out = JsonNodeFactory.instance.objectNode();
        for (JsonNode field : fields) {
            boolean tagged = Schema.has(field.get("taggedVersions"), version);
            JsonNode versions = field.has("versions") ? field.get("versions") : field.get("taggedVersions");
            if (!Schema.has(versions, version) || (tagged && leaveOut())) {
                continue;
            }
            String type = field.get("type").asText();
            boolean isNull = Schema.has(field.get("nullableVersions"), version) && beNull();
            JsonNode value = isNull ? NullNode.instance : value(type);
            out.set(Schema.camelCase(field.get("name").asText()), value);
        }
        return out;
    }

    private boolean leaveOut() {
        return kind == Kind.NULLS || (kind == Kind.MIXED && random.nextInt(3) == 0);
    }

    private boolean beNull() {
        return kind == Kind.NULLS || (kind == Kind.MIXED && random.nextInt(3) == 0);
    }

    private JsonNode value(String type) {
        if (type.startsWith("[]")) {
            ArrayNode array = JsonNodeFactory.instance.arrayNode();
            int length = length(type.substring(2));
            for (int i = 0; i < length; i++) {
                array.add(value(type.substring(2)));
            }
            return array;
        }
        switch (type) {
            case "bool":
                return BooleanNode.valueOf(random.nextBoolean());
            case "int8":
                return ShortNode.valueOf((byte) number());
            case "int16":
                return ShortNode.valueOf((short) number());
            case "uint16":
                return IntNode.valueOf((int) (number() & 0xffff));
            case "int32":
                return IntNode.valueOf((int) number());
            case "uint32":
                return LongNode.valueOf(number() & 0xffff_ffffL);
            case "int64":
                return LongNode.valueOf(number());
            case "float64":
                return DoubleNode.valueOf(random.nextInt(4000) / 8.0);
            case "uuid":
                return TextNode.valueOf(new Uuid(random.nextLong(), random.nextLong()).toString());
            case "string":
                return TextNode.valueOf(string());
            case "bytes":
            case "records":
                return BinaryNode.valueOf(bytes());
            default:
                return struct(schema.struct(type));
        }
    }

    private int length(String element) {
        switch (kind) {
            case NULLS:
                return 0;
            case MIXED:
                return random.nextInt(3);
            case LONG:
                return schema.struct(element) == null ? 130 : 1;
            default:
                return 1 + random.nextInt(2);
        }
    }

    private long number() {
        if (kind != Kind.TEXT && random.nextInt(4) == 0) {
            return EDGES[random.nextInt(EDGES.length)];
        }
        return random.nextLong();
    }

    private String string() {
        switch (kind) {
            case LONG:
                return LETTERS.repeat(4);
            case TEXT: {
                StringBuilder out = new StringBuilder();
                for (int i = 3 + random.nextInt(5); i > 0; i--) {
                    out.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
                }
                return out.toString();
            }
            default:
                return WORDS[random.nextInt(WORDS.length)];
        }
    }

    private byte[] bytes() {
        byte[] out = new byte[kind == Kind.TEXT ? 0 : kind == Kind.LONG ? 200 : random.nextInt(6)];
        random.nextBytes(out);
        return out;
    }
}
