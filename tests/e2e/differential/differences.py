"""Where the broker answers otherwise than Apache Kafka, and why. Each must be met by some question, or it is out of date."""

import re
from dataclasses import dataclass

SENTENCE = "a sentence says what is wrong, where Apache Kafka only gives the code"
TOO_LONG = "a text of 32 KB is refused for what it is; Apache Kafka cannot write an answer that quotes it, and says UNKNOWN_SERVER_ERROR"
IN_PLACE = "names are read in place there, and a frame whose names are not UTF-8 is malformed"
BEFORE_TIME = "a decision is durable before it is answered, which takes longer than some milliseconds"
SOUND = "a batch that is not sound is INVALID_RECORD, which no producer sends again; UNKNOWN_SERVER_ERROR and CORRUPT_MESSAGE say less"
LEVELS = "APIs and features of what this broker has not got are not advertised"
OVER_AND_OVER = "a short request cannot ask for the same long list over and over"
NEGATIVE_ID = "an id that no session can have is no session's; Apache Kafka looks for it in a shard of its cache that does not exist"


@dataclass(frozen=True)
class Known:
    """Differences at a place of some questions' answers."""

    api: str
    # Patterns of the question as it is shown, and of the place in the answer ("" is the whole).
    question: str
    place: str
    reason: str
    # It depends on how fast either broker is, or on which tests run.
    at_times: bool = False

    def explains(self, question, place):
        return question.api == self.api and re.search(self.question, str(question)) and re.fullmatch(self.place, place)


PARTS = r"Responses\[\]\.PartitionResponses\[\]\."

KNOWN = [
    Known("Produce", "Name no UTF-8", "", IN_PLACE),
    Known("Produce", "Records null", "", "a partition without records is refused; Apache Kafka's answer never comes"),
    Known("Produce", "Records (a byte|eleven bytes|half a batch) behind", ".*", "what is behind the batch is refused, and not dropped in silence"),
    Known("Produce", "Records (length|sixty bytes|sixteen bytes|gzip|snappy|lz4|zstd|a varint)", PARTS + "ErrorCode", SOUND),
    Known("Produce", "Records codec", PARTS + "ErrorCode", "a codec that there is not is UNSUPPORTED_COMPRESSION_TYPE"),
    Known("Produce", "Records timestamps of the log", ".*", "a producer cannot know the time at which the log appends: INVALID_TIMESTAMP"),
    Known("Produce", "Records", PARTS + "LogStartOffset", "the log start offset is told with every refusal"),
    Known("Produce", "Records", PARTS + "ErrorMessage", SENTENCE),
    Known("Fetch", r"SessionId (2\^31-1|-2\^31)", ".*", NEGATIVE_ID),
    Known("Fetch", "no UTF-8", "", IN_PLACE),
    Known("Fetch", "a session's first: Topics.*empty", "SessionId", "a session without partitions is none"),
    Known("Fetch", "of a broker", r"Responses\[\]\.Partitions\[\]\.CurrentLeader\..*", "no other broker is in the cluster: who fetches as one is not told of a leader"),
    Known("ListOffsets", "TimeoutMs (1|5)$", ".*", "what is read from a disk may take longer than some milliseconds", at_times=True),
    Known("Metadata", "Name null|TopicId zero", ".*", "a topic that is named by nothing is left out of the answer"),
    Known("ApiVersions", "", "ApiKeys|FinalizedFeatures|SupportedFeatures", LEVELS),
    Known("CreateTopics", "32 KB", ".*", TOO_LONG),
    Known("CreateTopics", "timeoutMs (1|5)$", ".*", BEFORE_TIME, at_times=True),
    Known("DeleteTopics", "TimeoutMs (1|5)$", ".*", BEFORE_TIME, at_times=True),
    Known("DeleteTopics", "32 KB", ".*", TOO_LONG, at_times=True),
    Known("DescribeConfigs", "Resources twice", ".*", OVER_AND_OVER),
    Known("DescribeConfigs", "32 KB", ".*", TOO_LONG),
    Known("DescribeConfigs", "ResourceName missing|ResourceType 2$", r"Results\[\]\.ErrorMessage", SENTENCE),
    Known("DescribeConfigs", "of a (broker|listener and a plug-in): .*ConfigurationKeys (empty|null)", r"Results\[\]\.Configs", "a broker has settings of its own"),
    Known("DescribeConfigs", "of loggers", r"Results\[\]\.Configs", "there are no loggers with levels of their own"),
    Known("AlterClientQuotas", "32 KB", ".*", TOO_LONG),
    Known("DescribeClientQuotas", "32 KB", "", "a text of 32 KB is refused for what it is; Apache Kafka cannot write an answer that quotes it, and gives none"),
    Known("AlterConfigs", "Resources twice", "", "a resource that is there twice is refused; Apache Kafka's answer never comes"),
    Known("AlterConfigs", "32 KB", ".*", TOO_LONG),
    Known("IncrementalAlterConfigs", "32 KB", ".*", TOO_LONG),
    Known("IncrementalAlterConfigs", "ConfigOperation", ".*", "an operation that there is not is an invalid request"),
    Known("IncrementalAlterConfigs", "of no number", ".*", "what is not a number is no ratio"),
    Known("DescribeLogDirs", "Topics null", ".*PartitionSize", "batches that one of them refused"),
    Known("CreatePartitions", "", r"Results\[\]\.ErrorMessage", SENTENCE),
    Known("CreatePartitions", "TimeoutMs (1|5)$", ".*", BEFORE_TIME, at_times=True),
    Known("CreatePartitions", r"Count 2\^31-1", r"Results\[\]\.ErrorCode", "that the assignments are too few is found before that the partitions are too many"),
    Known("CreatePartitions", "32 KB", ".*", TOO_LONG, at_times=True),
    Known("ElectLeaders", "32 KB", ".*", TOO_LONG),
    Known("ElectLeaders", "TimeoutMs (1|5)$", ".*", BEFORE_TIME, at_times=True),
    Known("AlterPartitionReassignments", "32 KB", ".*", TOO_LONG),
    Known("AlterPartitionReassignments", "TimeoutMs (1|5)$", ".*", BEFORE_TIME, at_times=True),
    Known("AlterPartitionReassignments", "", r"Responses\[\]\.Partitions\[\]\.ErrorMessage", SENTENCE),
    Known("AlterReplicaLogDirs", "Partitions empty", "Results", "a topic of which no partition is named is named in the answer"),
    Known("UpdateFeatures", "timeoutMs", ".*", "a request without time is refused before it is looked at"),
    Known("UpdateFeatures", "32 KB", ".*", TOO_LONG),
    Known("UpdateFeatures", "eligible leaders", r"Results\[\]\.ErrorMessage", "a success has no sentence; Apache Kafka says NONE there"),
    Known("OffsetFetch", "all: Groups twice", ".*", OVER_AND_OVER),
    Known("ConsumerGroupHeartbeat", "", "HeartbeatIntervalMs", "while a group changes its members are told to send heartbeats more often"),
    Known("DescribeGroups", "Groups twice", ".*", OVER_AND_OVER),
    Known("ConsumerGroupDescribe", "GroupIds twice", ".*", OVER_AND_OVER),
    Known("DescribeProducers", "twice", ".*", "a partition is answered once, however often it is named: its producers may be many"),
    Known("DescribeProducers", "32 KB", ".*", TOO_LONG),
    Known("FindCoordinator", "KeyType 2", r"Coordinators\[\]\.ErrorMessage", SENTENCE),
    Known("AddPartitionsToTxn", "Transactions empty", "", "a request about no transaction is answered; Apache Kafka's answer never comes"),
    Known("WriteTxnMarkers", r"ProducerId -", ".*", "no producer has a negative id: INVALID_PRODUCER_ID_MAPPING, and nothing is written"),
    Known("WriteTxnMarkers", r"ProducerEpoch -1", ".*", "no producer has a negative epoch: INVALID_PRODUCER_EPOCH"),
    Known("WriteTxnMarkers", "Markers twice", "Markers", "each marker is answered; Apache Kafka answers for each producer once"),
    Known("WriteTxnMarkers", "(Topics|PartitionIndexes) twice", "", "a partition that is named twice is answered twice; Apache Kafka's answer never comes"),
    Known("DescribeTransactions", "TransactionalIds twice", ".*", OVER_AND_OVER),
    Known("OffsetFetch", "MemberId null", r"Groups\[\]\.ErrorCode", "a member without an id is unknown; Apache Kafka's error is UNKNOWN_SERVER_ERROR"),
    Known("JoinGroup", "32 KB", ".*", TOO_LONG),
    Known("JoinGroup", "Protocols twice", ".*", "a protocol that is named twice counts once; Apache Kafka's answer never comes"),
    Known("JoinGroup", "Protocols.0.Name empty", "ProtocolName", "the protocol of the group has no letters, but it has one"),
    # Not where a commit has made a group of that name.
    Known("DescribeGroups", "32 KB", ".*", TOO_LONG, at_times=True),
    Known("ConsumerGroupDescribe", "32 KB", ".*", TOO_LONG),
    Known("ConsumerGroupHeartbeat", "32 KB", ".*", TOO_LONG),
    Known("DescribeTopicPartitions", "Topics.0.Name empty", ".*", "a name that cannot be one is INVALID_TOPIC_EXCEPTION"),
    Known("DescribeTopicPartitions", r"Cursor.PartitionIndex 2\^31-1", "NextCursor", "behind the last partition there is no next one; Apache Kafka's number overflows"),
]
