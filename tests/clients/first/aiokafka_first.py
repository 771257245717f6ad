"""The first minute with aiokafka."""

import asyncio
import contextlib

import steps
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType


def step(asked):
    return lambda bootstrap: asyncio.run(asyncio.wait_for(asked(bootstrap), 60))


async def with_admin(bootstrap, asked):
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        return await asked(admin)
    finally:
        await admin.close()


async def topics(bootstrap):
    found = await with_admin(bootstrap, lambda admin: admin.list_topics())
    return sorted(name for name in found if not name.startswith("__"))


async def cluster(bootstrap):
    return len((await with_admin(bootstrap, lambda admin: admin.describe_cluster()))["brokers"])


async def create(bootstrap):
    await with_admin(bootstrap, lambda admin: admin.create_topics([NewTopic(steps.TOPIC, 3, 1)]))
    return await topics(bootstrap)


async def describe(bootstrap):
    (described,) = await with_admin(bootstrap, lambda admin: admin.describe_topics([steps.TOPIC]))
    return len(described["partitions"])


async def configs(bootstrap):
    resource = ConfigResource(ConfigResourceType.TOPIC, steps.TOPIC)
    found = await with_admin(bootstrap, lambda admin: admin.describe_configs([resource]))
    return "delete" if "cleanup.policy" in str(found) else str(found)


async def send(producer):
    return len([await producer.send_and_wait(steps.TOPIC, str(n).encode(), partition=0) for n in range(steps.RECORDS)])


@contextlib.asynccontextmanager
async def reader(bootstrap):
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False) as consumer:
        consumer.assign([TopicPartition(steps.TOPIC, 0)])
        await consumer.seek_to_beginning()
        yield consumer


async def read(consumer, count):
    return [(await consumer.getone()).offset for _ in range(count)]


async def produce(bootstrap):
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        return await send(producer)


async def consume(bootstrap):
    async with reader(bootstrap) as consumer:
        return len(await read(consumer, steps.RECORDS))


async def restart(bootstrap):
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer, reader(bootstrap) as consumer:
        await send(producer)
        before = await read(consumer, 2 * steps.RECORDS)
        # The clients go on in the meantime, and see the broker go.
        await asyncio.to_thread(steps.restart)
        await send(producer)
        after = await read(consumer, steps.RECORDS)
        return [len(before), len(after), after[-1]]


async def missing(bootstrap):
    (described,) = await with_admin(bootstrap, lambda admin: admin.describe_topics(["missing"]))
    return "UNKNOWN_TOPIC_OR_PARTITION" if described["error_code"] == 3 else str(described)


async def delete(bootstrap):
    await with_admin(bootstrap, lambda admin: admin.delete_topics([steps.TOPIC]))
    return await topics(bootstrap)


async def nowhere(bootstrap):
    return await topics(bootstrap)


steps.run(
    "aiokafka",
    [
        (name, step(asked))
        for name, asked in (
            ("list", topics), ("cluster", cluster), ("create", create), ("describe", describe), ("configs", configs),
            ("produce", produce), ("consume", consume), ("missing", missing), ("restart", restart),
            ("delete", delete), ("nowhere", nowhere),
        )
    ],
)  # fmt: skip
