package aplomb.clients;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

/** {@code --name value} pairs and a few bare flags, as every client of the suite takes them. */
final class Options {
    private static final Set<String> FLAGS = Set.of("--idempotent", "--headers", "--tombstones", "--summary");
    private final Map<String, List<String>> values = new HashMap<>();

    static Options parse(String[] arguments) {
        var options = new Options();
        for (int i = 0; i < arguments.length; i++) {
            String name = arguments[i];
            String value = FLAGS.contains(name) ? "true" : arguments[++i];
            options.values.computeIfAbsent(name, unused -> new ArrayList<>()).add(value);
        }
        return options;
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    String get(String name) {
        if (!has(name)) {
            throw new IllegalArgumentException(name + " is required");
        }
        return values.get(name).get(0);
    }

    String get(String name, String otherwise) {
        return has(name) ? get(name) : otherwise;
    }

    int number(String name, int otherwise) {
        return has(name) ? Integer.parseInt(get(name)) : otherwise;
    }

    long large(String name, long otherwise) {
        return has(name) ? Long.parseLong(get(name)) : otherwise;
    }

    /** Client properties given as {@code --config key=value}, which win over what the verb sets. */
    void addConfigsTo(Properties properties) {
        for (String pair : values.getOrDefault("--config", List.of())) {
            int at = pair.indexOf('=');
            properties.put(pair.substring(0, at), pair.substring(at + 1));
        }
    }
}
