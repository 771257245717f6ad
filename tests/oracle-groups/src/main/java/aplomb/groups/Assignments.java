package aplomb.groups;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Groups that change step by step, each time with what they are assigned.
 *
 * <p>A line is a step: the assignor, the topics ({@code id*partitions}), then a field for each member: id, instance,
 * whether it has an expression, subscription, what it had, what it gets. Members and topics come in their order, so
 * that the assignors' hash maps have that order too: ids of topics are small where it counts.
 */
final class Assignments {
    private final Random random;
    private final PrintWriter out;

    private final TreeMap<Uuid, Integer> topics = new TreeMap<>();
    private final TreeMap<String, Member> members = new TreeMap<>();
    private final Set<Uuid> used = new HashSet<>();
    private boolean smallIds;
    private int largest;

    private static final class Member {
        String instance;
        boolean byExpression;
        TreeSet<Uuid> subscription = new TreeSet<>();
        TreeMap<Uuid, Set<Integer>> target = new TreeMap<>();
    }

    Assignments(Random random, PrintWriter out) {
        this.random = random;
        this.out = out;
    }

    void write(int groups) {
        for (int group = 0; group < groups; group++) {
            topics.clear();
            used.clear();
            members.clear();
            smallIds = random.nextBoolean();
            largest = random.nextInt(30) == 0 && groups > 100 ? 120 : 9;
            boolean alike = random.nextBoolean();
            boolean expressions = random.nextInt(5) == 0;
            ConsumerGroupPartitionAssignor assignor = random.nextInt(4) == 0 ? new RangeAssignor() : new UniformAssignor();
            for (int n = 1 + random.nextInt(6); n > 0; n--) {
                addTopic();
            }
            TreeSet<Uuid> common = some();
            for (int n = random.nextInt(largest); n > 0; n--) {
                join(alike ? common : some(), expressions);
            }
            for (int step = 0; step < 6; step++) {
                step(assignor);
                change(alike ? common : null, expressions);
            }
        }
    }

    private void addTopic() {
        Uuid id = smallIds ? new Uuid(0, random.nextInt(16)) : new Uuid(random.nextLong(), random.nextLong());
        // No topic shrinks, and none comes back.
        if (!used.add(id)) return;
        topics.put(id, random.nextInt(random.nextInt(4) == 0 ? largest * 4 : 8));
    }

    private TreeSet<Uuid> some() {
        TreeSet<Uuid> some = new TreeSet<>();
        for (Uuid topic : topics.keySet()) {
            if (random.nextInt(3) > 0) some.add(topic);
        }
        return some;
    }

    private void join(TreeSet<Uuid> subscription, boolean expressions) {
        Member member = new Member();
        if (random.nextInt(4) == 0) member.instance = "i" + random.nextInt(1 << 30);
        member.byExpression = expressions && random.nextBoolean();
        member.subscription = subscription;
        members.put(Long.toString(random.nextLong() & Long.MAX_VALUE, 36), member);
    }

    private void change(TreeSet<Uuid> common, boolean expressions) {
        for (int n = random.nextInt(4); n >= 0; n--) {
            List<String> ids = new ArrayList<>(members.keySet());
            String one = ids.isEmpty() ? null : ids.get(random.nextInt(ids.size()));
            List<Uuid> known = new ArrayList<>(topics.keySet());
            Uuid topic = known.isEmpty() ? null : known.get(random.nextInt(known.size()));
            switch (random.nextInt(7)) {
                case 0, 1 -> join(common != null ? common : some(), expressions);
                case 2 -> members.remove(one == null ? "" : one);
                case 3 -> {
                    if (one != null && common == null) members.get(one).subscription = some();
                }
                case 4 -> {
                    if (topic != null) topics.merge(topic, random.nextInt(5), Integer::sum);
                }
                case 5 -> addTopic();
                default -> {
                    if (topic != null) {
                        topics.remove(topic);
                        if (common != null) common.remove(topic);
                        members.values().forEach(member -> member.subscription.remove(topic));
                    }
                }
            }
        }
        // A change for all of them.
        if (common != null && random.nextInt(3) == 0) {
            common.clear();
            common.addAll(some());
        }
    }

    private void step(ConsumerGroupPartitionAssignor assignor) {
        boolean equal = members.values().stream().map(member -> member.subscription).distinct().count() <= 1
            && members.values().stream().noneMatch(member -> member.byExpression);
        Map<String, MemberSubscriptionAndAssignmentImpl> spec = new TreeMap<>();
        Map<Uuid, Map<Integer, String>> inverted = new HashMap<>();
        members.forEach((id, member) -> {
            spec.put(id, new MemberSubscriptionAndAssignmentImpl(
                random.nextBoolean() ? Optional.of("rack" + random.nextInt(3)) : Optional.empty(),
                Optional.ofNullable(member.instance),
                member.subscription,
                new Assignment(Collections.unmodifiableMap(member.target))
            ));
            member.target.forEach((topic, partitions) -> partitions.forEach(partition ->
                inverted.computeIfAbsent(topic, __ -> new HashMap<>()).put(partition, id)));
        });
        Map<String, MemberAssignment> result = assignor.assign(
            new GroupSpecImpl(
                Collections.unmodifiableMap(spec),
                equal ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS,
                inverted
            ),
            new SubscribedTopicDescriber() {
                @Override
                public int numPartitions(Uuid topic) {
                    return topics.getOrDefault(topic, -1);
                }

                @Override
                public Set<String> racksForPartition(Uuid topic, int partition) {
                    return Set.of();
                }
            }
        ).members();
        List<Uuid> known = new ArrayList<>(topics.keySet());
        // Not where the order of a hash set of large ids decides.
        boolean isDefined = smallIds || !equal || assignor instanceof RangeAssignor;
        StringBuilder line = new StringBuilder(assignor.name()).append('\t');
        line.append(topics.entrySet().stream().map(e -> hex(e.getKey()) + "*" + e.getValue()).collect(Collectors.joining(",")));
        members.forEach((id, member) -> {
            TreeMap<Uuid, Set<Integer>> now = new TreeMap<>();
            MemberAssignment assigned = result.get(id);
            if (assigned != null) assigned.partitions().forEach((topic, partitions) -> now.put(topic, new TreeSet<>(partitions)));
            line.append('\t').append(id).append('/').append(member.instance == null ? "" : member.instance).append('/')
                .append(member.byExpression ? "e/" : "/")
                .append(member.subscription.stream().map(topic -> "" + known.indexOf(topic)).collect(Collectors.joining(",")))
                .append('/').append(partitions(member.target, known)).append('/').append(partitions(now, known));
            member.target = now;
        });
        if (isDefined) out.println(line);
    }

    /** Partitions by topic, which is named by its place, or by its id if it is gone. */
    private static String partitions(Map<Uuid, Set<Integer>> assignment, List<Uuid> known) {
        return assignment.entrySet().stream().map(e -> {
            int place = known.indexOf(e.getKey());
            String list = e.getValue().stream().map(String::valueOf).collect(Collectors.joining("+"));
            return (place < 0 ? hex(e.getKey()) : "" + place) + ":" + list;
        }).collect(Collectors.joining(","));
    }

    static String hex(Uuid id) {
        return String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits());
    }
}
