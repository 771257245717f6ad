package aplomb.groups;

import java.io.PrintWriter;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.coordinator.transaction.TransactionLog;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TransactionState;
import org.apache.kafka.coordinator.transaction.TxnTransitMetadata;
import org.apache.kafka.server.common.TransactionVersion;

/**
 * Lives of transactional ids. A life begins with a line of its own: "life", the level of transaction.version, the id. Each
 * further line is what is asked, the time, its arguments, and the record that Apache Kafka writes: key and value in
 * hexadecimal digits.
 */
final class Transactions {
    private static final long NOBODY = -1;
    private static final long NOON = 1_767_268_800_000L;

    private final Random random;
    private final PrintWriter out;
    private long now = NOON;
    private long ids = 1000;

    Transactions(Random random, PrintWriter out) {
        this.random = random;
        this.out = out;
    }

    void write(int lives) {
        for (int life = 0; life < lives; life++) {
            live("life-" + life, TransactionVersion.fromFeatureLevel((short) random.nextInt(3)));
        }
    }

    private void live(String id, TransactionVersion version) {
        out.println("life\t" + version.featureLevel() + "\t" + id);
        long producer = ++ids;
        int timeout = 100_000 + random.nextInt(800_000);
        TransactionMetadata known = new TransactionMetadata(
            id, producer, NOBODY, NOBODY, (short) -1, (short) -1, timeout, TransactionState.EMPTY, new HashSet<>(), -1L, now,
            TransactionVersion.TV_0);
        TxnTransitMetadata next = known.prepareIncrementProducerEpoch(timeout, Optional.empty(), tick());
        tell(known, next, version, "init", timeout, producer);
        // Some come to the end of their epochs.
        if (random.nextInt(4) == 0) {
            while (known.producerEpoch() < Short.MAX_VALUE - 3) {
                known.completeTransitionTo(known.prepareIncrementProducerEpoch(timeout, Optional.empty(), now));
            }
            out.println("epoch\t" + known.producerEpoch());
        }
        for (int steps = 5 + random.nextInt(30); steps > 0; steps--) step(known, version);
    }

    private void step(TransactionMetadata known, TransactionVersion version) {
        switch (known.state()) {
            case EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT -> {
                if (random.nextInt(3) == 0) {
                    begin(known, version);
                } else {
                    add(known, version);
                }
            }
            case ONGOING -> {
                if (random.nextInt(3) == 0) {
                    add(known, version);
                } else {
                    end(known, version);
                }
            }
            default -> tell(known, known.prepareComplete(tick()), version, "mark");
        }
    }

    private void begin(TransactionMetadata known, TransactionVersion version) {
        int timeout = 100_000 + random.nextInt(800_000);
        boolean goesOn = random.nextBoolean();
        long expected = goesOn ? known.producerId() : NOBODY;
        short epoch = goesOn ? known.producerEpoch() : -1;
        long fresh = ++ids;
        TxnTransitMetadata next = known.isProducerEpochExhausted()
            ? known.prepareProducerIdRotation(fresh, timeout, tick(), goesOn)
            : known.prepareIncrementProducerEpoch(timeout, goesOn ? Optional.of(epoch) : Optional.empty(), tick());
        tell(known, next, version, "begin", timeout, fresh, expected, epoch);
    }

    private void add(TransactionMetadata known, TransactionVersion version) {
        Set<TopicPartition> added = new HashSet<>();
        StringBuilder named = new StringBuilder();
        for (int count = 1 + random.nextInt(random.nextInt(4) == 0 ? 5 : 1); count > 0; count--) {
            TopicPartition partition = new TopicPartition("topic-" + random.nextInt(3), random.nextInt(5));
            if (added.add(partition)) named.append(partition.topic()).append(':').append(partition.partition()).append(',');
        }
        if (known.state() == TransactionState.ONGOING && known.topicPartitions().containsAll(added)) return;
        TransactionVersion client = client(version);
        tell(known, known.prepareAddPartitions(added, tick(), client), version, "add", client.featureLevel(), named);
    }

    private void end(TransactionMetadata known, TransactionVersion version) {
        TransactionVersion client = client(version);
        boolean commits = random.nextBoolean();
        long fresh = ++ids;
        boolean rotates = client.supportsEpochBump() && known.isProducerEpochExhausted();
        TransactionState state = commits ? TransactionState.PREPARE_COMMIT : TransactionState.PREPARE_ABORT;
        TxnTransitMetadata next = known.prepareAbortOrCommit(state, client, rotates ? fresh : NOBODY, tick(), false);
        tell(known, next, version, "end", commits, client.featureLevel(), fresh);
    }

    /** Of a client; those before version 2 are all the same. A broker whose level is 0 cannot write down another. */
    private TransactionVersion client(TransactionVersion version) {
        return version == TransactionVersion.TV_0 || random.nextBoolean() ? TransactionVersion.TV_0 : TransactionVersion.TV_2;
    }

    private long tick() {
        return now += random.nextInt(1000);
    }

    private void tell(TransactionMetadata known, TxnTransitMetadata next, TransactionVersion version, String asked, Object... arguments) {
        StringBuilder line = new StringBuilder(asked).append('\t').append(now);
        for (Object argument : arguments) line.append('\t').append(argument);
        HexFormat hex = HexFormat.of();
        line.append('\t').append(hex.formatHex(TransactionLog.keyToBytes(known.transactionalId())));
        line.append('\t').append(hex.formatHex(TransactionLog.valueToBytes(next, version)));
        out.println(line);
        known.completeTransitionTo(next);
    }
}
