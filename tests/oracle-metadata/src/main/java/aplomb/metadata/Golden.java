package aplomb.metadata;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metadata.AbortTransactionRecord;
import org.apache.kafka.common.metadata.AccessControlEntryRecord;
import org.apache.kafka.common.metadata.BeginTransactionRecord;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ClientQuotaRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.DelegationTokenRecord;
import org.apache.kafka.common.metadata.EndTransactionRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.FenceBrokerRecord;
import org.apache.kafka.common.metadata.NoOpRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.ProducerIdsRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RegisterControllerRecord;
import org.apache.kafka.common.metadata.RemoveAccessControlEntryRecord;
import org.apache.kafka.common.metadata.RemoveDelegationTokenRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.RemoveUserScramCredentialRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnfenceBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterControllerRecord;
import org.apache.kafka.common.metadata.UserScramCredentialRecord;
import org.apache.kafka.common.metadata.ZkMigrationStateRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** A metadata log with every record type, and the records that Apache Kafka's image of it consists of. */
final class Golden {
    private static final int BATCH = 5;
    private final List<ApiMessageAndVersion> records = new ArrayList<>();

    static void write(Path directory) throws Exception {
        Golden golden = new Golden();
        golden.everything();
        Files.createDirectories(directory);
        Files.write(directory.resolve("kafka.log"), bytes(golden.records));
        // Java's immutable maps have another order in every process.
        List<ApiMessageAndVersion> image = new ArrayList<>(Images.records(Images.replay(golden.records)));
        image.sort(Comparator.comparing(record -> Images.lines(List.of(record)).get(0)));
        Files.write(directory.resolve("kafka.image"), bytes(image));
    }

    /** Batches of a few records each. */
    private static byte[] bytes(List<ApiMessageAndVersion> records) {
        ByteBuffer out = ByteBuffer.allocate(1 << 20);
        for (int from = 0; from < records.size(); from += BATCH) {
            SimpleRecord[] batch = records.subList(from, Math.min(from + BATCH, records.size())).stream()
                .map(record -> new SimpleRecord(1_700_000_000_000L, null, value(record)))
                .toArray(SimpleRecord[]::new);
            out.put(MemoryRecords.withRecords(from, Compression.NONE, 1, batch).buffer());
        }
        byte[] bytes = new byte[out.flip().remaining()];
        out.get(bytes);
        return bytes;
    }

    private static byte[] value(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, cache));
        MetadataRecordSerde.INSTANCE.write(record, cache, new ByteBufferAccessor(buffer));
        return buffer.array();
    }

    private void add(ApiMessage message, int version) {
        records.add(new ApiMessageAndVersion(message, (short) version));
    }

    private static Uuid id(long n) {
        return new Uuid(0x1122334455667788L, n);
    }

    private void everything() {
        add(new FeatureLevelRecord().setName("metadata.version").setFeatureLevel((short) 33), 0);
        add(new FeatureLevelRecord().setName("eligible.leader.replicas.version").setFeatureLevel((short) 1), 0);
        add(new FeatureLevelRecord().setName("transaction.version").setFeatureLevel((short) 2), 0);
        add(new FeatureLevelRecord().setName("group.version").setFeatureLevel((short) 1), 0);
        add(new FeatureLevelRecord().setName("group.version").setFeatureLevel((short) 0), 0);
        add(new NoOpRecord(), 0);
        add(new ZkMigrationStateRecord().setZkMigrationState((byte) 1), 0);
        for (int broker = 1; broker <= 4; broker++) add(broker(broker), 4);
        add(new BrokerRegistrationChangeRecord().setBrokerId(1).setBrokerEpoch(101).setFenced((byte) -1), 0);
        add(new BrokerRegistrationChangeRecord().setBrokerId(2).setBrokerEpoch(102).setFenced((byte) -1)
            .setInControlledShutdown((byte) 1), 1);
        add(new BrokerRegistrationChangeRecord().setBrokerId(2).setBrokerEpoch(102)
            .setLogDirs(List.of(id(2100), id(2000))), 2);
        add(new BrokerRegistrationChangeRecord().setBrokerId(2).setBrokerEpoch(102)
            .setCordonedLogDirs(List.of(id(2000))), 3);
        add(new UnfenceBrokerRecord().setId(3).setEpoch(103), 0);
        add(new FenceBrokerRecord().setId(3).setEpoch(103), 0);
        add(new UnregisterBrokerRecord().setBrokerId(4).setBrokerEpoch(104), 0);
        add(controller(1), 0);
        add(controller(2), 0);
        add(new UnregisterControllerRecord().setControllerId(2), 0);
        topics();
        configs();
        security();
        transactions();
    }

    private static RegisterBrokerRecord broker(int n) {
        RegisterBrokerRecord broker = new RegisterBrokerRecord().setBrokerId(n).setBrokerEpoch(100 + n)
            .setIncarnationId(id(n)).setRack(n % 2 == 0 ? null : "rack-" + n).setFenced(true)
            .setLogDirs(List.of(id(1000L * n), id(1000L * n + 1)))
            .setCordonedLogDirs(n == 3 ? null : List.of(id(1000L * n)));
        broker.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint().setName("PLAINTEXT").setHost("host-" + n)
            .setPort(9000 + n).setSecurityProtocol((short) 0));
        broker.endPoints().add(new RegisterBrokerRecord.BrokerEndpoint().setName("TLS").setHost("host-" + n)
            .setPort(65535).setSecurityProtocol((short) 1));
        broker.features().add(new RegisterBrokerRecord.BrokerFeature().setName("metadata.version")
            .setMinSupportedVersion((short) 7).setMaxSupportedVersion((short) 33));
        return broker;
    }

    private static RegisterControllerRecord controller(int n) {
        RegisterControllerRecord controller = new RegisterControllerRecord().setControllerId(n).setIncarnationId(id(50 + n));
        controller.endPoints().add(new RegisterControllerRecord.ControllerEndpoint().setName("CONTROLLER")
            .setHost("host-" + n).setPort(9093).setSecurityProtocol((short) 0));
        controller.features().add(new RegisterControllerRecord.ControllerFeature().setName("metadata.version")
            .setMinSupportedVersion((short) 7).setMaxSupportedVersion((short) 33));
        return controller;
    }

    private void topics() {
        for (int topic = 0; topic < 3; topic++) {
            add(new TopicRecord().setName("topic." + topic).setTopicId(id(500 + topic)), 0);
            for (int index = 0; index < 3; index++) {
                add(new PartitionRecord().setTopicId(id(500 + topic)).setPartitionId(index)
                    .setReplicas(List.of(1, 2, 3)).setIsr(List.of(1, 2)).setLeader(1).setLeaderEpoch(topic)
                    .setPartitionEpoch(2 * topic).setDirectories(List.of(id(1000), id(2000), id(3000)))
                    .setEligibleLeaderReplicas(index == 1 ? List.of(3) : null)
                    .setLastKnownElr(index == 1 ? List.of(1) : null), 2);
            }
        }
        add(change(500, 0).setLeader(2), 2);
        add(change(500, 0).setIsr(List.of(2)), 2);
        add(change(500, 0).setLeader(-1).setLeaderRecoveryState((byte) 1), 2);
        add(change(500, 1).setReplicas(List.of(2, 3, 4)).setAddingReplicas(List.of(4)).setRemovingReplicas(List.of(1))
            .setDirectories(List.of(id(2000), id(3000), Uuid.ONE_UUID)), 2);
        add(change(500, 2).setEligibleLeaderReplicas(List.of(3)).setLastKnownElr(List.of(2)).setLeader(1), 2);
        add(change(501, 0).setDirectories(List.of(id(1001), id(2000), id(3000))), 2);
        add(new ClearElrRecord().setTopicName("topic.1"), 0);
        add(new PartitionRecord().setTopicId(id(501)).setPartitionId(3).setReplicas(List.of(1)).setIsr(List.of(1))
            .setLeader(1).setLeaderEpoch(0).setPartitionEpoch(0).setDirectories(List.of()), 2);
        add(new RemoveTopicRecord().setTopicId(id(502)), 0);
        add(new TopicRecord().setName("topic.2").setTopicId(id(600)), 0);
    }

    private static PartitionChangeRecord change(long topic, int index) {
        return new PartitionChangeRecord().setTopicId(id(topic)).setPartitionId(index);
    }

    private void config(int type, String resource, String name, String value) {
        add(new ConfigRecord().setResourceType((byte) type).setResourceName(resource).setName(name).setValue(value), 0);
    }

    private void configs() {
        config(2, "topic.0", "retention.ms", "1000");
        config(2, "topic.0", "cleanup.policy", "compact");
        config(2, "topic.0", "cleanup.policy", null);
        config(2, "topic.1", "retention.ms", "1000");
        config(2, "topic.1", "retention.ms", null);
        config(4, "", "log.retention.ms", "5");
        config(4, "1", "log.retention.ms", "6");
        config(16, "metrics", "interval.ms", "1000");
        config(32, "group", "consumer.session.timeout.ms", "45000");
        add(new ProducerIdsRecord().setBrokerId(1).setBrokerEpoch(101).setNextProducerId(1000), 0);
        add(new ProducerIdsRecord().setBrokerId(2).setBrokerEpoch(102).setNextProducerId(2000), 0);
    }

    private void quota(String key, double value, boolean remove, String... entity) {
        ClientQuotaRecord quota = new ClientQuotaRecord().setKey(key).setValue(value).setRemove(remove);
        for (int i = 0; i < entity.length; i += 2) {
            quota.entity().add(new ClientQuotaRecord.EntityData().setEntityType(entity[i]).setEntityName(entity[i + 1]));
        }
        add(quota, 0);
    }

    private void security() {
        quota("producer_byte_rate", 1024.5, false, "user", "alice");
        quota("consumer_byte_rate", 2048, false, "client-id", "c", "user", "alice");
        quota("consumer_byte_rate", 4096, false, "user", null);
        quota("request_percentage", 50, false, "user", "bob");
        quota("request_percentage", 0, true, "user", "bob");
        for (String user : List.of("alice", "bob")) {
            add(new UserScramCredentialRecord().setName(user).setMechanism((byte) 1).setSalt(new byte[] {1, 2})
                .setStoredKey(new byte[] {3}).setServerKey(new byte[] {4, 5, 6}).setIterations(8192), 0);
        }
        add(new RemoveUserScramCredentialRecord().setName("bob").setMechanism((byte) 1), 0);
        for (int n = 0; n < 2; n++) {
            add(new AccessControlEntryRecord().setId(id(700 + n)).setResourceType((byte) 2).setResourceName("topic." + n)
                .setPatternType((byte) 3).setPrincipal("User:alice").setHost("*").setOperation((byte) 3)
                .setPermissionType((byte) 3), 0);
        }
        add(new RemoveAccessControlEntryRecord().setId(id(701)), 0);
        for (String token : List.of("one", "two")) {
            add(new DelegationTokenRecord().setOwner("User:alice").setRequester("User:bob")
                .setRenewers(List.of("User:carol")).setIssueTimestamp(1).setMaxTimestamp(3).setExpirationTimestamp(2)
                .setTokenId(token), 0);
        }
        add(new RemoveDelegationTokenRecord().setTokenId("two"), 0);
    }

    private void transactions() {
        add(new BeginTransactionRecord().setName("kept"), 0);
        add(new TopicRecord().setName("kept").setTopicId(id(800)), 0);
        add(new EndTransactionRecord(), 0);
        add(new BeginTransactionRecord(), 0);
        add(new TopicRecord().setName("forgotten").setTopicId(id(801)), 0);
        add(new AbortTransactionRecord().setReason("a test"), 0);
    }
}
