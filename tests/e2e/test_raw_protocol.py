"""Frames that no client library would send: the broker answers as Apache Kafka does, or closes the connection, and lives on."""

import random
import socket
import struct

import pytest
from harness import expect, wire
from harness.clients import Admin
from harness.wire import API_VERSIONS, FETCH, METADATA, PRODUCE

UNSUPPORTED_VERSION, INVALID_REQUEST = 35, 42


@pytest.fixture
def connect(broker):
    return lambda: wire.Connection(broker.port)


@pytest.fixture(autouse=True)
def _still_serves(broker):
    """After every test here the broker answers on a new connection."""
    yield
    with wire.Connection(broker.port) as connection:
        error, _, _ = wire.read_api_versions(connection.ask(wire.api_versions(3)), 3)
    assert error == 0


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_api_versions_is_answered_in_kind(connect, version):
    with connect() as connection:
        response = connection.ask(wire.api_versions(version, correlation_id=77))
    assert struct.unpack(">i", response[:4]) == (77,)
    error, ranges, tags = wire.read_api_versions(response, version)
    assert error == 0
    assert ranges[API_VERSIONS][0] == 0
    # Old librdkafka misbehaves unless Produce is said to begin at 0.
    assert ranges[PRODUCE] == (0, 13)
    assert ranges[FETCH][0] == 4
    assert all(low <= high for low, high in ranges.values())
    if version >= 3:
        assert {wire.SUPPORTED_FEATURES, wire.FINALIZED_FEATURES_EPOCH, wire.FINALIZED_FEATURES} <= set(tags)


def test_old_clients_are_not_told_of_features_that_begin_at_zero(connect):
    """They fail on them; from version 4 on every feature is listed."""
    with connect() as connection:
        _, _, old = wire.read_api_versions(connection.ask(wire.api_versions(3)), 3)
        _, _, new = wire.read_api_versions(connection.ask(wire.api_versions(4)), 4)
    assert [name for name, low, _ in wire.read_features(old[wire.SUPPORTED_FEATURES]) if low == 0] == []
    assert "metadata.version" in [name for name, _, _ in wire.read_features(old[wire.SUPPORTED_FEATURES])]
    finalized = {name: (high, low) for name, high, low in wire.read_features(new[wire.FINALIZED_FEATURES])}
    assert finalized["metadata.version"][0] == finalized["metadata.version"][1] >= 7


@pytest.mark.parametrize("version", (6, 99, 32767, -1))
def test_a_version_of_api_versions_that_nobody_knows_gets_the_oldest_answer(connect, version):
    with connect() as connection:
        response = connection.ask(wire.header(API_VERSIONS, version, 5, flexible=True) + b"whatever follows")
        error, ranges, _ = wire.read_api_versions(response, 0)
        assert error == UNSUPPORTED_VERSION
        assert list(ranges) == [API_VERSIONS]
        # The connection goes on: the client asks again with what it was told.
        error, ranges, _ = wire.read_api_versions(connection.ask(wire.api_versions(min(4, ranges[API_VERSIONS][1]))), 4)
        assert error == 0


@pytest.mark.parametrize("name", ("", "-x", "x-", "a b", "größe", "x_y"))
def test_a_bad_software_name_is_an_invalid_request(connect, name):
    with connect() as connection:
        error, _, _ = wire.read_api_versions(connection.ask(wire.api_versions(3, name=name)), 3)
        assert error == INVALID_REQUEST
        error, _, _ = wire.read_api_versions(connection.ask(wire.api_versions(3, software_version=name)), 3)
        assert error == INVALID_REQUEST


@pytest.mark.parametrize("api_key", (4, 5, 6, 7, 999, -1, 32767))
def test_an_unknown_api_closes_the_connection(connect, api_key):
    with connect() as connection:
        connection.send(wire.frame(wire.header(api_key, 0)))
        assert connection.closed_by_broker()


@pytest.mark.parametrize(("api_key", "version"), ((METADATA, 99), (METADATA, -1), (PRODUCE, 2), (FETCH, 3), (FETCH, 99)))
def test_an_unsupported_version_of_another_api_closes_the_connection(connect, api_key, version):
    with connect() as connection:
        connection.send(wire.frame(wire.header(api_key, version)))
        assert connection.closed_by_broker()


@pytest.mark.parametrize("length", (-1, -(1 << 31), (1 << 31) - 1, 104857601))
def test_an_impossible_length_closes_the_connection(connect, length):
    with connect() as connection:
        connection.send(struct.pack(">i", length) + b"x" * 100)
        assert connection.closed_by_broker()


@pytest.mark.parametrize("length", (0, 1, 3, 7))
def test_a_frame_too_short_for_a_header_closes_the_connection(connect, length):
    with connect() as connection:
        connection.send(wire.frame(b"\x00" * length))
        assert connection.closed_by_broker()


def test_a_request_that_ends_early_closes_the_connection(connect):
    whole = wire.metadata(["some-topic", "other-topic"], version=1)
    for end in range(9, len(whole)):
        with connect() as connection:
            connection.send(wire.frame(whole[:end]))
            assert connection.closed_by_broker(), f"cut after {end} of {len(whole)} bytes"


@pytest.mark.parametrize("count", (1 << 20, (1 << 31) - 1))
def test_a_count_that_the_bytes_cannot_hold_closes_the_connection(broker, connect, count):
    before = broker.resident_bytes()
    for _ in range(20):
        with connect() as connection:
            connection.send(wire.frame(wire.header(METADATA, 1) + struct.pack(">i", count)))
            assert connection.closed_by_broker()
    assert broker.resident_bytes() < before + broker.memory_slack


def test_a_slow_client_is_waited_for(connect):
    """One byte at a time is a legal way to send a request."""
    with connect() as connection:
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in wire.frame(wire.api_versions(3)):
            connection.send(bytes([byte]))
        error, _, _ = wire.read_api_versions(connection.receive(), 3)
    assert error == 0


def test_requests_in_one_write_are_answered_in_order(connect):
    with connect() as connection:
        requests = [wire.api_versions(i % 4, correlation_id=i) for i in range(50)]
        connection.send(b"".join(map(wire.frame, requests)))
        assert [struct.unpack(">i", connection.receive()[:4])[0] for _ in requests] == list(range(50))


def test_a_client_that_hangs_up_in_the_middle_of_a_frame_harms_nobody(broker):
    for cut in range(1, 40, 3):
        with wire.Connection(broker.port) as connection:
            connection.send(wire.frame(wire.api_versions(3))[:cut])


def test_a_client_that_never_reads_its_answers_does_not_block_others(broker, connect):
    with connect() as deaf:
        deaf.socket.settimeout(1)
        try:
            for i in range(20_000):
                deaf.send(wire.frame(wire.api_versions(3, correlation_id=i)))
        except TimeoutError:
            pass  # the broker has stopped reading, as it should
        with connect() as other:
            assert wire.read_api_versions(other.ask(wire.api_versions(3)), 3)[0] == 0


def produce_request(topic, records, version=7, acks=1):
    """Produce with one partition and these bytes for records."""
    body = wire.string(None) + struct.pack(">hii", acks, 5000, 1) + wire.string(topic)
    body += struct.pack(">iii", 1, 0, -1 if records is None else len(records)) + (records or b"")
    return wire.header(PRODUCE, version, 3) + body


def produce_error(response):
    reader = wire.Reader(response)
    reader.take(4 + 4)
    reader.string()
    reader.take(4 + 4)
    return reader.int16()


# A valid batch of one record, taken apart below.
BATCH_HEAD = struct.Struct(">qiibIhiqqqhii")


def batch(value=b"v", magic=2, crc=None, count=1, attributes=0, last_offset_delta=0, length=None):
    record = b"\x00\x00\x00\x01" + bytes([len(value) * 2]) + value + b"\x00"
    record = bytes([len(record) * 2]) + record
    after_crc = struct.pack(">hiqqqhii", attributes, last_offset_delta, 0, 0, -1, -1, -1, count) + record
    checksum = crc32c(after_crc) if crc is None else crc
    size = 4 + 1 + 4 + len(after_crc) if length is None else length
    return struct.pack(">qiibI", 0, size, -1, magic, checksum) + after_crc


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


CORRUPT_MESSAGE, INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE = 2, 87, 76
BAD_BATCHES = {
    "a wrong checksum": (batch(crc=1), {CORRUPT_MESSAGE}),
    "a length beyond the bytes": (batch(length=5000), {CORRUPT_MESSAGE, INVALID_RECORD}),
    "a length below a batch's head": (batch(length=10), {CORRUPT_MESSAGE, INVALID_RECORD}),
    "more records said than there are": (batch(count=2, last_offset_delta=1), {INVALID_RECORD, CORRUPT_MESSAGE}),
    "no records": (batch(count=0), {INVALID_RECORD, CORRUPT_MESSAGE}),
    "a negative count": (batch(count=-5), {INVALID_RECORD, CORRUPT_MESSAGE}),
    "an offset delta that does not fit the count": (batch(last_offset_delta=9), {INVALID_RECORD, CORRUPT_MESSAGE}),
    "a control batch": (batch(attributes=0x20), {INVALID_RECORD}),
    "a compression that does not exist": (batch(attributes=7), {CORRUPT_MESSAGE, INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE, -1}),
    "records that are no gzip": (batch(attributes=1), {CORRUPT_MESSAGE, INVALID_RECORD, -1}),
    "records that are no zstd": (batch(attributes=4), {CORRUPT_MESSAGE, INVALID_RECORD, -1}),
    "two batches": (batch() + batch(), {INVALID_RECORD}),
    "garbage": (b"\xff" * 200, {CORRUPT_MESSAGE, INVALID_RECORD, -1}),
}


@pytest.fixture(scope="module")
def topic_for_batches(broker, java):
    Admin(java, broker).create("batches")
    return "batches"


def test_a_hand_made_batch_is_taken(connect, admin, java, broker, topic_for_batches):
    end = admin.offset(topic_for_batches, "latest")
    with connect() as connection:
        assert produce_error(connection.ask(produce_request(topic_for_batches, batch(b"by hand")))) == 0
    [record] = java.consume(broker, topic_for_batches, partition=0, offset=end, count=1)
    assert record["value_sha"] == expect.suite.sha256(b"by hand")


@pytest.mark.parametrize("case", BAD_BATCHES)
def test_a_bad_batch_is_refused_and_leaves_nothing_behind(connect, admin, topic_for_batches, case):
    records, allowed = BAD_BATCHES[case]
    end = admin.offset(topic_for_batches, "latest")
    with connect() as connection:
        assert produce_error(connection.ask(produce_request(topic_for_batches, records))) in allowed
    assert admin.offset(topic_for_batches, "latest") == end


def test_a_bad_batch_with_acks_0_closes_the_connection(connect, topic_for_batches):
    with connect() as connection:
        connection.send(wire.frame(produce_request(topic_for_batches, batch(crc=1), acks=0)))
        assert connection.closed_by_broker()


@pytest.mark.slow
def test_a_thousand_connections_of_garbage(broker, connect, admin, java, topic):
    admin.create(topic)
    chance = random.Random(4)
    before = broker.resident_bytes()
    for i in range(1000):
        with wire.Connection(broker.port, timeout=5) as connection:
            garbage = chance.randbytes(chance.choice((1, 4, 10, 100, 1000)))
            if i % 2:
                # A plausible length, so that the garbage is read as a request.
                garbage = wire.frame(garbage)
            elif i % 5 == 0:
                garbage = wire.frame(wire.header(chance.choice((0, 1, 2, 3, 18, 19, 32)), chance.randrange(14)) + garbage)
            try:
                connection.send(garbage)
            except ConnectionError:
                pass  # closed while we were still sending
    assert broker.alive()
    assert broker.resident_bytes() < before + broker.memory_slack
    expect.check_acknowledged(java.produce(broker, topic, partition=0, count=10), 10)


@pytest.mark.aplomb
def test_half_sent_large_frames_do_not_take_the_memory_they_announce(broker, connect):
    """Apache Kafka reserves what a frame announces; a hundred such clients end it with an OutOfMemoryError."""
    before = broker.resident_bytes()
    connections = [connect() for _ in range(100)]
    try:
        for connection in connections:
            connection.send(struct.pack(">i", 100 << 20) + b"\x00" * 1000)
        with connect() as other:
            assert wire.read_api_versions(other.ask(wire.api_versions(3)), 3)[0] == 0
        assert broker.resident_bytes() < before + broker.memory_slack
    finally:
        for connection in connections:
            connection.socket.close()
