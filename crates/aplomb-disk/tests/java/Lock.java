// Takes the lock of a log directory as Apache Kafka does: says "held" and keeps it until its input ends, or says "refused".
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

public class Lock {
    public static void main(String[] arguments) throws Exception {
        Path path = Path.of(arguments[0], ".lock");
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            FileLock lock = channel.tryLock();
            System.out.println(lock == null ? "refused" : "held");
            if (lock != null) {
                System.in.read();
            }
        }
    }
}
