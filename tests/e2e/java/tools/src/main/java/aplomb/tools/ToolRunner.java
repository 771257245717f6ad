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
        private volatile ByteArrayOutputStream target = new ByteArrayOutputStream();

        @Override
        public void write(int b) {
            target.write(b);
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            target.write(bytes, from, length);
        }

        private String take() {
            var full = target;
            target = new ByteArrayOutputStream();
            return full.toString(StandardCharsets.UTF_8);
        }
    }

    /** An Error, so that no tool's {@code catch (Exception)} mistakes leaving for failing. */
    private static final class Left extends Error {
        private static final long serialVersionUID = 1L;
        private final int code;

        private Left(int code) {
            super("exit " + code, null, false, false);
            this.code = code;
        }
    }

    public static void main(String[] unused) throws Exception {
        var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        var out = new Switch();
        var err = new Switch();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((code, message) -> {
            throw new Left(code);
        });
        Exit.setHaltProcedure((code, message) -> {
            throw new Left(code);
        });
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            JsonNode request = JSON.readTree(line);
            System.setIn(new ByteArrayInputStream(request.path("stdin").asText("").getBytes(StandardCharsets.UTF_8)));
            int code = call(request.get("main").asText(), JSON.convertValue(request.get("args"), String[].class));
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
            return 0;
        } catch (InvocationTargetException thrown) {
            for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) {
                if (cause instanceof Left left) {
                    return left.code;
                }
            }
            var trace = new StringWriter();
            thrown.getCause().printStackTrace(new PrintWriter(trace));
            System.err.print(trace);
            return 1;
        }
    }
}
