package aplomb.metadata;

import java.nio.file.Path;

/** {@code golden DIR} writes a log, a snapshot, and what quotas measure; {@code check DIR} judges a log and a snapshot that Aplomb wrote. */
public final class Main {
    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[1]);
        switch (args[0]) {
            case "golden" -> {
                Golden.write(directory);
                Quotas.write(directory.resolve("quotas.tsv"));
            }
            case "check" -> Check.run(directory);
            default -> throw new IllegalArgumentException(args[0]);
        }
    }
}
