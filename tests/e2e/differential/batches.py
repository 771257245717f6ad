"""Record batches, made by hand: right ones, and each of the ways in which one can be wrong."""

import gzip
import struct
import time

# A minute ago: nothing is deleted for its age.
CREATED = int(time.time() * 1000) - 60_000


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82F63B78 if byte & 1 else byte >> 1
        yield byte


_CRC = tuple(_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(number):
    number = number << 1 ^ number >> 63
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def record(delta=0, key=b"key", value=b"value", timestamp=0, attributes=0, headers=(), length=None):
    sized = lambda data: varint(-1) if data is None else varint(len(data)) + data
    body = bytes([attributes]) + varint(timestamp) + varint(delta) + sized(key) + sized(value) + varint(len(headers))
    body += b"".join(sized(name) + sized(content) for name, content in headers)
    return varint(len(body) if length is None else length) + body


def batch(
    records=None, count=None, last=None, attributes=0, base=0, magic=2, epoch=-1, crc=None, length=None, producer=(-1, -1, -1),
    first=CREATED, most=CREATED, body=None,
):  # fmt: skip
    """A batch of version 2; what is not said is right."""
    records = [record(delta) for delta in range(2)] if records is None else records
    count = len(records) if count is None else count
    body = b"".join(records) if body is None else body
    tail = struct.pack(">hiqqqhii", attributes, count - 1 if last is None else last, first, most, *producer, count) + body
    check = crc32c(tail) if crc is None else crc
    return struct.pack(">qiibI", base, len(tail) + 9 if length is None else length, epoch, magic, check) + tail


def old(magic, value=b"value", timestamp=CREATED):
    """A message of the formats before batches, with a wrong checksum of nothing else."""
    body = bytes([magic, 0]) + (struct.pack(">q", timestamp) if magic == 1 else b"") + struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", 0, len(body) + 4, 0) + body


GZIPPED = gzip.compress(record(0) + record(1), mtime=0)

ODD = {
    "two batches": batch() + batch(base=2),
    "three records": batch([record(delta) for delta in range(3)]),
    "no record": batch([]),
    "no record, count 1": batch([], count=1),
    "count too large": batch(count=3),
    "count too small": batch(count=1, last=1),
    "count of -1": batch(count=-1, last=1),
    "count of 2^31-1": batch(count=2**31 - 1, last=1),
    "last offset too large": batch(last=5),
    "last offset too small": batch(last=0),
    "last offset negative": batch(last=-1),
    "offsets all 0": batch([record(0), record(0)]),
    "offsets from 1": batch([record(1), record(2)], last=2),
    "offsets backwards": batch([record(1), record(0)]),
    "base offset 7": batch(base=7),
    "base offset negative": batch(base=-7),
    "leader epoch 9": batch(epoch=9),
    "wrong checksum": batch(crc=1),
    "magic 0": batch(magic=0),
    "magic 1": batch(magic=1),
    "magic 3": batch(magic=3),
    "magic -1": batch(magic=-1),
    "message of version 0": old(0),
    "message of version 1": old(1),
    # A batch has its codec there.
    "message of version 1, with a 4 in its timestamp": old(1, timestamp=CREATED & ~(0xFF << 24) | 4 << 24),
    "length of 0": batch(length=0),
    "length negative": batch(length=-1),
    "length one too large": batch(length=len(batch()) - 11),
    "length one too small": batch(length=len(batch()) - 13),
    "length of 2^31-1": batch(length=2**31 - 1),
    "a byte behind": batch() + b"\x00",
    "eleven bytes behind": batch() + bytes(11),
    "sixty bytes behind": batch() + bytes(60),
    "half a batch behind": batch() + batch()[:40],
    "half a batch": batch()[:40],
    "one byte": b"\x00",
    "sixteen bytes": bytes(16),
    "sixty-one zeros": bytes(61),
    "gzip": batch(count=2, attributes=1, body=GZIPPED),
    "gzip, cut": batch(count=2, attributes=1, body=GZIPPED[:-12]),
    "gzip, of nothing": batch(count=2, attributes=1, body=gzip.compress(b"", mtime=0)),
    "gzip, of garbage": batch(count=2, attributes=1, body=gzip.compress(b"\xff" * 30, mtime=0)),
    "gzip, garbage": batch(count=2, attributes=1, body=b"garbage" * 3),
    "snappy, garbage": batch(count=2, attributes=2, body=b"garbage" * 3),
    "lz4, garbage": batch(count=2, attributes=3, body=b"garbage" * 3),
    "zstd, garbage": batch(count=2, attributes=4, body=b"garbage" * 3),
    "codec 5": batch(attributes=5),
    "codec 7": batch(attributes=7),
    "control batch": batch([record(0, struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 0))], attributes=0x20),
    "transactional": batch(attributes=0x10),
    "transactional, with a producer": batch(attributes=0x10, producer=(4_000, 0, 0)),
    "timestamps of the log": batch(attributes=8),
    "delete horizon": batch(attributes=0x40),
    "unknown attribute": batch(attributes=0x100),
    "timestamp -1": batch(first=-1, most=-1),
    "timestamp -2": batch(first=-2, most=-2),
    "timestamp in a thousand years": batch(first=CREATED * 20, most=CREATED * 20),
    "timestamp 2^63-1": batch(first=2**63 - 1, most=2**63 - 1),
    "most recent timestamp too early": batch(most=5),
    "record's timestamp before the batch's": batch([record(0, timestamp=-5), record(1)]),
    "producer without epoch": batch(producer=(4_001, -1, 0)),
    "producer without sequence": batch(producer=(4_002, 0, -1)),
    "producer -2": batch(producer=(-2, 0, 0)),
    "producer, sequence 5": batch(producer=(4_003, 0, 5)),
    "producer, sequence 2^31-1": batch(producer=(4_004, 0, 2**31 - 1)),
    "producer, epoch 2^15-1": batch(producer=(4_005, 2**15 - 1, 0)),
    "sequence without producer": batch(producer=(-1, 0, 0)),
    "no key, no value": batch([record(0, None, None), record(1, None, None)]),
    "headers": batch([record(0, headers=[(b"a", b"b"), (b"", None)]), record(1)]),
    "a header without a name": batch([record(0, headers=[(None, b"b")]), record(1)]),
    "record's attributes": batch([record(0, attributes=7), record(1)]),
    "record's length too large": batch([record(0, length=99), record(1)]),
    "record's length negative": batch([record(0, length=-1), record(1)]),
    "record's length 0": batch([record(0, length=0), record(1)]),
    "a varint of eleven bytes": batch(count=2, body=b"\xff" * 11 + record(1)),
    "bytes behind the records": batch(count=2, body=record(0) + record(1) + bytes(5)),
    "larger than max.message.bytes": batch([record(0, value=bytes(1_100_000))]),
}  # fmt: skip
