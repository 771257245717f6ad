import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/**
 * Makes garbage, has one thread wait for another's monitor, and says what the JVM itself has counted.
 * For each byte that it is sent it collects once more, and says so again.
 */
public class Probe {
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        Object monitor = new Object();
        Thread holder = new Thread(() -> hold(monitor), "probe-that-holds-the-monitor");
        Thread waiter = new Thread(() -> waitFor(monitor), "probe-that-waits-for-the-monitor");
        for (Thread thread : new Thread[] {holder, waiter}) {
            thread.setDaemon(true);
            thread.start();
            while (thread.getState() != (thread == holder ? Thread.State.TIMED_WAITING : Thread.State.BLOCKED)) {
                Thread.sleep(1);
            }
        }
        for (int i = 0; i < 300_000; i++) {
            sink = new byte[1000];
        }
        do {
            System.gc();
            for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
                System.out.println(bean.getName() + "\t" + bean.getCollectionCount() + "\t" + bean.getCollectionTime());
            }
            System.out.println("ready");
        } while (System.in.read() >= 0);
    }

    static void hold(Object monitor) {
        synchronized (monitor) {
            try {
                Thread.sleep(3_600_000);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void waitFor(Object monitor) {
        synchronized (monitor) {
            sink = monitor;
        }
    }
}
