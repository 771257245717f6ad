"""Produce and Fetch by hand, for tests that need the error code itself or that do not read what they asked for."""

import struct

from harness import wire

LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, KAFKA_STORAGE_ERROR = 5, 6, 7, 56


def _crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc32c_table()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def _varint(number):
    return wire.unsigned_varint(number << 1 ^ number >> 63)


def batch(value=b"v"):
    """A record batch of one record without a key, and without a producer id."""
    record = b"\x00\x00\x00" + _varint(-1) + _varint(len(value)) + value + b"\x00"
    record = _varint(len(record)) + record
    after_crc = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + record
    return struct.pack(">qiibI", 0, 4 + 1 + 4 + len(after_crc), -1, 2, crc32c(after_crc)) + after_crc


def produce_request(topic, partition, records, acks=1, timeout=3000, correlation_id=3):
    """Produce, version 7, to one partition."""
    body = wire.string(None) + struct.pack(">hii", acks, timeout, 1) + wire.string(topic)
    body += struct.pack(">iii", 1, partition, len(records)) + records
    return wire.header(wire.PRODUCE, 7, correlation_id) + body


def fetch_request(topic, partition, offset=0, max_bytes=1 << 20, wait=0, correlation_id=4):
    """Fetch, version 4, of one partition."""
    body = struct.pack(">iiiib", -1, wait, 0 if wait == 0 else 1, max_bytes, 0)
    body += struct.pack(">i", 1) + wire.string(topic) + struct.pack(">iiqi", 1, partition, offset, max_bytes)
    return wire.header(wire.FETCH, 4, correlation_id) + body


def produce_error(connection, topic, partition):
    """Produces one record, whose value the readers understand, and returns the partition's error code."""
    reader = wire.Reader(connection.ask(produce_request(topic, partition, batch(f"raw/{partition}/0/".encode()))))
    reader.take(4 + 4)
    reader.string()
    reader.take(4 + 4)
    return reader.int16()


def fetch_error(connection, topic, partition):
    """Fetches from the start and returns the partition's error code."""
    reader = wire.Reader(connection.ask(fetch_request(topic, partition)))
    reader.take(4 + 4 + 4)
    reader.string()
    reader.take(4 + 4)
    return reader.int16()
