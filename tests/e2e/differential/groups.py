"""The groups that questions are about, and right requests of their APIs."""

from differential.schemas import Id

PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    # Of the members that stay, which no heartbeat is sent for.
    "group.consumer.max.session.timeout.ms": "1800000",
    "group.consumer.session.timeout.ms": "1800000",
}
HALF_AN_HOUR = 1_800_000
# What a consumer says that it subscribes to (ConsumerProtocolSubscription): version 0, one topic, no user data.
SUBSCRIPTION = b"\x00\x00\x00\x00\x00\x01\x00\x04read\xff\xff\xff\xff"
# What a leader assigns (ConsumerProtocolAssignment): both partitions.
ASSIGNMENT = b"\x00\x00\x00\x00\x00\x01\x00\x04read\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff"


def join(group, **more):
    return {
        "GroupId": group, "SessionTimeoutMs": HALF_AN_HOUR, "RebalanceTimeoutMs": 60_000, "MemberId": "", "ProtocolType": "consumer",
        "GroupInstanceId": "i", "Protocols": [{"Name": "range", "Metadata": SUBSCRIPTION}], "Reason": "a test", **more,
    }  # fmt: skip


def commit(group, **more):
    partitions = [{"PartitionIndex": 0, "CommittedOffset": 5, "CommittedLeaderEpoch": 0, "CommittedMetadata": "noted"}]
    return {
        "GroupId": group, "GenerationIdOrMemberEpoch": -1, "MemberId": "", "GroupInstanceId": None, "RetentionTimeMs": -1,
        "Topics": [{"Name": "read", "TopicId": Id("read"), "Partitions": partitions}], **more,
    }  # fmt: skip


def heartbeat(group, **more):
    return {
        "GroupId": group, "MemberId": "m", "MemberEpoch": 0, "InstanceId": None, "RackId": None, "RebalanceTimeoutMs": 60_000,
        "SubscribedTopicNames": ["read"], "SubscribedTopicRegex": None, "ServerAssignor": None, "TopicPartitions": [], **more,
    }  # fmt: skip


def _offsets_of(group, **more):
    topics = [{"Name": "read", "TopicId": Id("read"), "PartitionIndexes": [0, 1]}]
    groups = [{"GroupId": group, "MemberId": None, "MemberEpoch": -1, "Topics": topics, **more}]
    return {"GroupId": group, "Topics": topics, "Groups": groups, "RequireStable": True}


RIGHT = {
    "FindCoordinator": {
        "": {"Key": "kept", "KeyType": 0, "CoordinatorKeys": ["kept", "other"]},
    },
    "OffsetCommit": {
        "": commit("kept"),
        "of a member": commit("classic", GenerationIdOrMemberEpoch=1, MemberId=Id("member"), GroupInstanceId="i"),
        "of a stranger": commit("classic"),
        "of a consumer": commit("consumer", GenerationIdOrMemberEpoch=Id("epoch"), MemberId="m"),
    },
    "OffsetFetch": {
        "": _offsets_of("kept"),
        "all": {**_offsets_of("kept", Topics=None), "Topics": None},
        "of a consumer": _offsets_of("consumer", MemberId="m", MemberEpoch=Id("epoch")),
    },
    "OffsetDelete": {
        "": {"GroupId": "ends-{n}", "Topics": [{"Name": "read", "Partitions": [{"PartitionIndex": 0}]}]},
        "of members": {"GroupId": "classic", "Topics": [{"Name": "read", "Partitions": [{"PartitionIndex": 0}]}]},
        "of consumers": {"GroupId": "consumer", "Topics": [{"Name": "read", "Partitions": [{"PartitionIndex": 0}]}]},
    },
    "JoinGroup": {
        "": join("joins-{n}"),
        "without a name": join("joins-{n}", GroupInstanceId=None),
        "again": join("classic", MemberId=Id("member")),
        "another": join("classic", GroupInstanceId="j", Protocols=[{"Name": "other", "Metadata": b""}]),
    },
    "SyncGroup": {
        "": {
            "GroupId": "classic", "GenerationId": 1, "MemberId": Id("member"), "GroupInstanceId": "i", "ProtocolType": "consumer",
            "ProtocolName": "range", "Assignments": [{"MemberId": Id("member"), "Assignment": ASSIGNMENT}],
        },
    },
    "Heartbeat": {"": {"GroupId": "classic", "GenerationId": 1, "MemberId": Id("member"), "GroupInstanceId": "i"}},
    "LeaveGroup": {
        "": {"GroupId": "leaves-{n}", "MemberId": "m", "Members": [{"MemberId": "", "GroupInstanceId": "i", "Reason": "a test"}]},
        "of a consumer": {"GroupId": "consumer", "MemberId": "other", "Members": [{"MemberId": "other"}]},
    },
    "DescribeGroups": {"": {"Groups": ["classic", "consumer", "kept", "missing"], "IncludeAuthorizedOperations": True}},
    "ListGroups": {
        "": {"StatesFilter": [], "TypesFilter": []},
        "some": {"StatesFilter": ["Stable"], "TypesFilter": ["classic"]},
        "in other letters": {"StatesFilter": ["sTABLE"], "TypesFilter": ["Consumer"]},
    },
    "DeleteGroups": {"": {"GroupsNames": ["ends-{n}", "classic", "consumer", "missing"]}},
    "ConsumerGroupHeartbeat": {
        "": heartbeat("heard-{n}"),
        "with a pattern": heartbeat("heard-{n}", SubscribedTopicNames=None, SubscribedTopicRegex="re.*"),
        "with a name of its own": heartbeat("heard-{n}", InstanceId="i", ServerAssignor="range"),
        "again": heartbeat("consumer", MemberEpoch=Id("epoch"), RebalanceTimeoutMs=-1, SubscribedTopicNames=None, TopicPartitions=None),
        "a stranger's": heartbeat("consumer", MemberId="x", MemberEpoch=1, RebalanceTimeoutMs=-1, SubscribedTopicNames=None, TopicPartitions=None),
    },
    "ConsumerGroupDescribe": {"": {"GroupIds": ["consumer", "classic", "missing"], "IncludeAuthorizedOperations": True}},
}  # fmt: skip

# What a group may and may not set for itself: (key, value, operation).
SETTINGS = [
    *((f"consumer.{key}", value, 0) for key in ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
      for value in ("5000", "50000", "0", "-1", "x", "", None)),
    ("consumer.session.timeout.ms", "50000", 2),
    ("consumer.session.timeout.ms", None, 1),
    ("share.auto.offset.reset", "by_duration:PT1H", 0),
    ("share.auto.offset.reset", "by_duration:x", 0),
    ("share.isolation.level", "none", 0),
    ("share.delivery.count.limit", "11", 0),
    ("share.renew.acknowledge.enable", "maybe", 0),
    ("streams.num.standby.replicas", "2", 0),
    ("streams.num.standby.replicas", "3", 0),
    ("streams.rack.aware.assignment.tags", "c", 2),
    ("streams.assignor.name", "other", 0),
    ("errors.deadletterqueue.topic.name", "no topic!", 0),
    ("unknown", "1", 0),
]  # fmt: skip

# What is asked before each question of an API: (API, version, request).
BEFORE = {
    "OffsetDelete": ("OffsetCommit", 9, commit("ends-{n}")),
    "DeleteGroups": ("OffsetCommit", 9, commit("ends-{n}")),
    "LeaveGroup": ("JoinGroup", 9, join("leaves-{n}")),
}


def is_right(answer):
    return answer["ErrorCode"] == 0


def is_committed(answer):
    return is_right(answer["Topics"][0]["Partitions"][0])


def topic_made():
    """What makes the topic of offsets: (question, whether an answer is the one that is waited for, what is learned of it)."""
    yield (
        ("FindCoordinator", 4, "before", RIGHT["FindCoordinator"][""]),
        lambda answer: all(is_right(each) for each in answer["Coordinators"]),
        _nothing,
    )
    # Of a group, for a topic that need not be there.
    yield ("OffsetCommit", 9, "before", commit("kept")), is_committed, _nothing


def _nothing(_):
    return {}


def made():
    """What makes the groups, too."""
    yield from topic_made()
    yield ("JoinGroup", 9, "before", join("classic")), is_right, lambda answer: {"member": answer["MemberId"]}
    yield ("SyncGroup", 5, "before", RIGHT["SyncGroup"][""]), is_right, _nothing
    yield (
        ("ConsumerGroupHeartbeat", 1, "before", heartbeat("consumer")),
        is_right,
        lambda answer: {"epoch": answer["MemberEpoch"]},
    )
