package aplomb.oracle;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A message schema as Apache Kafka's jars carry it. */
final class Schema {
    private static final ObjectMapper MAPPER = new ObjectMapper().enable(JsonParser.Feature.ALLOW_COMMENTS);
    private static final List<String> PLACES = List.of("common/message/", "common/metadata/", "message/");

    /** Messages whose file is called otherwise. */
    private static final Map<String, String> FILES = Map.of("ZkMigrationStateRecord", "ZkMigrationRecord");

    final JsonNode root;
    private final Map<String, JsonNode> structs = new HashMap<>();

    private Schema(JsonNode root) {
        this.root = root;
        for (JsonNode shared : root.path("commonStructs")) {
            structs.put(shared.get("name").asText(), shared.path("fields"));
        }
        collect(root.path("fields"));
    }

    static Schema of(String message) throws IOException {
        String file = FILES.getOrDefault(message, message);
        for (String place : PLACES) {
            try (InputStream in = Schema.class.getClassLoader().getResourceAsStream(place + file + ".json")) {
                if (in != null) {
                    return new Schema(MAPPER.readTree(in));
                }
            }
        }
        throw new IOException("no schema for " + message);
    }

    private void collect(JsonNode fields) {
        for (JsonNode field : fields) {
            if (field.has("fields")) {
                structs.put(element(field.get("type").asText()), field.get("fields"));
                collect(field.get("fields"));
            }
        }
    }

    /** The fields of a struct, by its name. */
    JsonNode struct(String name) {
        return structs.get(name);
    }

    static String element(String type) {
        return type.startsWith("[]") ? type.substring(2) : type;
    }

    /** The fields that none of the message's versions has any more, as Java calls them. */
    List<String> removedFields() {
        List<String> removed = new ArrayList<>();
        for (JsonNode field : root.findParents("versions")) {
            boolean present = false;
            for (short version = lowest(); version <= highest(); version++) {
                present |= has(field.get("versions"), version);
            }
            if (!present && field.has("type")) {
                removed.add(camelCase(field.get("name").asText()));
            }
        }
        return removed;
    }

    static String camelCase(String name) {
        return Character.toLowerCase(name.charAt(0)) + name.substring(1);
    }

    /** Whether a field holds record batches. */
    boolean hasRecords() {
        return root.findValues("type").stream().anyMatch(type -> type.asText().equals("records"));
    }

    short lowest() {
        return Short.parseShort(root.get("validVersions").asText().split("-")[0]);
    }

    short highest() {
        String[] ends = root.get("validVersions").asText().split("-");
        return Short.parseShort(ends[ends.length - 1]);
    }

    /** Whether a version range such as "3+", "0-7", "5" or "none" has this version. */
    static boolean has(JsonNode range, short version) {
        if (range == null || range.isNull() || range.asText().equals("none")) {
            return false;
        }
        String text = range.asText();
        if (text.endsWith("+")) {
            return version >= Short.parseShort(text.substring(0, text.length() - 1));
        }
        String[] ends = text.split("-");
        return version >= Short.parseShort(ends[0]) && version <= Short.parseShort(ends[ends.length - 1]);
    }
}
