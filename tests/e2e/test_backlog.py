"""A reader far behind the end, in a log several times larger than what the broker keeps in memory, beside readers at the end."""

import pytest
from harness import expect
from harness.clients import Admin

# What Aplomb keeps of all logs in memory; Apache Kafka has no such setting.
TAIL = 16 << 20
PROPERTIES = {"aplomb.tail.bytes": str(TAIL)}
COUNT, SIZE = 120_000, 1000
PARTITIONS = 3

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def backlog(broker, java):
    """Three partitions with 120 MB between them, written as fast as the broker takes them."""
    Admin(java, broker).create("backlog", partitions=PARTITIONS, segment_bytes=16 << 20)
    for partition in range(PARTITIONS):
        [line] = java.produce(
            broker, "backlog", partition=partition, count=COUNT // PARTITIONS, size=SIZE, seed=partition, idempotent=True, summary=True
        )
        assert line == {"count": COUNT // PARTITIONS}
    return "backlog"


def whole(java, broker, topic):
    [line] = java.consume(broker, topic, partition="all", offset="earliest", count=COUNT, timeout=120, summary=True)
    return line


def test_everything_is_read_back_while_others_read_the_end(broker, admin, clients, java, backlog):
    admin.create("live")
    behind, at_the_end = clients.open("java"), clients.open("java")
    try:
        run = {"partition": 0, "count": 1000, "rate": 200, "size": 200, "seed": 3}
        at_the_end.begin(
            "consume", bootstrap=broker.bootstrap, topic="live", partition=0, offset="latest", count=1000, timeout=90, summary=True
        )
        assert at_the_end.line() == {"positioned": True}
        behind.begin(
            "consume", bootstrap=broker.bootstrap, topic=backlog, partition="all", offset="earliest", count=COUNT, timeout=120, summary=True
        )
        clients["franz-go"].produce(broker, "live", **run)
        [live] = at_the_end.end()
        [old] = behind.end(150)
    finally:
        behind.close()
        at_the_end.close()
    assert (live["records"], live["gaps"]) == (1000, 0)
    assert (old["records"], old["bytes"], old["gaps"]) == (COUNT, COUNT * SIZE, 0)
    # What a second, undisturbed reader finds is the same to the byte.
    assert whole(java, broker, backlog)["values"] == old["values"]


def test_the_backlog_is_what_was_sent(broker, clients, backlog):
    """Samples from the start, the middle and the end of each partition, against the values that were sent."""
    for partition in range(PARTITIONS):
        for offset in (0, COUNT // PARTITIONS // 2, COUNT // PARTITIONS - 20):
            records = clients["franz-go"].consume(broker, backlog, partition=partition, offset=offset, count=20)
            values = [expect.suite.sha256(expect.suite.value(partition, offset + i, SIZE)) for i in range(20)]
            assert [record["value_sha"] for record in records] == values


def test_an_old_time_is_found_in_the_files(broker, admin, java, backlog):
    [first] = java.consume(broker, backlog, partition=1, offset=0, count=1)
    assert admin.offset(backlog, first["timestamp"], partition=1) == 0
    [later] = java.consume(broker, backlog, partition=1, offset=20_000, count=1)
    found = admin.offset(backlog, later["timestamp"], partition=1)
    [at_found] = java.consume(broker, backlog, partition=1, offset=found, count=1)
    assert found <= 20_000
    assert at_found["timestamp"] == later["timestamp"]


def test_the_backlog_outlives_a_restart(broker, java, backlog):
    before = whole(java, broker, backlog)
    broker.stop()
    broker.start()
    assert whole(java, broker, backlog) == before


@pytest.mark.aplomb
def test_memory_stays_within_reach_of_the_tail(broker, backlog):
    assert broker.resident_bytes() < TAIL + (192 << 20)
