"""The attacks that have to do with transactions."""

import struct
import time

from differential import schemas
from harness import wire

TOPIC = "good"
MANY = 100_000


def asked(api, version, **request):
    schema = schemas.message(f"{api}Request")
    return wire.header(schemas.key_of(api), version, flexible=schema.is_flexible(version)) + schema.encode(request, version)


class OfTransactions:
    def transactional_ids_without_end(self):
        """Each of them new, and as long as a name may be."""
        self.coordinators_of_transactions()
        self.ask_over_and_over(
            [asked("InitProducerId", 5, TransactionalId=f"{n}-".ljust(200 if n % 10 else 30_000, "x"), TransactionTimeoutMs=60_000, ProducerId=-1,
                   ProducerEpoch=-1) for n in range(5_000)],
            connections=30,
        )  # fmt: skip

    def transactions_over_many_partitions(self):
        """Two thousand in each, aborted at once, so that each of them gets a marker."""
        self.coordinators_of_transactions()
        self.many_topics(count=50, partitions=40)
        ids = []
        with wire.Connection(self.port, timeout=120) as connection:
            for n in range(3):
                answer = connection.ask(asked("InitProducerId", 4, TransactionalId=f"wide-{n}", TransactionTimeoutMs=60_000, ProducerId=-1, ProducerEpoch=-1))
                # Behind the header: the throttle time, the error code, the producer's id.
                ids.append(struct.unpack(">q", answer[4 + 1 + 4 + 2 :][:8])[0])
        topics = [{"Name": f"many-{n}", "Partitions": list(range(40))} for n in range(50)]
        payloads = []
        for n, producer in enumerate(ids):
            payloads.append(asked("AddPartitionsToTxn", 3, V3AndBelowTransactionalId=f"wide-{n}", V3AndBelowProducerId=producer, V3AndBelowProducerEpoch=0,
                                  V3AndBelowTopics=topics))  # fmt: skip
            payloads.append(asked("EndTxn", 3, TransactionalId=f"wide-{n}", ProducerId=producer, ProducerEpoch=0, Committed=False))
        self.ask_over_and_over(payloads)

    def markers_for_one_partition_many_times(self):
        marker = {"ProducerId": 9_000_000, "ProducerEpoch": 1, "TransactionResult": False, "CoordinatorEpoch": 0, "TransactionVersion": 0,
                  "Topics": [{"Name": TOPIC, "PartitionIndexes": [2] * MANY}]}  # fmt: skip
        self.ask_over_and_over([asked("WriteTxnMarkers", 1, Markers=[marker]), asked("WriteTxnMarkers", 1, Markers=[dict(marker, Topics=[])] * MANY)])

    def questions_about_transactions_many_times(self):
        self.coordinators_of_transactions()
        ids = ["asked"] * MANY
        verified = {"TransactionalId": "asked", "ProducerId": 1, "ProducerEpoch": 0, "VerifyOnly": True, "Topics": [{"Name": TOPIC, "Partitions": [0] * 50}]}
        self.ask_over_and_over([
            asked("DescribeTransactions", 0, TransactionalIds=ids),
            asked("ListTransactions", 2, StateFilters=ids, ProducerIdFilters=list(range(MANY)), DurationFilter=0, TransactionalIdPattern="(a|b|.)*" * 50),
            asked("FindCoordinator", 4, KeyType=1, CoordinatorKeys=ids),
            asked("AddPartitionsToTxn", 5, Transactions=[verified] * 5_000),
            asked("TxnOffsetCommit", 3, TransactionalId="asked", GroupId="asked", ProducerId=1, ProducerEpoch=0, GenerationIdOrMemberEpoch=-1,
                  Topics=[{"Name": TOPIC, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1, "CommittedLeaderEpoch": 0, "CommittedMetadata": ""}] * MANY}]),
        ])  # fmt: skip

    def coordinators_of_transactions(self):
        """Their topic is there."""
        with wire.Connection(self.port, timeout=120) as connection:
            while struct.unpack(">h", connection.ask(asked("FindCoordinator", 3, Key="any", KeyType=1))[4 + 1 + 4 :][:2])[0]:
                time.sleep(0.1)
