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


def _join(group, **more):
    return {
        "GroupId": group, "SessionTimeoutMs": HALF_AN_HOUR, "RebalanceTimeoutMs": 60_000, "MemberId": "", "ProtocolType": "consumer",
        "GroupInstanceId": "i", "Protocols": [{"Name": "range", "Metadata": SUBSCRIPTION}], "Reason": "a test", **more,
    }  # fmt: skip


def _commit(group, **more):
    partitions = [{"PartitionIndex": 0, "CommittedOffset": 5, "CommittedLeaderEpoch": 0, "CommittedMetadata": "noted"}]
    return {
        "GroupId": group, "GenerationIdOrMemberEpoch": -1, "MemberId": "", "GroupInstanceId": None, "RetentionTimeMs": -1,
        "Topics": [{"Name": "read", "TopicId": Id("read"), "Partitions": partitions}], **more,
    }  # fmt: skip


def _heartbeat(group, **more):
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
        "": _commit("kept"),
        "of a member": _commit("classic", GenerationIdOrMemberEpoch=1, MemberId=Id("member"), GroupInstanceId="i"),
        "of a stranger": _commit("classic"),
        "of a consumer": _commit("consumer", GenerationIdOrMemberEpoch=Id("epoch"), MemberId="m"),
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
        "": _join("joins-{n}"),
        "without a name": _join("joins-{n}", GroupInstanceId=None),
        "again": _join("classic", MemberId=Id("member")),
        "another": _join("classic", GroupInstanceId="j", Protocols=[{"Name": "other", "Metadata": b""}]),
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
        "": _heartbeat("heard-{n}"),
        "with a pattern": _heartbeat("heard-{n}", SubscribedTopicNames=None, SubscribedTopicRegex="re.*"),
        "with a name of its own": _heartbeat("heard-{n}", InstanceId="i", ServerAssignor="range"),
        "again": _heartbeat("consumer", MemberEpoch=Id("epoch"), RebalanceTimeoutMs=-1, SubscribedTopicNames=None, TopicPartitions=None),
        "a stranger's": _heartbeat("consumer", MemberId="x", MemberEpoch=1, RebalanceTimeoutMs=-1, SubscribedTopicNames=None, TopicPartitions=None),
    },
    "ConsumerGroupDescribe": {"": {"GroupIds": ["consumer", "classic", "missing"], "IncludeAuthorizedOperations": True}},
}  # fmt: skip

# What is asked before each question of an API: (API, version, request).
BEFORE = {
    "OffsetDelete": ("OffsetCommit", 9, _commit("ends-{n}")),
    "DeleteGroups": ("OffsetCommit", 9, _commit("ends-{n}")),
    "LeaveGroup": ("JoinGroup", 9, _join("leaves-{n}")),
}


def made():
    """What makes the groups: (question, whether an answer is the one that is waited for, what is learned of it)."""
    right = {"ErrorCode": 0}

    def is_right(answer):
        return {**answer, **right} == answer

    def nothing(_):
        return {}

    yield (
        ("FindCoordinator", 4, "before", RIGHT["FindCoordinator"][""]),
        lambda answer: all(is_right(each) for each in answer["Coordinators"]),
        nothing,
    )
    yield (
        ("OffsetCommit", 9, "before", _commit("kept")),
        lambda answer: is_right(answer["Topics"][0]["Partitions"][0]),
        nothing,
    )
    yield ("JoinGroup", 9, "before", _join("classic")), is_right, lambda answer: {"member": answer["MemberId"]}
    yield ("SyncGroup", 5, "before", RIGHT["SyncGroup"][""]), is_right, nothing
    yield (
        ("ConsumerGroupHeartbeat", 1, "before", _heartbeat("consumer")),
        is_right,
        lambda answer: {"epoch": answer["MemberEpoch"]},
    )
