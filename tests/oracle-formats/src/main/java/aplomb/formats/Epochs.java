package aplomb.formats;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ScheduledFuture;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/** What a leader epoch cache says after many changes. */
final class Epochs {
    private Epochs() { }

    private static final Scheduler NEVER = new Scheduler() {
        @Override public void startup() { }
        @Override public void shutdown() { }
        @Override public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            return null;
        }
        @Override public void resizeThreadPool(int newSize) { }
    };

    static void write(Path out, Path dir) throws IOException {
        Files.createDirectories(dir);
        LeaderEpochCheckpointFile file =
            new LeaderEpochCheckpointFile(LeaderEpochCheckpointFile.newFile(dir.toFile()), new LogDirFailureChannel(10));
        LeaderEpochFileCache cache = new LeaderEpochFileCache(new TopicPartition("epochs", 0), file, NEVER);
        Random random = new Random(13);
        List<String> lines = new ArrayList<>();
        int epoch = 0;
        int end = 0;
        for (int n = 0; n < 300; n++) {
            String change;
            int kind = random.nextInt(10);
            if (kind == 0) {
                end = Math.max(0, end - random.nextInt(30));
                change = "end " + end;
                cache.truncateFromEndAsyncFlush(end);
            } else if (kind == 1) {
                int start = Math.max(0, end - 10 - random.nextInt(60));
                change = "start " + start;
                cache.truncateFromStartAsyncFlush(start);
            } else {
                epoch = Math.max(0, epoch + random.nextInt(5) - 1);
                end += random.nextInt(8);
                int start = Math.max(0, end - (random.nextInt(6) == 0 ? random.nextInt(20) : 0));
                change = "assign " + epoch + " " + start;
                cache.assign(epoch, start);
            }
            StringBuilder line = new StringBuilder(change).append(" |");
            cache.epochEntries().forEach(entry -> line.append(' ').append(entry.epoch()).append('@').append(entry.startOffset()));
            line.append(" |");
            for (int asked = Math.max(0, epoch - 6); asked < epoch + 3; asked++) {
                Map.Entry<Integer, Long> answer = cache.endOffsetFor(asked, end + 5);
                line.append(' ').append(asked).append(':').append(answer.getKey()).append('@').append(answer.getValue());
            }
            int of = random.nextInt(end + 2);
            line.append(" | ").append(end + 5).append(' ').append(of).append(' ');
            line.append(cache.epochForOffset(of).isPresent() ? cache.epochForOffset(of).getAsInt() : -1);
            lines.add(line.toString());
        }
        Files.write(out.resolve("epochs.txt"), lines);
        file.write(cache.epochEntries());
        Golden.keep(dir.resolve("leader-epoch-checkpoint"), out);
    }
}
