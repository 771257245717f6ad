// Fills half of the heap of the JVM that loads this with small objects that live for some seconds, replaced all the time. Each collection
// has to copy what is new of them, and to follow all of them to see what is alive. Reads and writes nothing.
//
// Loaded as an agent with the name of a file: it goes on for as long as that is there, and then lets go of everything.

import java.io.File;
import java.util.ArrayDeque;

public final class LiveSet {
    /** Bytes of an object: a header of 12, a reference of 4, a number. */
    private static final long SIZE = 24;
    /** Objects that are made, and forgotten, together. */
    private static final int TOGETHER = 100_000;
    /** Between two such lots: some 100 MB a second, which a processor makes in a tenth of its time. */
    private static final long PAUSE_MS = 20;

    private record Link(Link next, long number) {}

    public static void agentmain(String asLongAs) {
        var thread = new Thread(() -> hold(new File(asLongAs)), "aplomb-lab-live-set");
        thread.setDaemon(true);
        thread.start();
    }

    private static void hold(File asLongAs) {
        var most = Runtime.getRuntime().maxMemory() / 2 / SIZE / TOGETHER;
        var lots = new ArrayDeque<Link>();
        try {
            while (asLongAs.exists()) {
                lots.add(lot());
                if (lots.size() > most) {
                    lots.remove();
                    Thread.sleep(PAUSE_MS);
                }
            }
        } catch (InterruptedException | OutOfMemoryError e) {
            // What is there no room for is not held.
            lots.clear();
        }
    }

    private static Link lot() {
        Link last = null;
        for (var number = 0; number < TOGETHER; number++) {
            last = new Link(last, number);
        }
        return last;
    }
}
