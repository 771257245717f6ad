"""kafka-python as a member of a group; it is in the end-to-end suite for this alone."""

import time

import member
import suite
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaConnectionError, KafkaError
from kafka.structs import OffsetAndMetadata

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class Listener(ConsumerRebalanceListener):
    def __init__(self, consumer, me):
        self._consumer = consumer
        self._me = me

    def on_partitions_assigned(self, assigned):
        self._me.assigned(map(tuple, assigned))

    def on_partitions_revoked(self, revoked):
        commit(self._consumer, self._me)
        self._me.revoked(map(tuple, revoked))

    def on_partitions_lost(self, lost):
        self._me.lost(map(tuple, lost))


def group(options):
    me = member.Member(options)
    consumer = KafkaConsumer(
        bootstrap_servers=options["--bootstrap"],
        group_id=options["--group"],
        group_instance_id=options.get("--instance"),
        enable_auto_commit=me.commits == "auto",
        auto_commit_interval_ms=500,
        auto_offset_reset=me.reset,
        session_timeout_ms=me.session_ms,
        heartbeat_interval_ms=member.HEARTBEAT_MS,
        fetch_max_wait_ms=100,
        metadata_max_age_ms=1000,
        reconnect_backoff_max_ms=500,
        partition_assignment_strategy=[ASSIGNORS[options.get("--assignor", "range")]],
        **dict(options["--config"]),
    )
    consumer.subscribe(me.topics, listener=Listener(consumer, me))
    try:
        while me.goes_on():
            for records in polled(consumer).values():
                for each in records:
                    me.record(each.topic, each.partition, each.offset, each.timestamp, each.key, each.value, each.headers)
            commit(consumer, me)
    finally:
        consumer.close()


def polled(consumer):
    """What was read within a second. A generation that begins just as a poll's time is up is never taken up by kafka-python 3.0.12, which
    fetches on and sends no heartbeats: short polls meet that now and then. And without a broker, poll raises now and then what it passes
    over at other times."""
    try:
        return consumer.poll(1000)
    except KafkaConnectionError as failed:
        member.error(type(failed).__name__, failed)
        time.sleep(0.1)
        return {}


def commit(consumer, me):
    offsets = me.uncommitted()
    if not offsets:
        return
    try:
        consumer.commit({TopicPartition(*partition): OffsetAndMetadata(offset, "", -1) for partition, offset in offsets.items()})
    except KafkaError as failed:
        member.error(type(failed).__name__, failed)
        return
    me.committed(offsets)


if __name__ == "__main__":
    suite.main({"group": group})
