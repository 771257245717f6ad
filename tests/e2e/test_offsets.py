"""Where reading starts: by offset, by time stamp, at the start, at the end; and what the offsets of a partition are said to be."""

import pytest
from harness import expect
from harness.clients import ALL, Admin

READERS = [client.name for client in ALL.values() if client.consumes]
START = 1_700_000_000_000
RUN = {"seed": 5, "count": 50, "size": 100, "key_prefix": "k", "timestamp": START}


@pytest.fixture(scope="module")
def filled(broker, java):
    """A topic of 50 records in several batches, one a millisecond from START on, of which the first five are deleted again."""
    admin = Admin(java, broker)
    admin.create("filled", partitions=2, retention_ms=-1)
    java.produce(broker, "filled", partition=1, config=["batch.size=600", "linger.ms=0"], **RUN)
    admin.call("delete-records", topic="filled", partition=1, before=5)
    return "filled"


@pytest.mark.parametrize("offset", (5, 6, 23, 49))
@pytest.mark.parametrize("reader", READERS)
def test_reading_starts_at_the_offset_asked_for(broker, clients, filled, reader, offset):
    records = clients[reader].consume(broker, filled, partition=1, offset=offset, count=50 - offset)
    expect.check(records, expect.consumed("java", **RUN)[offset:], first_offset=offset, partition=1)


@pytest.mark.parametrize("reader", READERS)
def test_the_earliest_record_is_the_first_that_was_not_deleted(broker, clients, filled, reader):
    records = clients[reader].consume(broker, filled, partition=1, offset="earliest", count=45)
    expect.check(records, expect.consumed("java", **RUN)[5:], first_offset=5, partition=1)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("milliseconds", (-1000, 5, 30, 49))
def test_reading_starts_at_the_first_record_not_older_than_the_time_asked_for(broker, clients, filled, reader, milliseconds):
    first = max(5, milliseconds)
    records = clients[reader].consume(broker, filled, partition=1, timestamp=START + milliseconds, count=50 - first)
    expect.check(records, expect.consumed("java", **RUN)[first:], first_offset=first, partition=1)


@pytest.mark.parametrize("offset", (4, 51))
@pytest.mark.parametrize("reader", ("java", "franz-go", "sarama"))
def test_an_offset_outside_the_log_is_refused(broker, clients, filled, reader, offset):
    with pytest.raises(Exception, match="(?i)out.?of.?range|outside the range|NoOffsetForPartition"):
        clients[reader].consume(broker, filled, partition=1, offset=offset, count=1, timeout=20)


@pytest.mark.parametrize("reader", ("java", "franz-go", "python"))
def test_a_reader_at_the_end_sees_only_what_comes_later(broker, clients, admin, topic, reader):
    admin.create(topic)
    clients["python"].produce(broker, topic, partition=0, count=10, size=10)
    session = clients.open(reader)
    try:
        session.begin("consume", bootstrap=broker.bootstrap, topic=topic, partition=0, offset="latest", count=5, timeout=60)
        if reader == "java":
            # It says when it has found the end; the others are given records until one arrives.
            assert session.line() == {"positioned": True}
            clients["python"].produce(broker, topic, partition=0, count=5, size=10)
        else:
            clients["python"].produce(broker, topic, partition=0, count=100, size=10, rate=20)
        records = session.end()
    finally:
        session.close()
    first = records[0]["offset"]
    assert [record["offset"] for record in records] == list(range(first, first + 5))
    assert first == 10 if reader == "java" else first >= 10


def test_offsets_by_every_specification(admin, filled):
    def at(spec):
        return admin.call("list-offset", topic=filled, partition=1, spec=str(spec))

    assert at("earliest")["offset"] == 5
    assert at("latest") == {"offset": 50, "timestamp": -1}
    assert at("earliest-local")["offset"] == 5
    assert at("max-timestamp") == {"offset": 49, "timestamp": START + 49}
    assert at(START + 20) == {"offset": 20, "timestamp": START + 20}
    assert at(START) == {"offset": 5, "timestamp": START + 5}
    assert at(START + 50) == {"offset": -1, "timestamp": -1}


def test_offsets_of_an_empty_partition(admin, filled):
    for spec, offset in (("earliest", 0), ("latest", 0), ("max-timestamp", -1), (START, -1)):
        assert admin.offset(filled, spec, partition=0) == offset, spec


def test_a_partition_that_does_not_exist_has_no_offsets(admin, filled):
    hurry = ["default.api.timeout.ms=2000", "request.timeout.ms=1000"]
    assert admin.answer("list-offset", config=hurry, topic=filled, partition=2, spec="latest")["error"] == "TimeoutException"


@pytest.mark.parametrize("compression", ("none", "gzip", "snappy", "lz4", "zstd"))
def test_times_are_found_inside_compressed_batches(broker, admin, java, topic, compression):
    admin.create(topic, retention_ms=-1)
    java.produce(broker, topic, partition=0, count=40, size=50, compression=compression, timestamp=START)
    for milliseconds in (0, 1, 17, 39):
        assert admin.offset(topic, START + milliseconds) == milliseconds
    assert admin.offset(topic, START + 40) == -1


def test_the_newest_time_stamp_need_not_be_the_last_records(broker, admin, java, topic):
    admin.create(topic, retention_ms=-1)
    for timestamp in (START + 1000, START + 5000, START + 3000):
        java.produce(broker, topic, partition=0, count=1, timestamp=timestamp)
    found = admin.call("list-offset", topic=topic, spec="max-timestamp")
    assert found == {"offset": 1, "timestamp": START + 5000}
    assert admin.offset(topic, START + 2000) == 1
    assert admin.offset(topic, START + 5001) == -1
