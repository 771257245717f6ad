package aplomb.groups;

import java.io.PrintWriter;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.Utils;

/**
 * Hashes of what groups are subscribed to. A line is a group: its hash, then a field for each topic: name, id, and for
 * each partition its racks.
 */
final class Hashes {
    private static final String[] RACKS = {"a", "b", "eu-west-1a", "", ",", "Zürich", "\uff21", "\ud83d\ude00", "a long name of a rack with spaces"};

    private final Random random;
    private final PrintWriter out;

    Hashes(Random random, PrintWriter out) {
        this.random = random;
        this.out = out;
    }

    private record Topic(String name, Uuid id, List<List<String>> racks) implements CoordinatorMetadataImage.TopicMetadata {
        @Override
        public int partitionCount() {
            return racks.size();
        }

        @Override
        public List<String> partitionRacks(int partition) {
            return new ArrayList<>(racks.get(partition));
        }
    }

    void write(int groups) {
        for (int group = 0; group < groups; group++) {
            Map<String, Long> hashes = new HashMap<>();
            StringBuilder line = new StringBuilder();
            for (int n = random.nextInt(5); n > 0; n--) {
                Topic topic = topic();
                if (hashes.containsKey(topic.name)) continue;
                hashes.put(topic.name, Utils.computeTopicHash(topic.name, image(topic)));
                line.append('\t').append(topic.name).append('/').append(Assignments.hex(topic.id));
                for (List<String> racks : topic.racks) {
                    line.append('/');
                    for (String rack : racks) line.append(Main.escaped(rack)).append(',');
                }
            }
            out.println(Utils.computeGroupHash(hashes) + line.toString());
        }
    }

    private Topic topic() {
        StringBuilder name = new StringBuilder();
        for (int n = 1 + random.nextInt(random.nextInt(4) == 0 ? 249 : 20); n > 0; n--) {
            name.append("abcXYZ019._-".charAt(random.nextInt(12)));
        }
        List<List<String>> racks = new ArrayList<>();
        for (int n = random.nextInt(5); n > 0; n--) {
            List<String> of = new ArrayList<>();
            for (int replicas = random.nextInt(4); replicas > 0; replicas--) of.add(RACKS[random.nextInt(RACKS.length)]);
            racks.add(of);
        }
        return new Topic(name.toString(), new Uuid(random.nextLong(), random.nextLong()), racks);
    }

    /** An image of one topic. */
    private static CoordinatorMetadataImage image(Topic topic) {
        return (CoordinatorMetadataImage) Proxy.newProxyInstance(
            Hashes.class.getClassLoader(),
            new Class<?>[] {CoordinatorMetadataImage.class},
            (proxy, method, args) -> {
                if (method.getName().equals("topicMetadata")) return Optional.of(topic);
                throw new UnsupportedOperationException(method.getName());
            }
        );
    }
}
