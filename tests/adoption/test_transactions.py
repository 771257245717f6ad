"""Transactions that are under way while the directories change hands: one that is open goes on, one that is decided gets its markers."""

import threading
import time

import confluent_kafka as ck
import pytest
from confluent_kafka import admin as ck_admin
from harness import offline

PARTITIONS = 30
SETTINGS = {
    "offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1", "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
}  # fmt: skip


def create(broker, topic):
    admin = ck_admin.AdminClient({"bootstrap.servers": broker.bootstrap})
    [made] = admin.create_topics([ck_admin.NewTopic(topic, PARTITIONS, 1)]).values()
    made.result(30)


def writer(broker, identity):
    made = ck.Producer({
        "bootstrap.servers": broker.bootstrap, "transactional.id": identity, "linger.ms": 0, "reconnect.backoff.max.ms": 200, "log_level": 0,
    })
    made.init_transactions(30)
    return made


def write(producer, topic, value, partitions=range(PARTITIONS)):
    producer.begin_transaction()
    for partition in partitions:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


def until_done(call):
    """The client asks to be asked again for what has not ended in time."""
    deadline = time.monotonic() + 90
    while True:
        try:
            return call(10)
        except ck.KafkaException as error:
            assert error.args[0].retriable() and time.monotonic() < deadline, error


def committed(broker, topic):
    """How many records with each value readers of committed records get."""
    consumer = ck.Consumer({
        "bootstrap.servers": broker.bootstrap, "group.id": "r", "isolation.level": "read_committed", "enable.auto.commit": False,
        "enable.partition.eof": True, "log_level": 0,
    })
    consumer.assign([ck.TopicPartition(topic, partition, ck.OFFSET_BEGINNING) for partition in range(PARTITIONS)])
    counts, ended, deadline = {}, set(), time.monotonic() + 60
    while len(ended) < PARTITIONS:
        assert time.monotonic() < deadline, f"{set(range(PARTITIONS)) - ended} have no end after {counts}"
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is None:
            counts[message.value()] = counts.get(message.value(), 0) + 1
        elif message.error().code() == ck.KafkaError._PARTITION_EOF:
            ended.add(message.partition())
    consumer.close()
    return counts


@pytest.mark.parametrize("how", ("stop", "kill"))
@pytest.mark.parametrize(("there", "here"), (("kafka", "aplomb"), ("aplomb", "kafka")))
def test_transactions_go_on_with_the_other_broker(start_broker, there, here, how):
    first = start_broker(kind=there, properties=SETTINGS)
    create(first, "accounts")
    opened, decided, undone = (writer(first, name) for name in ("opened", "decided", "undone"))
    reader = ck.Consumer({"bootstrap.servers": first.bootstrap, "group.id": "readers", "log_level": 0})
    write(opened, "accounts", b"opened", range(3))
    opened.send_offsets_to_transaction([ck.TopicPartition("accounts", 0, 5)], reader.consumer_group_metadata(), 30)
    write(decided, "accounts", b"decided")
    write(undone, "accounts", b"undone")
    # Their markers are on their way, or not, when the broker goes; if it goes too soon the clients ask the other one.
    ends = [
        threading.Thread(target=until_done, args=(call,)) for call in (decided.commit_transaction, undone.abort_transaction)
    ]
    for end in ends:
        end.start()
    time.sleep(0.02)
    getattr(first, how)()
    if there == "aplomb":
        released = offline.storage(first, "release")
        assert released.returncode == 0, released.stderr
    second = start_broker(kind=here, properties=SETTINGS, after=first)
    for end in ends:
        end.join(120)
        assert not end.is_alive()
    until_done(opened.commit_transaction)
    deadline = time.monotonic() + 60
    while (found := committed(second, "accounts")) != {b"opened": 3, b"decided": PARTITIONS}:
        assert time.monotonic() < deadline, found
        time.sleep(0.5)
    [position] = reader.committed([ck.TopicPartition("accounts", 0)], timeout=30)
    assert position.offset == 5
    reader.close()
    # Each goes on with its next one.
    for producer in (opened, decided, undone):
        write(producer, "accounts", b"later", range(1))
        until_done(producer.commit_transaction)
    second.stop()
    if here == "aplomb":
        assert offline.storage(second, "release").returncode == 0
    second.close()
