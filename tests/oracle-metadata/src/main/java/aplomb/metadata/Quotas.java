package aplomb.metadata;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MeasurableStat;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.metrics.QuotaViolationException;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.stats.Rate;
import org.apache.kafka.common.metrics.stats.TokenBucket;
import org.apache.kafka.server.quota.ControllerMutationQuotaManager;
import org.apache.kafka.server.quota.QuotaUtils;

/** What is used over time, and what Apache Kafka's measures of it say: rates and token buckets, and how long clients are to wait. */
final class Quotas {
    private static final long BEGINNING = 1_700_000_000_000L;

    private Quotas() {}

    /** Lines of {@code new KIND WINDOWS MILLIS LIMIT}, each followed by {@code TIME VALUE MEASURED WAIT}; -1 is no wait. */
    static void write(Path file) throws IOException {
        var random = new Random(7);
        try (var out = new PrintWriter(Files.newBufferedWriter(file)); var metrics = new Metrics()) {
            for (int run = 0; run < 60; run++) {
                boolean isRate = run % 3 != 0;
                int windows = 1 + random.nextInt(12);
                int seconds = 1 + random.nextInt(3);
                double limit = random.nextBoolean() ? 1 + random.nextInt(100_000) : random.nextDouble() * 10;
                var config = new MetricConfig().samples(windows).timeWindow(seconds, TimeUnit.SECONDS).quota(new Quota(limit, true));
                MeasurableStat stat = isRate ? new Rate() : new TokenBucket();
                Sensor sensor = metrics.sensor("s" + run);
                MetricName name = metrics.metricName("m" + run, "g");
                sensor.add(name, stat, config);
                out.printf("new\t%s\t%d\t%d\t%s%n", isRate ? "rate" : "bucket", windows, seconds * 1000, limit);
                use(random, sensor, metrics.metric(name), out, windows * seconds * limit);
            }
        }
    }

    private static void use(Random random, Sensor sensor, KafkaMetric metric, PrintWriter out, double much) {
        long now = BEGINNING;
        for (int step = 0; step < 50; step++) {
            now += switch (random.nextInt(6)) {
                case 0 -> 0;
                case 1 -> 1;
                case 2 -> random.nextInt(100);
                case 3 -> random.nextInt(1100);
                case 4 -> random.nextInt(4000);
                default -> random.nextInt(20) == 0 ? 60_000 : 7;
            };
            double value = random.nextInt(8) == 0 ? -random.nextInt(3) : much * random.nextDouble() / 4;
            long wait = -1;
            sensor.record(value, now, false);
            try {
                sensor.checkQuotas(now);
            } catch (QuotaViolationException exceeded) {
                boolean isBucket = metric.measurable() instanceof TokenBucket;
                wait = isBucket ? ControllerMutationQuotaManager.throttleTimeMs(exceeded) : QuotaUtils.throttleTime(exceeded, now);
            }
            out.printf("%d\t%s\t%s\t%d%n", now - BEGINNING, value, metric.measurable().measure(metric.config(), now), wait);
        }
    }
}
