"""The first minute with confluent-kafka."""

import functools
import time

import steps
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from confluent_kafka import TopicCollection


@functools.cache
def admin(bootstrap):
    """One for all steps: what it was asked ends with it."""
    return AdminClient({"bootstrap.servers": bootstrap})


def topics(bootstrap):
    return sorted(name for name in admin(bootstrap).list_topics(timeout=20).topics if not name.startswith("__"))


def cluster(bootstrap):
    return len(admin(bootstrap).describe_cluster().result(20).nodes)


def create(bootstrap):
    admin(bootstrap).create_topics([NewTopic(steps.TOPIC, 3, 1)])[steps.TOPIC].result(20)
    return topics(bootstrap)


def describe(bootstrap):
    described = admin(bootstrap).describe_topics(TopicCollection([steps.TOPIC]))[steps.TOPIC].result(20)
    return len(described.partitions)


def configs(bootstrap):
    resource = ConfigResource(ResourceType.TOPIC, steps.TOPIC)
    return admin(bootstrap).describe_configs([resource])[resource].result(20)["cleanup.policy"].value


def send(producer):
    delivered = []
    for number in range(steps.RECORDS):
        producer.produce(steps.TOPIC, str(number).encode(), partition=0, on_delivery=lambda error, _: delivered.append(error))
    assert producer.flush(20) == 0
    assert not any(delivered), delivered
    return len(delivered)


def reader(bootstrap):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(steps.TOPIC, 0, 0)])
    return consumer


def read(consumer, count):
    """Offsets. That the broker is gone comes as a message with an error, and reading goes on."""
    found, deadline = [], time.monotonic() + 20
    while len(found) < count and time.monotonic() < deadline:
        messages = consumer.consume(count - len(found), timeout=1)
        found += [message.offset() for message in messages if message.error() is None]
    return found


def produce(bootstrap):
    return send(Producer({"bootstrap.servers": bootstrap}))


def consume(bootstrap):
    consumer = reader(bootstrap)
    found = read(consumer, steps.RECORDS)
    consumer.close()
    return len(found)


def restart(bootstrap):
    producer, consumer = Producer({"bootstrap.servers": bootstrap}), reader(bootstrap)
    said = steps.over_restart(lambda: send(producer), lambda count: read(consumer, count))
    consumer.close()
    return said


def missing(bootstrap):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none"})
    try:
        consumer.get_watermark_offsets(TopicPartition("missing", 0), timeout=10)
    except KafkaException as refused:
        return refused.args[0].name()
    finally:
        consumer.close()


def delete(bootstrap):
    admin(bootstrap).delete_topics([steps.TOPIC])[steps.TOPIC].result(20)
    return topics(bootstrap)


def nowhere(bootstrap):
    try:
        return AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=5).topics
    except KafkaException as failure:
        return {"error": failure.args[0].name()}


steps.run(
    "confluent-kafka",
    [
        ("list", topics), ("cluster", cluster), ("create", create), ("describe", describe), ("configs", configs), ("produce", produce),
        ("consume", consume), ("missing", missing), ("restart", restart), ("delete", delete), ("nowhere", nowhere),
    ],
)  # fmt: skip
