"""Fetch by hand, at version 16: topics by id, sessions in the open."""

import struct
import uuid
from dataclasses import dataclass

from harness.wire import FETCH, Reader, header, unsigned_varint

VERSION = 16


@dataclass(frozen=True)
class Partition:
    """What came back for one partition."""

    error: int
    high_watermark: int
    log_start: int
    records: bytes


def request(
    wanted, session=0, epoch=-1, forgotten=(), max_wait=0, min_bytes=0, max_bytes=1 << 20, partition_bytes=1 << 20, leader_epoch=-1
):
    """`wanted` is [(topic id, partition, offset)], `forgotten` [(topic id, partition)]."""
    body = bytearray(struct.pack(">iiibii", max_wait, min_bytes, max_bytes, 0, session, epoch))
    body += unsigned_varint(len(wanted) + 1)
    for topic, partition, offset in wanted:
        body += topic.bytes + unsigned_varint(2)
        body += struct.pack(">iiqiqi", partition, leader_epoch, offset, -1, -1, partition_bytes) + b"\x00\x00"
    body += unsigned_varint(len(forgotten) + 1)
    for topic, partition in forgotten:
        body += topic.bytes + unsigned_varint(2) + struct.pack(">i", partition) + b"\x00"
    # An empty rack, no tagged fields.
    return header(FETCH, VERSION, flexible=True) + bytes(body) + b"\x01\x00"


def read(response):
    """(error, session id, {(topic id, partition): Partition})."""
    reader = Reader(response)
    reader.take(4)
    reader.tagged()
    reader.int32()
    error, session = reader.int16(), reader.int32()
    found = {}
    for _ in range(reader.unsigned_varint() - 1):
        topic = uuid.UUID(bytes=reader.take(16))
        for _ in range(reader.unsigned_varint() - 1):
            index, code, high_watermark, _, log_start = reader.int32(), reader.int16(), reader.int64(), reader.int64(), reader.int64()
            for _ in range(max(0, reader.unsigned_varint() - 1)):
                reader.take(16)
                reader.tagged()
            reader.int32()
            records = reader.take(max(0, reader.unsigned_varint() - 1))
            reader.tagged()
            found[topic, index] = Partition(code, high_watermark, log_start, records)
        reader.tagged()
    reader.tagged()
    assert reader.rest() == b"", f"bytes after the end of the response: {reader.rest()!r}"
    return error, session, found
