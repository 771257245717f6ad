"""The three requests that describe partitions, their producers and the metadata quorum, by hand in every version: what is in a response
and no client library shows, and requests that none would make."""

import struct

from harness import wire

TOPIC_PARTITIONS, PRODUCERS, QUORUM = 75, 61, 55
NO_TAGS = b"\x00"


def _array(items):
    return wire.unsigned_varint(len(items) + 1) + b"".join(items)


def topic_partitions(topics, limit=2000, cursor=None):
    """A DescribeTopicPartitions request; `cursor` is (topic, partition)."""
    at = b"\xff" if cursor is None else b"\x01" + wire.compact_string(cursor[0]) + struct.pack(">i", cursor[1]) + NO_TAGS
    body = _array([wire.compact_string(topic) + NO_TAGS for topic in topics]) + struct.pack(">i", limit) + at + NO_TAGS
    return wire.header(TOPIC_PARTITIONS, 0, flexible=True) + body


def _named(api, version, topics, partition):
    each = [wire.compact_string(name) + _array([partition(number) for number in numbers]) + NO_TAGS for name, numbers in topics]
    return wire.header(api, version, flexible=True) + _array(each) + NO_TAGS


def producers(*topics):
    """A DescribeProducers request for (topic, partitions) pairs."""
    return _named(PRODUCERS, 0, topics, lambda number: struct.pack(">i", number))


def quorum(version, *topics):
    """A DescribeQuorum request for (topic, partitions) pairs, the metadata log unless any are given."""
    topics = topics or (("__cluster_metadata", [0]),)
    return _named(QUORUM, version, topics, lambda number: struct.pack(">i", number) + NO_TAGS)


class _Response(wire.Reader):
    def __init__(self, data):
        super().__init__(data)
        self.int32()
        self.tagged()

    def nullable(self):
        length = self.unsigned_varint() - 1
        return None if length < 0 else self.take(length).decode()

    def array(self, item):
        count = self.unsigned_varint() - 1
        return None if count < 0 else [item() for _ in range(count)]

    def struct(self, *fields):
        """A structure of these fields, with the tagged ones behind them."""
        values = tuple(field() for field in fields)
        assert self.tagged() == {}
        return values

    def numbers(self):
        return self.array(self.int32)

    def ended(self, value):
        assert self.rest() == b"", f"bytes after the end of the response: {self.rest()!r}"
        return value


def read_topic_partitions(data):
    """(topics, cursor): a topic is (error, name, has an id, internal, partitions, operations), a partition (error, number, leader, epoch,
    replicas, in sync, eligible, last known eligible, offline)."""
    r = _Response(data)
    numbers = [r.numbers] * 5
    partition = lambda: r.struct(r.int16, r.int32, r.int32, r.int32, *numbers)
    has_id = lambda: any(r.take(16))
    topic = lambda: r.struct(r.int16, r.nullable, has_id, r.int8, lambda: r.array(partition), r.int32)
    cursor = lambda: None if r.int8() < 0 else r.struct(r.compact_string, r.int32)
    _, topics, at = r.struct(r.int32, lambda: r.array(topic), cursor)
    return r.ended((topics, at))


def read_producers(data):
    """[(topic, partitions)]: a partition is (number, error, message, producers), a producer (id, epoch, last sequence, last time,
    coordinator's epoch, first offset of its transaction)."""
    r = _Response(data)
    producer = lambda: r.struct(r.int64, r.int32, r.int32, r.int64, r.int32, r.int64)
    partition = lambda: r.struct(r.int32, r.int16, r.nullable, lambda: r.array(producer))
    topic = lambda: r.struct(r.compact_string, lambda: r.array(partition))
    _, topics = r.struct(r.int32, lambda: r.array(topic))
    return r.ended(topics)


def read_quorum(data, version):
    """(error, message, topics, nodes): a partition is (number, error, message, leader, epoch, high watermark, voters, observers), a voter
    (id, directory, log end, last fetch, last time that it had everything), a node (id, [(listener, host, port)])."""
    r = _Response(data)
    nothing = lambda: None
    message = r.nullable if version >= 2 else nothing
    directory = (lambda: r.take(16)) if version >= 2 else nothing
    times = [r.int64 if version >= 1 else nothing] * 2
    replicas = lambda: r.array(lambda: r.struct(r.int32, directory, r.int64, *times))
    partition = lambda: r.struct(r.int32, r.int16, message, r.int32, r.int32, r.int64, replicas, replicas)
    topic = lambda: r.struct(r.compact_string, lambda: r.array(partition))
    port = lambda: struct.unpack(">H", r.take(2))[0]
    listener = lambda: r.struct(r.compact_string, r.compact_string, port)
    node = lambda: r.struct(r.int32, lambda: r.array(listener))
    nodes = (lambda: r.array(node)) if version >= 2 else nothing
    return r.ended(r.struct(r.int16, message, lambda: r.array(topic), nodes))
