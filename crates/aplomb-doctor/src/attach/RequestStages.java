// Asks the broker in another JVM of this machine how long its requests spent in each of their stages, once at the start and then
// whenever a line comes in; ends when no more can come. An answer is lines in Prometheus' text format, and an empty line.
//
// Everything that takes time (attaching, connecting, loading classes on both sides) is done by the first answer.

import com.sun.tools.attach.VirtualMachine;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import javax.management.InstanceNotFoundException;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

final class RequestStages {
    private static final String[] STAGES = {
        "RequestQueueTimeMs", "LocalTimeMs", "RemoteTimeMs", "ThrottleTimeMs", "ResponseQueueTimeMs", "ResponseSendTimeMs", "TotalTimeMs",
    };
    private static final String[] REQUESTS = {"Produce", "FetchConsumer"};
    private static final String[] ATTRIBUTES = {"99thPercentile", "Count", "Mean"};

    public static void main(String[] arguments) throws Exception {
        // Without a thread here that looks every minute whether the other side is still there.
        var environment = Map.of("jmx.remote.x.client.connection.check.period", 0L);
        try (var connector = JMXConnectorFactory.connect(agentOf(arguments[0]), environment)) {
            var broker = connector.getMBeanServerConnection();
            var requests = new BufferedReader(new InputStreamReader(System.in));
            do {
                System.out.println(page(broker));
            } while (requests.readLine() != null);
        }
    }

    /** Where the JVM's own agent answers, for this machine only; it is started if it does not run. */
    private static JMXServiceURL agentOf(String pid) throws Exception {
        var machine = VirtualMachine.attach(pid);
        try {
            return new JMXServiceURL(machine.startLocalManagementAgent());
        } finally {
            machine.detach();
        }
    }

    private static String page(MBeanServerConnection broker) throws Exception {
        var page = new StringBuilder();
        for (var request : REQUESTS) {
            for (var stage : STAGES) {
                append(page, broker, request, stage);
            }
        }
        return page.toString();
    }

    private static void append(StringBuilder page, MBeanServerConnection broker, String request, String stage) throws Exception {
        var name = new ObjectName("kafka.network:type=RequestMetrics,name=" + stage + ",request=" + request);
        var told = new HashMap<String, Double>();
        try {
            for (var attribute : broker.getAttributes(name, ATTRIBUTES).asList()) {
                told.put(attribute.getName(), ((Number) attribute.getValue()).doubleValue());
            }
        } catch (InstanceNotFoundException e) {
            // Not an Apache Kafka, or one that has no such stage.
            return;
        }
        var count = told.getOrDefault("Count", Double.NaN);
        var metric = "kafka_network_requestmetrics_" + stage.toLowerCase(Locale.ROOT);
        var label = "{request=\"" + request + "\"";
        append(page, metric + label + ",quantile=\"0.99\"}", told.getOrDefault("99thPercentile", Double.NaN));
        append(page, metric + "_count" + label + "}", count);
        // The mean is of all requests since the start, unlike the quantiles.
        append(page, metric + "_sum" + label + "}", count * told.getOrDefault("Mean", Double.NaN));
    }

    private static void append(StringBuilder page, String metric, double value) {
        page.append(metric).append(' ').append(value).append('\n');
    }
}
