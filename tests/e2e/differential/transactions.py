"""Right requests of the APIs of transactions, and what is made for them before."""

from differential.schemas import Id

PROPERTIES = {
    "transaction.state.log.num.partitions": "5", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
}  # fmt: skip

# Transactional ids that are asked about: one whose transaction is open, one that has begun none.
OPEN, IDLE = "open", "idle"


def _begin(name):
    return {"TransactionalId": name, "TransactionTimeoutMs": 600_000, "ProducerId": -1, "ProducerEpoch": -1}


def _added(name, topic, verify=False, epoch=0):
    topics = [{"Name": topic, "Partitions": [0]}]
    return {
        "Transactions": [{
            "TransactionalId": name, "ProducerId": Id(f"producer {name}"), "ProducerEpoch": epoch, "VerifyOnly": verify, "Topics": topics,
        }],
        "V3AndBelowTransactionalId": name, "V3AndBelowProducerId": Id(f"producer {name}"), "V3AndBelowProducerEpoch": epoch,
        "V3AndBelowTopics": topics,
    }  # fmt: skip


def made():
    """Questions that make what is asked about: each with whether its answer is the one that is waited for, and the ids that it tells."""
    nothing = lambda answer: {}
    find = {"KeyType": 1, "CoordinatorKeys": [OPEN, IDLE]}
    yield ("FindCoordinator", 6, "before", find), lambda found: all(each["ErrorCode"] == 0 for each in found["Coordinators"]), nothing
    for name in (OPEN, IDLE):
        is_given = lambda given: given["ErrorCode"] == 0
        yield ("InitProducerId", 4, "before", _begin(name)), is_given, lambda given, name=name: {f"producer {name}": given["ProducerId"]}
    added = lambda answer: answer["ResultsByTopicV3AndBelow"][0]["ResultsByPartition"][0]["PartitionErrorCode"] == 0
    yield ("AddPartitionsToTxn", 3, "before", _added(OPEN, "read")), added, nothing


RIGHT = {
    "AddPartitionsToTxn": {"": _added(OPEN, "read"), "verified": _added(OPEN, "read", verify=True), "of another": _added(OPEN, "altered", verify=True)},
    "AddOffsetsToTxn": {"": {"TransactionalId": OPEN, "ProducerId": Id("producer open"), "ProducerEpoch": 0, "GroupId": "settled"}},
    "EndTxn": {"": {"TransactionalId": IDLE, "ProducerId": Id("producer idle"), "ProducerEpoch": 0, "Committed": True}},
    "WriteTxnMarkers": {
        "": {"Markers": [{
            "ProducerId": 5_000, "ProducerEpoch": 3, "TransactionResult": False, "CoordinatorEpoch": 0, "TransactionVersion": 0,
            "Topics": [{"Name": "shortened", "PartitionIndexes": [0]}],
        }]},
    },
    "TxnOffsetCommit": {
        "": {
            "TransactionalId": OPEN, "GroupId": "in-transaction", "ProducerId": Id("producer open"), "ProducerEpoch": 0,
            "GenerationIdOrMemberEpoch": -1, "MemberId": "", "GroupInstanceId": None,
            "Topics": [{
                "Name": "read", "TopicId": Id("read"),
                "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 7, "CommittedLeaderEpoch": -1, "CommittedMetadata": "m"}],
            }],
        },
    },
    "DescribeTransactions": {"": {"TransactionalIds": [OPEN]}, "idle": {"TransactionalIds": [IDLE]}},
    "ListTransactions": {
        "": {"StateFilters": ["Ongoing"], "ProducerIdFilters": [], "DurationFilter": -1, "TransactionalIdPattern": "op.n"},
        "of a producer": {"StateFilters": [], "ProducerIdFilters": [Id("producer open")], "DurationFilter": 0, "TransactionalIdPattern": None},
    },
}  # fmt: skip
