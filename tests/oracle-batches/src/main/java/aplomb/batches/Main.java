package aplomb.batches;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Three commands on lines of tab-separated fields. {@code examples/batches.rs} of aplomb-model has the
 * same ones, so that the two can be compared line by line.
 *
 * <ul>
 *   <li>{@code build}: writes batches, as {@code name, hex}
 *   <li>{@code read}: reads {@code name, hex}, says what is in the batches
 *   <li>{@code validate}: reads {@code name, hex, rules...}, says what a leader does with the batch
 * </ul>
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        switch (args[0]) {
            case "build" -> Build.all((name, records) -> out.println(name + "\t" + hex(records.buffer())));
            case "read" -> eachLine(fields -> {
                out.println("# " + fields[0]);
                Describe.describe(bytes(fields[1]), true, out::println);
            });
            case "validate" -> eachLine(fields -> {
                out.println("# " + fields[0]);
                Validate.validate(bytes(fields[1]), Rules.parse(fields, 2), out::println);
            });
            default -> throw new IllegalArgumentException(args[0]);
        }
        out.flush();
    }

    private interface Lines {
        void accept(String[] fields) throws Exception;
    }

    private static void eachLine(Lines lines) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine())
            lines.accept(line.split("\t", -1));
    }

    private static ByteBuffer bytes(String hex) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(hex));
    }

    static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
