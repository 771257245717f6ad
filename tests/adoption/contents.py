"""What is put into a broker before its directories change hands, and how all of it is read again."""

import hashlib
import struct
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from differential import answers, groups, questions
from harness import wire

COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
GROUP = "readers"
KEYS = 20
TOPICS = {
    **{name: {} for name in COMPRESSIONS},
    # Cleaned while Apache Kafka runs: batches with holes, and empty ones.
    "latest": {"cleanup.policy": "compact", "segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.01"},
    "ledger": {},
    "sequenced": {},
    "limits": {"retention.ms": "-1", "max.message.bytes": "700000", "segment.bytes": str(1 << 20)},
}
PARTITIONS = 2


def create(broker):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topics = [NewTopic(name, PARTITIONS, 1, config=settings) for name, settings in TOPICS.items()]
    for made in admin.create_topics(topics).values():
        made.result(30)


def topic_ids(broker):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    described = admin.describe_topics(TopicCollection(list(TOPICS)))
    return {name: str(future.result(30).topic_id) for name, future in described.items()}


def _producer(broker, **settings):
    return Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "message.timeout.ms": 60000, "batch.size": 200000, **settings})


def _send(producer, topic, partition, count, label, size=200):
    failures = []
    for n in range(count):
        key, value = f"k{n % KEYS}".encode(), f"{label}/{n}/".encode().ljust(size, b"x")
        headers = [("label", label.encode()), ("none", None)]
        producer.produce(topic, value, key, partition, lambda error, _: failures.append(error) if error else None, headers=headers)
        producer.poll(0)
    return failures


def _sent(producer, failures):
    assert producer.flush(60) == 0
    assert failures == [], failures[:3]


def write(broker, label):
    """What any broker takes: every compression, with and without idempotence, and segments that roll."""
    for compression in COMPRESSIONS:
        producer = _producer(broker, **{"compression.type": compression, "enable.idempotence": True})
        _sent(producer, _send(producer, compression, 0, 200, label))
    producer = _producer(broker, acks=1)
    _sent(producer, _send(producer, "limits", 0, 3000, label, size=1000))
    _sent(producer, _send(producer, "latest", 1, 100, label))


def transact(broker, label):
    """Transactions that are committed and aborted in turn, two producers between each other's records."""
    producers = [_producer(broker, **{"transactional.id": f"{label}-{n}"}) for n in range(2)]
    for producer in producers:
        producer.init_transactions(30)
    for turn in range(6):
        failures = []
        for producer in producers:
            producer.begin_transaction()
            failures.append(_send(producer, "ledger", turn % PARTITIONS, 30, f"{label}-{turn}"))
        for n, producer in enumerate(producers):
            _sent(producer, failures[n])
        for n, producer in enumerate(producers):
            if (turn + n) % 3 == 0:
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)


def overwrite(broker):
    """Enough of the same keys that there is something to clean."""
    producer = _producer(broker)
    _sent(producer, _send(producer, "latest", 0, 3000, "old", size=1000))
    _sent(producer, _send(producer, "latest", 0, KEYS, "new"))


def cleaned(broker, seconds=60):
    """Waits until the cleaner has been at work: offsets are missing."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        records = read(broker, "latest")[0]
        if records and len(records) <= records[-1][0]:
            return
        time.sleep(0.5)
    raise AssertionError("the cleaner has done nothing")


def commit(broker, at):
    """Positions of a group, without joining it. Apache Kafka that has just started may not lead the group's partition yet, and this
    client does not ask again."""
    deadline = time.monotonic() + (30 if broker.kind == "kafka" else 0)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": GROUP, "enable.auto.commit": False})
    positions = [TopicPartition("none", 0, at), TopicPartition("ledger", 1, at + 1)]
    while True:
        try:
            consumer.commit(offsets=positions, asynchronous=False)
            break
        except KafkaException as error:
            if error.args[0].code() != KafkaError.NOT_COORDINATOR or time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    consumer.close()


def committed(broker):
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": GROUP})
    found = consumer.committed([TopicPartition("none", 0), TopicPartition("ledger", 1)], 30)
    consumer.close()
    return [position.offset for position in found]


class Members:
    """Members of a group of either protocol that say nothing, and for whom nothing is done while brokers change: a static one of a classic
    group, in its first generation, and one of a consumer group. And the offset that neither of them has committed."""

    def __init__(self, broker):
        asked = answers.Broker(broker)
        asked.ask(questions.create("read", 2))
        answers.once(lambda: asked.ask(questions.listing("read")), lambda listed: listed["Topics"][0]["ErrorCode"] == 0)
        asked.ids["read"] = asked.ask(questions.listing("read"))["Topics"][0]["TopicId"]
        for question, is_so, learned in groups.made():
            asked.ids.update(learned(answers.once(lambda: asked.ask(questions.Question(*question)), is_so)))
        asked.close()
        self.ids = asked.ids

    def goes_on(self, broker):
        """They are still members, of the same generation and epoch, and a stranger is none."""
        asked = answers.Broker(broker)
        asked.ids = self.ids

        def said(api, version, name=""):
            return asked.ask(questions.Question(api, version, name, groups.RIGHT[api][name]))

        answers.once(lambda: said("Heartbeat", 4), groups.is_right)
        beaten = answers.once(lambda: said("ConsumerGroupHeartbeat", 1, "again"), groups.is_right)
        # Releases write down in their own ways what topics looked like; another one assigns anew, which gives the same.
        assert beaten["MemberEpoch"] - self.ids["epoch"] in (0, 1)
        if broker.kind == "aplomb":
            # It has just read its groups, and tells members once more what they have: the group's only member all of the topic.
            (topic,) = beaten["Assignment"]["TopicPartitions"]
            assert (topic["TopicId"], sorted(topic["Partitions"])) == (self.ids["read"], [0, 1])
        else:
            assert beaten["Assignment"] is None or beaten["MemberEpoch"] > self.ids["epoch"]
        self.ids["epoch"] = beaten["MemberEpoch"]
        assert said("ConsumerGroupHeartbeat", 1, "again")["Assignment"] is None
        assert not groups.is_right(said("ConsumerGroupHeartbeat", 1, "a stranger's"))
        found = answers.once(lambda: said("OffsetFetch", 8), lambda fetched: groups.is_right(fetched["Groups"][0]))
        partitions = {each["PartitionIndex"]: each for each in found["Groups"][0]["Topics"][0]["Partitions"]}
        assert (partitions[0]["CommittedOffset"], partitions[0]["Metadata"], partitions[1]["CommittedOffset"]) == (5, "noted", -1)
        asked.close()


def read(broker, topic, isolation="read_uncommitted"):
    """Every record of every partition: offset, time, key, digest of value and headers."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "nobody",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "isolation.level": isolation,
        "fetch.wait.max.ms": 50,
    }
    consumer = Consumer(settings)
    partitions = range(PARTITIONS)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    records, open_partitions = {partition: [] for partition in partitions}, set(partitions)
    deadline = time.monotonic() + 60
    while open_partitions and time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.2):
            if message.error() is None:
                content = hashlib.sha256(repr((message.value(), message.headers())).encode()).hexdigest()
                records[message.partition()].append((message.offset(), message.timestamp(), message.key(), content))
            elif message.error().code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(message.partition())
            else:
                raise AssertionError(f"{topic}: {message.error()}")
    consumer.close()
    assert not open_partitions, f"{topic}: no end of {open_partitions}"
    return records


def read_all(broker):
    everything = {topic: read(broker, topic) for topic in TOPICS}
    return {**everything, "ledger, committed": read(broker, "ledger", "read_committed")}


def goes_on(before, after):
    """Everything that was there is there, where it was; more may have come behind it."""
    for name, partitions in before.items():
        for partition, records in partitions.items():
            found = after[name][partition][: len(records)]
            assert found == records, f"{name}, partition {partition}: {len(records)} records before, the first that differs is at {_first(records, found)}"


def _first(records, found):
    return next((n for n, (one, other) in enumerate(zip(records, found, strict=False)) if one != other), len(found))


class Sequence:
    """An idempotent producer by hand, which outlives the broker that gave it its id."""

    DUPLICATE_OK, OUT_OF_ORDER = 0, 45

    def __init__(self, broker):
        request = wire.header(22, 1) + wire.string(None) + struct.pack(">i", 60000)
        with wire.Connection(broker.port) as connection:
            reader = wire.Reader(connection.ask(request))
        reader.take(4 + 4)
        assert reader.int16() == 0
        self.id, self.epoch = reader.int64(), reader.int16()
        self.sent = []

    def send(self, broker, sequence=None):
        """(error, offset) of one record; by default the next in order."""
        sequence = len(self.sent) if sequence is None else sequence
        body = wire.string(None) + struct.pack(">hii", -1, 30000, 1) + wire.string("sequenced")
        batch = self._batch(sequence)
        body += struct.pack(">iii", 1, 0, len(batch)) + batch
        with wire.Connection(broker.port) as connection:
            reader = wire.Reader(connection.ask(wire.header(wire.PRODUCE, 7) + body))
        reader.take(4 + 4)
        reader.string()
        reader.take(4 + 4)
        error, offset = reader.int16(), reader.int64()
        if error == 0 and sequence == len(self.sent):
            self.sent.append(offset)
        return error, offset

    def goes_on(self, broker):
        """The last batch is known to have been written, a gap is not taken, and the next one is."""
        last = len(self.sent) - 1
        assert self.send(broker, last) == (0, self.sent[last])
        assert self.send(broker, last + 2)[0] == self.OUT_OF_ORDER
        assert self.send(broker) == (0, self.sent[last] + 1)

    def _batch(self, sequence):
        value = f"sequence {sequence}".encode()
        record = b"\x00\x00\x00\x01" + bytes([len(value) << 1]) + value + b"\x00"
        record = bytes([len(record) << 1]) + record
        now = int(time.time() * 1000)
        rest = struct.pack(">hiqqqhii", 0, 0, now, now, self.id, self.epoch, sequence, 1) + record
        return struct.pack(">qiibI", 0, 4 + 1 + 4 + len(rest), -1, 2, _crc32c(rest)) + rest


def _crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def files(log_dirs):
    """Name and digest of every file, but for the empty one that is locked to look at a directory."""
    found = {}
    for directory in log_dirs:
        for path in sorted(path for path in directory.rglob("*") if path.name != ".lock"):
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
    return found
