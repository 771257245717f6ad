package aplomb.clients;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** JSON lines on standard output. Callbacks of several threads may write, so a line is written whole. */
final class Output {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, StandardCharsets.UTF_8);

    private Output() {}

    static synchronized void line(Object value) {
        try {
            OUT.println(JSON.writeValueAsString(value));
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    static synchronized void flush() {
        OUT.flush();
    }

    /** The exception class a Kafka user would see, without the wrappers of futures. */
    static String name(Throwable failure) {
        return cause(failure).getClass().getSimpleName();
    }

    static Throwable cause(Throwable failure) {
        boolean wrapper = failure instanceof ExecutionException || failure instanceof CompletionException;
        return wrapper && failure.getCause() != null ? cause(failure.getCause()) : failure;
    }
}
