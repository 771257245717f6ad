package aplomb.groups;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/** Writes what Apache Kafka's coordinators make of random input: {@code Main FOLDER SEED GROUPS PATTERNS}. */
public final class Main {
    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        long seed = Long.parseLong(args[1]);
        Files.createDirectories(folder);
        try (PrintWriter out = open(folder, "assignments.tsv")) {
            new Assignments(new Random(seed), out).write(Integer.parseInt(args[2]));
        }
        try (PrintWriter out = open(folder, "hashes.tsv")) {
            new Hashes(new Random(seed), out).write(Integer.parseInt(args[2]));
        }
        try (PrintWriter out = open(folder, "transactions.tsv")) {
            // One that is used in most of its epochs writes tens of thousands of records.
            new Transactions(new Random(seed), out).write(Math.max(60, Integer.parseInt(args[2]) / 20));
        }
        try (PrintWriter out = open(folder, "expressions.tsv")) {
            new Expressions(new Random(seed), out).write(Integer.parseInt(args[3]));
        }
    }

    private static PrintWriter open(Path folder, String name) throws IOException {
        return new PrintWriter(Files.newBufferedWriter(folder.resolve(name), StandardCharsets.UTF_8));
    }

    /** A text in which only printable ASCII stands for itself. */
    static String escaped(String text) {
        StringBuilder escaped = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            if (b > ' ' && b < 0x7f && b != '%' && b != '/' && b != ',') {
                escaped.append((char) b);
            } else {
                escaped.append(String.format("%%%02x", b));
            }
        }
        return escaped.toString();
    }
}
