"""The first record that a new broker acknowledges: raw frames, because a client library would add its own start and its back-offs.

Always holds: a broker that is not ready is asked again every few milliseconds; any error code counts as not ready, and the last one is
named if it stays."""

import struct
import time

from suite import wire

TOPIC = "first-record"
PAUSE = 0.002
# The oldest Produce version that Apache Kafka 4 takes.
VERSION = 3


class NeverAcknowledged(Exception):
    """The broker ended, or acknowledged nothing in time."""


def acknowledged(port, alive, deadline):
    """When the broker at `port` acknowledged a record with acks=all, on the clock of time.monotonic."""
    last = "it was never there"
    while time.monotonic() < deadline and alive():
        try:
            with wire.Connection(port, timeout=5) as connection:
                while time.monotonic() < deadline:
                    last = _attempt(connection)
                    if last is None:
                        return time.monotonic()
                    time.sleep(PAUSE)
        except OSError as refused:
            last = refused
        time.sleep(PAUSE)
    raise NeverAcknowledged(f"no record was acknowledged: {last}")


def _attempt(connection):
    """None for an acknowledgement, or what was in the way. Asking for a topic creates it."""
    _, topics = wire.read_metadata(connection.ask(wire.metadata([TOPIC])))
    error, partitions = topics[TOPIC]
    if error or not partitions:
        return f"Metadata answers with error {error} and {partitions} partitions"
    error = _read_error(connection.ask(_produce(_batch(b"first", int(time.time() * 1000)))))
    return f"Produce answers with error {error}" if error else None


def _produce(records):
    """acks=all, a timeout of 30 s, one batch for partition 0."""
    body = wire.string(None) + struct.pack(">hii", -1, 30_000, 1) + wire.string(TOPIC)
    return wire.header(wire.PRODUCE, VERSION) + body + struct.pack(">iii", 1, 0, len(records)) + records


def _read_error(response):
    """Of the only partition."""
    reader = wire.Reader(response)
    reader.int32()
    assert reader.int32() == 1, "one topic was sent"
    reader.string()
    assert reader.int32() == 1, "one partition was sent"
    reader.int32()
    return reader.int16()


def _batch(value, timestamp):
    """A record batch, version 2, of one record without a key; all its lengths fit into one byte."""
    record = b"\x00\x00\x00\x01" + bytes([2 * len(value)]) + value + b"\x00"
    counted = struct.pack(">hiqqqhii", 0, 0, timestamp, timestamp, -1, -1, -1, 1) + bytes([2 * len(record)]) + record
    return struct.pack(">qiibI", 0, 4 + 1 + 4 + len(counted), -1, 2, _crc32c(counted)) + counted


def _crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
