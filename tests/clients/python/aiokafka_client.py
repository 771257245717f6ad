"""aiokafka as a member of a group; it is in the end-to-end suite for this alone."""

import asyncio

import member
import suite
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaError

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


class Listener(ConsumerRebalanceListener):
    def __init__(self, consumer, me):
        self._consumer = consumer
        self._me = me

    async def on_partitions_assigned(self, assigned):
        self._me.assigned(map(tuple, assigned))

    async def on_partitions_revoked(self, revoked):
        await commit(self._consumer, self._me)
        self._me.revoked(map(tuple, revoked))


def group(options):
    asyncio.run(take_part(options, member.Member(options)))


async def take_part(options, me):
    consumer = AIOKafkaConsumer(
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
        partition_assignment_strategy=[ASSIGNORS[options.get("--assignor", "range")]],
        **dict(options["--config"]),
    )
    consumer.subscribe(me.topics, listener=Listener(consumer, me))
    await consumer.start()
    try:
        while me.goes_on():
            for records in (await consumer.getmany(timeout_ms=100)).values():
                for each in records:
                    me.record(each.topic, each.partition, each.offset, each.timestamp, each.key, each.value, each.headers)
            await commit(consumer, me)
    finally:
        await consumer.stop()


async def commit(consumer, me):
    offsets = me.uncommitted()
    if not offsets:
        return
    try:
        await consumer.commit({TopicPartition(*partition): offset for partition, offset in offsets.items()})
    except KafkaError as failed:
        member.error(type(failed).__name__, failed)
        return
    me.committed(offsets)


if __name__ == "__main__":
    suite.main({"group": group})
