"""The first minute with confluent-kafka."""

import functools

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


def produce(bootstrap):
    producer, delivered = Producer({"bootstrap.servers": bootstrap}), []
    for number in range(steps.RECORDS):
        producer.produce(steps.TOPIC, str(number).encode(), partition=0, on_delivery=lambda error, _: delivered.append(error))
    assert producer.flush(20) == 0
    assert not any(delivered), delivered
    return len(delivered)


def consume(bootstrap):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(steps.TOPIC, 0, 0)])
    found = [message.value().decode() for message in consumer.consume(steps.RECORDS, timeout=20)]
    consumer.close()
    return len(found)


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


steps.run(
    "confluent-kafka",
    [
        ("list", topics), ("cluster", cluster), ("create", create), ("describe", describe), ("configs", configs), ("produce", produce),
        ("consume", consume), ("missing", missing), ("delete", delete),
    ],
)  # fmt: skip
