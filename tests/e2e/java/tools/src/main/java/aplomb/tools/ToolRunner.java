package aplomb.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs the {@code main} of Apache Kafka's tools one after another in one JVM, because a JVM start costs more than most tools do.
 * A request is one JSON line {@code {"main": class, "args": [...], "stdin": text}}, the answer
 * {@code {"exit": code, "stdout": text, "stderr": text}}. The tools are unmodified: they leave through Kafka's own
 * {@code Exit}, whose procedure is replaced here by an exception that ends the call with its code.
 */
public final class ToolRunner {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ToolRunner() {}

    /** Where a tool's output goes at the moment. Libraries keep the first System.out they see, so that one never changes. */
    private static final class Switch extends OutputStream {
        private final ByteArrayOutputStream said = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int b) {
            if (left == null) {
                said.write(b);
            }
        }

        @Override
        public synchronized void write(byte[] bytes, int from, int length) {
            if (left == null) {
                said.write(bytes, from, length);
            }
        }

        private synchronized String take() {
            String all = said.toString(StandardCharsets.UTF_8);
            said.reset();
            return all;
        }
    }

    /** Unwinds the tool's stack. Some tools catch it and leave once more: in a JVM of their own nothing after the first exit happens. */
    private static final class Leaving extends Error {
        private static final long serialVersionUID = 1L;

        private Leaving() {
            super("the tool has left", null, false, false);
        }
    }

    /** The code of the first exit of the running tool, null until then. What a tool says after it is dropped. */
    private static volatile Integer left;

    private static void leave(int code) {
        System.out.flush();
        System.err.flush();
        if (left == null) {
            left = code;
        }
        throw new Leaving();
    }

    public static void main(String[] unused) throws Exception {
        var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        var out = new Switch();
        var err = new Switch();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((code, message) -> leave(code));
        Exit.setHaltProcedure((code, message) -> leave(code));
        var hooks = new ArrayList<Runnable>();
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            JsonNode request = JSON.readTree(line);
            System.setIn(new ByteArrayInputStream(request.path("stdin").asText("").getBytes(StandardCharsets.UTF_8)));
            left = null;
            int code = call(request.get("main").asText(), JSON.convertValue(request.get("args"), String[].class));
            // What would run while the JVM of a tool goes down: the console producer, for one, sends its last records here.
            left = null;
            hooks.forEach(Runnable::run);
            hooks.clear();
            System.out.flush();
            System.err.flush();
            var answer = new LinkedHashMap<String, Object>();
            answer.put("exit", code);
            answer.put("stdout", out.take());
            answer.put("stderr", err.take());
            answers.println(JSON.writeValueAsString(answer));
        }
    }

    private static int call(String name, String[] arguments) throws ReflectiveOperationException {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return left == null ? 0 : left;
        } catch (InvocationTargetException thrown) {
            if (left != null) {
                return left;
            }
            var trace = new StringWriter();
            thrown.getCause().printStackTrace(new PrintWriter(trace));
            System.err.print(trace);
            return 1;
        }
    }
}
