import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;

/**
 * Does what JFR records, for the test that reads the recording: Stalls DIRECTORY. A thread writes to a
 * pipe that is read slowly, and holds a monitor meanwhile that another thread wants. Prints a line when
 * all is done, and ends when its input does.
 */
public class Stalls {
    private static final Object LOG_LOCK = new Object();
    private static final int ROUNDS = 5;

    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[0]);
        Path pipe = directory.resolve("slow.pipe");
        new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor();
        Thread reader = new Thread(() -> run(() -> read(pipe)), "pipe-reader");
        reader.start();
        try (FileOutputStream out = new FileOutputStream(pipe.toFile())) {
            for (int round = 0; round < ROUNDS; round++) {
                CountDownLatch held = new CountDownLatch(1);
                Thread waiter = new Thread(Stalls::enter, "lock-waiter");
                Thread holder = new Thread(() -> run(() -> append(out, held, waiter)), "lock-holder");
                holder.start();
                held.await();
                waiter.start();
                holder.join();
                waiter.join();
            }
        }
        reader.join();
        force(directory.resolve("forced.log"));
        System.gc();
        System.out.println("done");
        System.out.flush();
        System.in.read();
    }

    private static void append(FileOutputStream out, CountDownLatch held, Thread waiter) throws Exception {
        synchronized (LOG_LOCK) {
            held.countDown();
            // On a busy machine it may begin when the write has ended, and would wait for nothing.
            while (waiter.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            // More than a pipe holds: this waits for the reader.
            out.write(new byte[200_000]);
        }
    }

    private static void enter() {
        synchronized (LOG_LOCK) {
            LOG_LOCK.hashCode();
        }
    }

    private static void read(Path pipe) throws Exception {
        byte[] buffer = new byte[60_000];
        try (FileInputStream in = new FileInputStream(pipe.toFile())) {
            do {
                Thread.sleep(60);
            } while (in.read(buffer) > 0);
        }
    }

    private static void force(Path path) throws Exception {
        try (FileChannel channel =
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(100_000));
            channel.force(true);
        }
        Files.size(path);
    }

    private interface Task {
        void run() throws Exception;
    }

    private static void run(Task task) {
        try {
            task.run();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
