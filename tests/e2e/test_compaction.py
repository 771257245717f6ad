"""Compacted topics, as their users see them: of each key the last value, at the offset that it always had. And what is left on the disk
is sound in the eyes of Apache Kafka's tools, which open it and go on."""

import random
import time

import confluent_kafka as ck
import pytest
from harness import dump

PROPERTIES = {
    "log.cleaner.backoff.ms": "100", "aplomb.recovery.point.interval.ms": "500", "offsets.topic.num.partitions": "1",
    "log.flush.offset.checkpoint.interval.ms": "500", "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1", "transaction.state.log.num.partitions": "1",
}  # fmt: skip

KEYS = 50
TABLE = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "1048576", "delete.retention.ms": "1000",
         "file.delete.delay.ms": "1000"}  # fmt: skip


def create(admin, topic, **settings):
    admin.create(topic, **{name.replace(".", "_"): value for name, value in {**TABLE, **settings}.items()})


def write(broker, topic, rounds, codec="none", size=2000, identity=None):
    """Gives each key a new value, so many times over."""
    settings = {"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "compression.type": codec, "enable.idempotence": True}
    if identity:
        settings["transactional.id"] = identity
    producer = ck.Producer(settings)
    if identity:
        producer.init_transactions(30)
    for n in rounds:
        if identity:
            producer.begin_transaction()
        for key in range(KEYS):
            # Digits, so that compression leaves something of it.
            producer.produce(topic, key=f"k{key}", value=f"{n}-{random.getrandbits(size * 3)}")
        assert producer.flush(60) == 0
        if identity:
            # Every third one does not count.
            (producer.abort_transaction if n % 3 == 2 else producer.commit_transaction)(30)


def read(broker, topic, isolation="read_committed"):
    """Offset, key and the round of each value, from the beginning to the end as it is now."""
    consumer = ck.Consumer({
        "bootstrap.servers": broker.bootstrap, "group.id": "r", "isolation.level": isolation, "enable.auto.commit": False,
        "enable.partition.eof": True,
    })
    consumer.assign([ck.TopicPartition(topic, 0, ck.OFFSET_BEGINNING)])
    found, deadline = [], time.monotonic() + 60
    while True:
        assert time.monotonic() < deadline, f"{topic} has no end after {len(found)} records"
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            assert message.error().code() == ck.KafkaError._PARTITION_EOF, message.error()
            break
        value = message.value()
        found.append((message.offset(), message.key().decode(), None if value is None else value.split(b"-")[0].decode()))
    consumer.close()
    return found


def latest(found):
    return {key: value for _, key, value in found}


def until(condition, what, patience=60):
    deadline = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return value


def compacted(broker, topic, below):
    """What is read, once it is so little."""
    return until(lambda: (found := read(broker, topic)) and len(found) < below and found, f"{topic} is compacted")


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_of_each_key_the_last_value_stays(broker, admin, topic, codec):
    create(admin, topic, segment_bytes="1048576")
    write(broker, topic, range(60), codec, size=2000)
    before = read(broker, topic)
    found = compacted(broker, topic, 1000)
    assert latest(found) == latest(before) == {f"k{key}": "59" for key in range(KEYS)}
    assert set(found) <= set(before), "offsets and values are as they were"
    assert found == sorted(found)


def test_tombstones_go_when_their_time_is_over(broker, admin, topic):
    create(admin, topic, segment_ms="1000")
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})

    def put(key, value):
        producer.produce(topic, key=key, value=value)
        assert producer.flush(30) == 0

    put("stays", b"1-")
    put("goes", b"1-")
    put("goes", None)

    def is_gone():
        time.sleep(1.1)  # what comes now begins a segment
        put("beat", b"1-")
        return "goes" not in latest(read(broker, topic))

    until(is_gone, "the tombstone goes", patience=90)
    assert latest(read(broker, topic))["stays"] == "1"


def test_transactions_are_compacted_when_they_are_decided(broker, admin, topic):
    create(admin, topic)
    write(broker, topic, range(60), identity=topic)
    before = read(broker, topic)
    found = compacted(broker, topic, 1000)
    assert latest(found) == latest(before) == {f"k{key}": "58" for key in range(KEYS)}
    assert not [record for record in found if int(record[2]) % 3 == 2], "nothing aborted is read"

    def in_between():
        # Segments are replaced one after the other: only what no replacement came between is compared.
        committed, everything = read(broker, topic), read(broker, topic, "read_uncommitted")
        return read(broker, topic) == committed and (committed, everything)

    committed, everything = until(in_between, "all of it is compacted")
    assert set(committed) <= set(everything)


def test_what_is_left_is_sound_and_goes_on_after_a_kill(start_broker, tmp_path, java, tools, topic):
    from harness.clients import Admin

    broker = start_broker(properties=PROPERTIES)
    create(Admin(java, broker), topic)
    for start in (0, 40):
        write(broker, topic, range(start, start + 40))
        found = compacted(broker, topic, 1500)
        broker.kill()
        broker.start()
        assert latest(read(broker, topic)) == latest(found) == {f"k{key}": str(start + 39) for key in range(KEYS)}
        write(broker, topic, [start + 39])
    broker.stop()
    dump.check(tools, broker, compacted={topic, "__consumer_offsets"})
    assert f"{topic} 0 " in (broker.log_dirs[0] / "cleaner-offset-checkpoint").read_text()


def test_offsets_that_were_committed_often_take_little_room(start_broker, topic, java):
    from harness.clients import Admin

    broker = start_broker(properties={**PROPERTIES, "offsets.topic.segment.bytes": "1048576", "log.cleaner.min.cleanable.ratio": "0.01"})
    Admin(java, broker).create(topic)
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": topic, "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    for n in range(9000):
        consumer.commit(offsets=[ck.TopicPartition(topic, 0, n, metadata="m" * 200)], asynchronous=n % 100 != 99)
    consumer.commit(offsets=[ck.TopicPartition(topic, 0, 9000)], asynchronous=False)

    def size():
        directory = next(found for found in broker.partition_directories() if found.name == "__consumer_offsets-0")
        return sum(file.stat().st_size for file in directory.glob("*.log"))

    until(lambda: size() < 2_000_000, "the log of offsets is compacted")
    broker.kill()
    broker.start()
    # It is loaded from what is left.
    assert consumer.committed([ck.TopicPartition(topic, 0)], 30)[0].offset == 9000
    consumer.close()


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_each_goes_on_with_what_the_other_has_compacted(start_broker, tools, java, topic, ends):
    """Apache Kafka's log in our hands, and back in its own, each time written to and compacted on."""
    from harness.clients import Admin

    broker = None
    for turn, kind in enumerate(("kafka", None, "kafka", None)):
        if broker:
            # What we have only in memory after a kill -9 is to be given back first: tests/adoption.
            getattr(broker, ends if broker.kind == "kafka" else "stop")()
        broker = start_broker(kind=kind, properties=PROPERTIES, after=broker)
        if turn == 0:
            create(Admin(java, broker), topic)
        else:
            assert latest(read(broker, topic)) == {f"k{key}": str(40 * turn - 1) for key in range(KEYS)}
        before = {record for record in read(broker, topic)}
        write(broker, topic, range(40 * turn, 40 * turn + 40), identity=topic if turn % 2 else None)
        if turn % 2:
            # The last round may be one that was aborted.
            write(broker, topic, [40 * turn + 39])
        found = compacted(broker, topic, 1000)
        assert latest(found) == {f"k{key}": str(40 * turn + 39) for key in range(KEYS)}
        old = {record for record in found if int(record[2]) < 40 * turn}
        assert old <= before, "what was there before is as it was"
    broker.stop()
    dump.check(tools, broker, compacted={topic, "__consumer_offsets", "__transaction_state"})
