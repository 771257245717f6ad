package aplomb.clients;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;

/**
 * The Java client of the end-to-end suite: {@code produce}, {@code consume}, {@code group}, {@code copy}, {@code transfer} and
 * {@code admin}, one command line each, and
 * {@code session}, which takes such command lines as JSON arrays on standard input so that many cases share one JVM.
 * The command line is the same for every client of the suite: see tests/clients/README.md.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1 && arguments[0].equals("session")) {
            session();
            return;
        }
        run(arguments);
        Output.flush();
    }

    private static void session() throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            var command = Output.JSON.readValue(line, String[].class);
            try {
                run(command);
                Output.line(Map.of("end", true));
            } catch (Exception failure) {
                Output.line(Map.of("end", true, "error", Output.name(failure), "message", String.valueOf(failure.getMessage())));
            }
            Output.flush();
        }
    }

    private static void run(String[] arguments) throws Exception {
        var options = Options.parse(Arrays.copyOfRange(arguments, 1, arguments.length));
        switch (arguments[0]) {
            case "produce" -> Produce.run(options);
            case "consume" -> Consume.run(options);
            case "group" -> Group.run(options);
            case "copy" -> Copy.run(options);
            case "transfer" -> Transfer.run(options);
            case "admin" -> AdminOps.run(options);
            default -> throw new IllegalArgumentException("unknown verb " + arguments[0]);
        }
    }
}
