package aplomb.clients;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;

/**
 * One admin call a line: {@code --op '{"op": "create-topic", ...}'}. The answer is {@code {"result": ...}}, or the class of the
 * exception that the admin client threw, which is what programs branch on.
 */
final class AdminOps {
    private AdminOps() {}

    static void run(Options options) throws Exception {
        var properties = new Properties();
        properties.put("bootstrap.servers", options.get("--bootstrap"));
        properties.put("request.timeout.ms", "20000");
        properties.put("default.api.timeout.ms", "30000");
        options.addConfigsTo(properties);
        var answer = new LinkedHashMap<String, Object>();
        try (var admin = Admin.create(properties)) {
            answer.put("result", call(admin, Output.JSON.readTree(options.get("--op"))));
        } catch (Exception failure) {
            answer.put("error", Output.name(failure));
            answer.put("message", String.valueOf(Output.cause(failure).getMessage()));
        }
        Output.line(answer);
    }

    private static Object call(Admin admin, JsonNode op) throws Exception {
        return switch (op.get("op").asText()) {
            case "create-topic" -> createTopic(admin, op);
            case "create-partitions" -> createPartitions(admin, op);
            case "delete-topic" -> deleteTopic(admin, op);
            case "list-topics" -> List.copyOf(new TreeSet<>(admin.listTopics().names().get()));
            case "describe-topic" -> describeTopic(admin, op);
            case "describe-configs" -> describeConfigs(admin, op);
            case "list-config-resources" -> listConfigResources(admin, op);
            case "alter-configs" -> alterConfigs(admin, op);
            case "list-offset" -> listOffset(admin, op);
            case "delete-records" -> deleteRecords(admin, op);
            case "describe-cluster" -> describeCluster(admin);
            case "describe-log-dirs" -> describeLogDirs(admin, op);
            case "alter-quotas", "describe-quotas" -> QuotaOps.call(admin, op).orElseThrow();
            default -> GroupOps.call(admin, op).orElseThrow(() -> new IllegalArgumentException("unknown op " + op));
        };
    }

    private static Object createTopic(Admin admin, JsonNode op) throws Exception {
        String name = op.get("name").asText();
        NewTopic topic;
        if (op.has("assignment")) {
            topic = new NewTopic(name, assignment(op.get("assignment")));
        } else {
            topic = new NewTopic(
                name,
                op.has("partitions") ? Optional.of(op.get("partitions").asInt()) : Optional.empty(),
                op.has("replication") ? Optional.of((short) op.get("replication").asInt()) : Optional.empty());
        }
        if (op.has("configs")) {
            topic.configs(strings(op.get("configs")));
        }
        var options = new CreateTopicsOptions()
            .validateOnly(op.path("validate").asBoolean())
            .retryOnQuotaViolation(op.path("retry").asBoolean(true));
        var result = admin.createTopics(List.of(topic), options);
        result.all().get();
        var line = new LinkedHashMap<String, Object>();
        line.put("partitions", result.numPartitions(name).get());
        line.put("replication", result.replicationFactor(name).get());
        line.put("configs", configs(result.config(name).get()));
        if (!op.path("validate").asBoolean()) {
            line.put("id", result.topicId(name).get().toString());
        }
        return line;
    }

    private static Map<Integer, List<Integer>> assignment(JsonNode node) {
        var assignment = new HashMap<Integer, List<Integer>>();
        for (int partition = 0; partition < node.size(); partition++) {
            assignment.put(partition, replicas(node.get(partition)));
        }
        return assignment;
    }

    private static List<Integer> replicas(JsonNode node) {
        var replicas = new ArrayList<Integer>();
        node.forEach(replica -> replicas.add(replica.asInt()));
        return replicas;
    }

    private static Object createPartitions(Admin admin, JsonNode op) throws Exception {
        int total = op.get("total").asInt();
        var partitions = NewPartitions.increaseTo(total);
        if (op.has("assignment")) {
            var assignment = new ArrayList<List<Integer>>();
            op.get("assignment").forEach(node -> assignment.add(replicas(node)));
            partitions = NewPartitions.increaseTo(total, assignment);
        }
        var options = new CreatePartitionsOptions().validateOnly(op.path("validate").asBoolean());
        admin.createPartitions(Map.of(op.get("name").asText(), partitions), options).all().get();
        return true;
    }

    private static Object deleteTopic(Admin admin, JsonNode op) throws Exception {
        if (op.has("id")) {
            admin.deleteTopics(TopicCollection.ofTopicIds(List.of(Uuid.fromString(op.get("id").asText())))).all().get();
        } else {
            admin.deleteTopics(List.of(op.get("name").asText())).all().get();
        }
        return true;
    }

    private static Object describeTopic(Admin admin, JsonNode op) throws Exception {
        Collection<TopicDescription> found;
        if (op.has("id")) {
            var id = Uuid.fromString(op.get("id").asText());
            found = admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().values();
        } else {
            found = admin.describeTopics(List.of(op.get("name").asText())).allTopicNames().get().values();
        }
        var topic = found.iterator().next();
        var partitions = new ArrayList<Object>();
        for (var partition : topic.partitions()) {
            var line = new LinkedHashMap<String, Object>();
            line.put("partition", partition.partition());
            line.put("leader", partition.leader() == null ? -1 : partition.leader().id());
            line.put("replicas", partition.replicas().stream().map(node -> node.id()).toList());
            line.put("isr", partition.isr().stream().map(node -> node.id()).toList());
            partitions.add(line);
        }
        var line = new LinkedHashMap<String, Object>();
        line.put("name", topic.name());
        line.put("id", topic.topicId().toString());
        line.put("internal", topic.isInternal());
        line.put("partitions", partitions);
        return line;
    }

    private static ConfigResource resource(JsonNode op) {
        return new ConfigResource(ConfigResource.Type.valueOf(op.get("type").asText()), op.get("name").asText());
    }

    private static Object describeConfigs(Admin admin, JsonNode op) throws Exception {
        var resource = resource(op);
        var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        return configs(admin.describeConfigs(List.of(resource), options).all().get().get(resource));
    }

    /** {@code "types": ["TOPIC", ...]}; none is all. */
    private static Object listConfigResources(Admin admin, JsonNode op) throws Exception {
        var types = new HashSet<ConfigResource.Type>();
        op.path("types").forEach(type -> types.add(ConfigResource.Type.valueOf(type.asText())));
        var found = new TreeSet<String>();
        for (ConfigResource resource : admin.listConfigResources(types, new ListConfigResourcesOptions()).all().get()) {
            found.add(resource.type() + " " + resource.name());
        }
        return List.copyOf(found);
    }

    /** Values and where they come from; sensitive values stay null, as the admin client reports them. */
    private static Map<String, Object> configs(Config config) {
        var lines = new TreeMap<String, Object>();
        for (ConfigEntry entry : config.entries()) {
            var line = new LinkedHashMap<String, Object>();
            line.put("value", entry.value());
            line.put("source", entry.source().toString());
            line.put("sensitive", entry.isSensitive());
            line.put("readonly", entry.isReadOnly());
            line.put("type", String.valueOf(entry.type()));
            line.put("synonyms", entry.synonyms().stream().map(other -> List.of(other.name(), String.valueOf(other.value()), other.source().toString())).toList());
            line.put("documented", entry.documentation() != null);
            lines.put(entry.name(), line);
        }
        return lines;
    }

    /** {@code "changes": [["retention.ms", "SET", "1000"], ...]}. */
    private static Object alterConfigs(Admin admin, JsonNode op) throws Exception {
        var changes = new ArrayList<AlterConfigOp>();
        for (JsonNode change : op.get("changes")) {
            String value = change.get(2).isNull() ? null : change.get(2).asText();
            changes.add(new AlterConfigOp(new ConfigEntry(change.get(0).asText(), value), AlterConfigOp.OpType.valueOf(change.get(1).asText())));
        }
        admin.incrementalAlterConfigs(Map.of(resource(op), changes)).all().get();
        return true;
    }

    private static Object listOffset(Admin admin, JsonNode op) throws Exception {
        var partition = new TopicPartition(op.get("topic").asText(), op.path("partition").asInt());
        String asked = op.get("spec").asText();
        OffsetSpec spec = switch (asked) {
            case "earliest" -> OffsetSpec.earliest();
            case "earliest-local" -> OffsetSpec.earliestLocal();
            case "latest" -> OffsetSpec.latest();
            case "latest-tiered" -> OffsetSpec.latestTiered();
            case "max-timestamp" -> OffsetSpec.maxTimestamp();
            default -> OffsetSpec.forTimestamp(Long.parseLong(asked));
        };
        var found = admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get();
        return Map.of("offset", found.offset(), "timestamp", found.timestamp());
    }

    private static Object deleteRecords(Admin admin, JsonNode op) throws Exception {
        var partition = new TopicPartition(op.get("topic").asText(), op.path("partition").asInt());
        var result = admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(op.get("before").asLong())));
        return Map.of("low", result.lowWatermarks().get(partition).get().lowWatermark());
    }

    private static Object describeCluster(Admin admin) throws Exception {
        var cluster = admin.describeCluster();
        return Map.of(
            "id", cluster.clusterId().get(),
            "controller", cluster.controller().get().id(),
            "nodes", cluster.nodes().get().stream().map(node -> node.id()).toList());
    }

    private static Object describeLogDirs(Admin admin, JsonNode op) throws Exception {
        int broker = op.path("broker").asInt(1);
        var dirs = new ArrayList<Object>();
        for (var dir : admin.describeLogDirs(List.of(broker)).allDescriptions().get().get(broker).entrySet()) {
            var replicas = new TreeMap<String, Object>();
            dir.getValue().replicaInfos().forEach((partition, info) ->
                replicas.put(partition.toString(), Map.of("size", info.size(), "lag", info.offsetLag(), "future", info.isFuture())));
            dirs.add(Map.of(
                "path", dir.getKey(),
                "total", dir.getValue().totalBytes().orElse(-1),
                "usable", dir.getValue().usableBytes().orElse(-1),
                "replicas", replicas));
        }
        return dirs;
    }

    private static Map<String, String> strings(JsonNode node) {
        var map = new HashMap<String, String>();
        node.fields().forEachRemaining(field -> map.put(field.getKey(), field.getValue().isNull() ? null : field.getValue().asText()));
        return map;
    }
}
