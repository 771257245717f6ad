"""Requests by hand: topics with any number of partitions, and one small record batch for many
partitions at once. A client library would add its own start, its back-offs and its memory.

The versions are the oldest that Apache Kafka 4 takes. Next: `fill`."""

import struct
import time

from suite import wire

CREATE_TOPICS, CREATE_PARTITIONS = 19, 37
PRODUCE_VERSION = 3
# Of one request to create: Apache Kafka takes at most 10,000 records of metadata in one decision.
AT_ONCE = 5_000
# Of one Produce request of `fill`.
FILLED_AT_ONCE = 1_000
# How long a request to create may take, in milliseconds.
PATIENCE = 120_000
PAUSE = 0.1


class Refused(Exception):
    """The broker answered with an error."""


def create(connection, topic, partitions):
    """Makes a topic and adds partitions until it has that many."""
    now = min(partitions, AT_ONCE)
    # Without assignments and configurations.
    one = wire.string(topic) + struct.pack(">ihii", now, -1, 0, 0)
    _decided(connection, wire.header(CREATE_TOPICS, 2), one)
    while now < partitions:
        now = min(partitions, now + AT_ONCE)
        one = wire.string(topic) + struct.pack(">ii", now, -1)
        _decided(connection, wire.header(CREATE_PARTITIONS, 0), one)


def _decided(connection, header, topic):
    """Asks for one topic's change; both requests end alike, and so do both responses."""
    body = struct.pack(">i", 1) + topic + struct.pack(">i?", PATIENCE, False)
    reader = wire.Reader(connection.ask(header + body))
    reader.take(4 + 4 + 4)
    name, error = reader.string(), reader.int16()
    if error:
        raise Refused(f"topic {name}: error {error}: {reader.string()}")


def fill(connection, topic, partitions, deadline):
    """A record in each partition of the topic; what has no leader yet is asked again."""
    value = batch(b"one of many")
    left, last = list(range(partitions)), None
    while left:
        if time.monotonic() > deadline:
            raise Refused(f"{len(left)} partitions of {topic} took no record: error {last}")
        refused = {}
        for start in range(0, len(left), FILLED_AT_ONCE):
            asked = produce(topic, left[start : start + FILLED_AT_ONCE], value)
            answered = read_produce(connection.ask(asked)).items()
            refused.update((partition, error) for partition, error in answered if error)
        if refused:
            last = refused[min(refused)]
            time.sleep(PAUSE)
        left = sorted(refused)


def produce(topic, partitions, records):
    """acks=all, a timeout of 30 s, the same batch for each partition."""
    each = b"".join(struct.pack(">ii", index, len(records)) + records for index in partitions)
    body = wire.string(None) + struct.pack(">hii", -1, 30_000, 1) + wire.string(topic)
    head = wire.header(wire.PRODUCE, PRODUCE_VERSION)
    return head + body + struct.pack(">i", len(partitions)) + each


def read_produce(response):
    """{partition: error code} of a response for one topic."""
    reader = wire.Reader(response)
    reader.int32()
    found = {}
    # Apache Kafka names the topic twice when it knows only some of the partitions.
    for _ in range(reader.int32()):
        reader.string()
        for _ in range(reader.int32()):
            index, found[index] = reader.int32(), reader.int16()
            reader.take(8 + 8)
    return found


def batch(value):
    """A record batch, version 2, of one record without a key; all its lengths fit into one byte."""
    timestamp = int(time.time() * 1000)
    record = b"\x00\x00\x00\x01" + bytes([2 * len(value)]) + value + b"\x00"
    assert len(record) < 64, "a length of two bytes"
    counted = struct.pack(">hiqqqhii", 0, 0, timestamp, timestamp, -1, -1, -1, 1)
    counted += bytes([2 * len(record)]) + record
    head = struct.pack(">qiibI", 0, 4 + 1 + 4 + len(counted), -1, 2, _crc32c(counted))
    return head + counted


def _crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
