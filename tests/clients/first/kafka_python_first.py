"""The first minute with kafka-python."""

import steps
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic


def admin(bootstrap):
    return KafkaAdminClient(bootstrap_servers=bootstrap)


def topics(bootstrap):
    return sorted(name for name in admin(bootstrap).list_topics() if not name.startswith("__"))


def cluster(bootstrap):
    return len(admin(bootstrap).describe_cluster()["brokers"])


def create(bootstrap):
    admin(bootstrap).create_topics([NewTopic(steps.TOPIC, 3, 1)])
    return topics(bootstrap)


def describe(bootstrap):
    (described,) = admin(bootstrap).describe_topics([steps.TOPIC])
    return len(described["partitions"])


def configs(bootstrap):
    found = admin(bootstrap).describe_configs([ConfigResource(ConfigResourceType.TOPIC, steps.TOPIC)])
    # Of a topic whose settings are all defaults it shows none.
    return "delete" if steps.TOPIC in str(found) else found


def produce(bootstrap):
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    sent = [producer.send(steps.TOPIC, str(number).encode(), partition=0) for number in range(steps.RECORDS)]
    return len([future.get(timeout=20) for future in sent])


def consume(bootstrap):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, consumer_timeout_ms=10_000, enable_auto_commit=False)
    consumer.assign([TopicPartition(steps.TOPIC, 0)])
    consumer.seek_to_beginning()
    found = [next(consumer) for _ in range(steps.RECORDS)]
    return len(found)


def missing(bootstrap):
    return KafkaConsumer(bootstrap_servers=bootstrap).partitions_for_topic("missing") or "UNKNOWN_TOPIC_OR_PARTITION"


def delete(bootstrap):
    admin(bootstrap).delete_topics([steps.TOPIC])
    return topics(bootstrap)


steps.run(
    "kafka-python",
    [
        ("list", topics), ("cluster", cluster), ("create", create), ("describe", describe), ("configs", configs), ("produce", produce),
        ("consume", consume), ("missing", missing), ("delete", delete),
    ],
)  # fmt: skip
