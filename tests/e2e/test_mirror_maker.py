"""MirrorMaker 2 between the broker under test and Apache Kafka, both ways at once and each record exactly once, while brokers and it
itself are killed."""

import time

import confluent_kafka as ck
import pytest
from confluent_kafka import admin as ck_admin
from harness import groups
from harness.connect import MirrorMaker

PROPERTIES = {
    **groups.QUICK,
    "transaction.state.log.num.partitions": "4", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "4",
}  # fmt: skip
PARTITIONS = 3
PATIENCE = 120


def produce(broker, topic, numbers):
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "linger.ms": 5})
    for n in numbers:
        producer.produce(topic, partition=n % PARTITIONS, key=f"k{n}", value=f"v{n}", headers=[("n", str(n).encode())])
    assert producer.flush(60) == 0


def read(broker, topic):
    """{partition: [(key, value, headers)]} of all committed records; empty where there is no such topic yet."""
    consumer = ck.Consumer({
        "bootstrap.servers": broker.bootstrap, "group.id": "reads", "isolation.level": "read_committed", "enable.partition.eof": True,
        "enable.auto.commit": False,
    })
    try:
        if topic not in consumer.list_topics(timeout=30).topics:
            return {}
        consumer.assign([ck.TopicPartition(topic, partition, ck.OFFSET_BEGINNING) for partition in range(PARTITIONS)])
        found, ends, deadline = {partition: [] for partition in range(PARTITIONS)}, set(), time.monotonic() + 60
        while len(ends) < PARTITIONS:
            assert time.monotonic() < deadline, f"{topic} has no end after {found}"
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error():
                if message.error().code() == ck.KafkaError._PARTITION_EOF:
                    ends.add(message.partition())
                continue
            found[message.partition()].append((message.key().decode(), message.value().decode(), message.headers()))
        return found
    finally:
        consumer.close()


def expected(count):
    of = {partition: [] for partition in range(PARTITIONS)}
    for n in range(count):
        of[n % PARTITIONS].append((f"k{n}", f"v{n}", [("n", str(n).encode())]))
    return of


def check(found, count, topic):
    """Each record once, and in order."""
    for partition, records in expected(count).items():
        keys, wanted = [key for key, *_ in found[partition]], [key for key, *_ in records]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        assert keys == wanted, f"{topic}-{partition}: {len(keys)} of {len(wanted)}, missing {sorted(set(wanted) - set(keys))}, more than once {twice}"
    assert found == expected(count)


def until(what, mirror, condition):
    """Waits for it and gives it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        mirror.check()
        assert time.monotonic() < deadline, f"{what}:\n{mirror.log_tail()}"
        time.sleep(0.5)
    return found


def committed(broker, group, topic):
    places = [ck.TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    admin = ck_admin.AdminClient({"bootstrap.servers": broker.bootstrap})
    [future] = admin.list_consumer_group_offsets([ck.ConsumerGroupTopicPartitions(group, places)]).values()
    try:
        return {place.partition: place.offset for place in future.result(30).topic_partitions if place.offset >= 0}
    except ck.KafkaException as failure:
        # The broker is on its way back.
        if failure.args[0].retriable() or failure.args[0].code() == ck.KafkaError._TRANSPORT:
            return {}
        raise


def end_of(broker, topic, partition):
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "ends"})
    _, end = consumer.get_watermark_offsets(ck.TopicPartition(topic, partition), timeout=30)
    consumer.close()
    return end


def setting(broker, topic, name):
    resource = ck_admin.ConfigResource(ck_admin.ConfigResource.Type.TOPIC, topic)
    admin = ck_admin.AdminClient({"bootstrap.servers": broker.bootstrap})
    [future] = admin.describe_configs([resource]).values()
    return future.result(30)[name].value


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_clusters_are_mirrored_into_each_other(both, tmp_path):
    ours, theirs = both
    brokers = {"theirs": theirs, "ours": ours}
    for broker, topic in ((theirs, "orders"), (ours, "payments")):
        new = ck_admin.NewTopic(topic, PARTITIONS, 1, config={"retention.ms": "7654321"})
        admin = ck_admin.AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([new])[topic].result(30)
        produce(broker, topic, range(300))
    mirror = MirrorMaker(brokers, tmp_path / "mirror", "orders,payments").start()
    try:
        for broker, topic in ((ours, "theirs.orders"), (theirs, "ours.payments")):
            until(f"{topic} is a copy", mirror, lambda broker=broker, topic=topic: read(broker, topic) == expected(300))
            assert setting(broker, topic, "retention.ms") == "7654321"

        # Whoever has read all of it there goes on behind it in the copy: not further, for where transactions have markers offsets are not the same.
        for broker, other, topic in ((theirs, ours, "orders"), (ours, theirs, "payments")):
            group, copy = f"of-{topic}", f"{'theirs' if broker is theirs else 'ours'}.{topic}"
            consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
            consumer.commit(offsets=[ck.TopicPartition(topic, partition, 100) for partition in range(PARTITIONS)], asynchronous=False)
            consumer.close()
            found = until(f"{group} goes on in {copy}", mirror, lambda other=other, group=group, copy=copy: committed(other, group, copy))
            ends = {partition: end_of(other, copy, partition) for partition in found}
            assert all(0 < offset <= ends[partition] for partition, offset in found.items()), (found, ends)

        count = 300
        for kill in (ours.kill, mirror.kill, theirs.kill):
            for broker, topic in ((theirs, "orders"), (ours, "payments")):
                produce(broker, topic, range(count, count + 300))
            count += 300
            kill()
            if kill == mirror.kill:
                mirror.start()
            else:
                (ours if kill == ours.kill else theirs).start()
            for broker, topic in ((ours, "theirs.orders"), (theirs, "ours.payments")):
                until(f"{topic} has {count}", mirror, lambda broker=broker, topic=topic, count=count: sum(map(len, read(broker, topic).values())) >= count)
                check(read(broker, topic), count, topic)
    finally:
        mirror.kill()
