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
    # By itself it shows only what was changed.
    found = admin(bootstrap).describe_configs([ConfigResource(ConfigResourceType.TOPIC, steps.TOPIC)], config_filter="all")
    return found["topic"][steps.TOPIC]["cleanup.policy"]["value"]


def send(producer):
    sent = [producer.send(steps.TOPIC, str(number).encode(), partition=0) for number in range(steps.RECORDS)]
    return len([future.get(timeout=20) for future in sent])


def reader(bootstrap):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, consumer_timeout_ms=20_000, enable_auto_commit=False)
    consumer.assign([TopicPartition(steps.TOPIC, 0)])
    consumer.seek_to_beginning()
    return consumer


def read(consumer, count):
    return [next(consumer).offset for _ in range(count)]


def produce(bootstrap):
    return send(KafkaProducer(bootstrap_servers=bootstrap))


def consume(bootstrap):
    return len(read(reader(bootstrap), steps.RECORDS))


def restart(bootstrap):
    producer, consumer = KafkaProducer(bootstrap_servers=bootstrap), reader(bootstrap)
    return steps.over_restart(lambda: send(producer), lambda count: read(consumer, count))


def missing(bootstrap):
    return KafkaConsumer(bootstrap_servers=bootstrap).partitions_for_topic("missing") or "UNKNOWN_TOPIC_OR_PARTITION"


def delete(bootstrap):
    admin(bootstrap).delete_topics([steps.TOPIC])
    return topics(bootstrap)


def nowhere(bootstrap):
    return KafkaAdminClient(bootstrap_servers=bootstrap, bootstrap_timeout_ms=5_000).list_topics()


steps.run(
    "kafka-python",
    [
        ("list", topics), ("cluster", cluster), ("create", create), ("describe", describe), ("configs", configs), ("produce", produce),
        ("consume", consume), ("missing", missing), ("restart", restart), ("delete", delete), ("nowhere", nowhere),
    ],
)  # fmt: skip
