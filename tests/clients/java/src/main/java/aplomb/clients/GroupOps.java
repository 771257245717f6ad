package aplomb.clients;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/** The admin calls about groups. */
final class GroupOps {
    private GroupOps() {}

    /** Nothing, if the call is of another kind. */
    static Optional<Object> call(Admin admin, JsonNode op) throws Exception {
        return Optional.ofNullable(switch (op.get("op").asText()) {
            case "list-groups" -> list(admin, op);
            case "describe-group" -> describe(admin, op);
            case "describe-classic-group" -> describeClassic(admin, op);
            case "delete-group" -> delete(admin, op);
            case "list-group-offsets" -> listOffsets(admin, op);
            case "alter-group-offsets" -> alterOffsets(admin, op);
            case "delete-group-offsets" -> deleteOffsets(admin, op);
            case "remove-members" -> removeMembers(admin, op);
            default -> null;
        });
    }

    private static String group(JsonNode op) {
        return op.get("group").asText();
    }

    /** {@code "states": [...], "types": [...]}; none is all. */
    private static Object list(Admin admin, JsonNode op) throws Exception {
        var states = new HashSet<GroupState>();
        op.path("states").forEach(state -> states.add(GroupState.parse(state.asText())));
        var types = new HashSet<GroupType>();
        op.path("types").forEach(type -> types.add(GroupType.parse(type.asText())));
        var groups = new TreeMap<String, Object>();
        for (var listing : admin.listGroups(new ListGroupsOptions().inGroupStates(states).withTypes(types)).all().get()) {
            groups.put(listing.groupId(), List.of(
                listing.type().map(Object::toString).orElse(""), listing.protocol(), listing.groupState().map(Object::toString).orElse("")));
        }
        return groups;
    }

    private static Object describe(Admin admin, JsonNode op) throws Exception {
        ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(group(op))).all().get().get(group(op));
        var line = new LinkedHashMap<String, Object>();
        line.put("state", found.groupState().toString());
        line.put("type", found.type().toString());
        line.put("simple", found.isSimpleConsumerGroup());
        line.put("assignor", found.partitionAssignor());
        line.put("coordinator", found.coordinator().id());
        line.put("epoch", found.groupEpoch().orElse(null));
        line.put("target_epoch", found.targetAssignmentEpoch().orElse(null));
        line.put("members", members(found.members()));
        return line;
    }

    private static Object describeClassic(Admin admin, JsonNode op) throws Exception {
        var found = admin.describeClassicGroups(List.of(group(op))).all().get().get(group(op));
        var line = new LinkedHashMap<String, Object>();
        line.put("state", found.state().toString());
        line.put("protocol", found.protocol());
        line.put("data", found.protocolData());
        line.put("members", members(found.members()));
        return line;
    }

    /** In the order of what they own: their ids are random. */
    private static List<Map<String, Object>> members(Collection<MemberDescription> members) {
        var lines = new ArrayList<Map<String, Object>>();
        for (var member : members) {
            var line = new LinkedHashMap<String, Object>();
            line.put("id", member.consumerId());
            line.put("instance", member.groupInstanceId().orElse(null));
            line.put("client", member.clientId());
            line.put("host", member.host());
            line.put("owns", pairs(member.assignment().topicPartitions()));
            line.put("target", member.targetAssignment().map(target -> pairs(target.topicPartitions())).orElse(null));
            line.put("epoch", member.memberEpoch().orElse(null));
            line.put("upgraded", member.upgraded().orElse(null));
            lines.add(line);
        }
        lines.sort(Comparator.comparing(line -> line.get("owns").toString()));
        return lines;
    }

    private static List<List<Object>> pairs(Set<TopicPartition> partitions) {
        return partitions.stream()
            .sorted(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition))
            .map(partition -> List.<Object>of(partition.topic(), partition.partition()))
            .toList();
    }

    private static Object delete(Admin admin, JsonNode op) throws Exception {
        admin.deleteConsumerGroups(List.of(group(op))).all().get();
        return true;
    }

    /** What is committed, by {@code topic-partition}; {@code "stable"} waits for transactions. */
    private static Object listOffsets(Admin admin, JsonNode op) throws Exception {
        var spec = new ListConsumerGroupOffsetsSpec();
        if (op.has("partitions")) {
            spec.topicPartitions(partitions(op.get("partitions")));
        }
        var options = new ListConsumerGroupOffsetsOptions().requireStable(op.path("stable").asBoolean());
        var found = admin.listConsumerGroupOffsets(Map.of(group(op), spec), options).partitionsToOffsetAndMetadata(group(op)).get();
        var lines = new TreeMap<String, Object>();
        for (var entry : found.entrySet()) {
            var committed = entry.getValue();
            var line = new LinkedHashMap<String, Object>();
            if (committed != null) {
                line.put("offset", committed.offset());
                line.put("metadata", committed.metadata());
                line.put("epoch", committed.leaderEpoch().orElse(null));
            }
            lines.put(entry.getKey().toString(), line);
        }
        return lines;
    }

    /** {@code [[topic, partition], ...]}. */
    private static List<TopicPartition> partitions(JsonNode node) {
        var partitions = new ArrayList<TopicPartition>();
        node.forEach(pair -> partitions.add(new TopicPartition(pair.get(0).asText(), pair.get(1).asInt())));
        return partitions;
    }

    /** {@code "offsets": [[topic, partition, offset, metadata], ...]}. */
    private static Object alterOffsets(Admin admin, JsonNode op) throws Exception {
        var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
        for (var row : op.get("offsets")) {
            var partition = new TopicPartition(row.get(0).asText(), row.get(1).asInt());
            offsets.put(partition, new OffsetAndMetadata(row.get(2).asLong(), row.path(3).asText("")));
        }
        admin.alterConsumerGroupOffsets(group(op), offsets).all().get();
        return true;
    }

    private static Object deleteOffsets(Admin admin, JsonNode op) throws Exception {
        admin.deleteConsumerGroupOffsets(group(op), Set.copyOf(partitions(op.get("partitions")))).all().get();
        return true;
    }

    /** {@code "instances": [...]}; without them, all members. */
    private static Object removeMembers(Admin admin, JsonNode op) throws Exception {
        var instances = new ArrayList<MemberToRemove>();
        op.path("instances").forEach(instance -> instances.add(new MemberToRemove(instance.asText())));
        var options = instances.isEmpty()
            ? new RemoveMembersFromConsumerGroupOptions()
            : new RemoveMembersFromConsumerGroupOptions(instances);
        admin.removeMembersFromConsumerGroup(group(op), options).all().get();
        return true;
    }
}
