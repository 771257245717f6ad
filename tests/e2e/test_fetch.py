"""Fetching: limits, the guarantee of one batch, long polls, and sessions over many partitions."""

import time

import pytest
from harness import expect

PROPERTIES = {"message.max.bytes": str(8 << 20)}


@pytest.mark.parametrize("reader", ("java", "python", "franz-go", "sarama"))
def test_a_batch_larger_than_every_limit_is_still_delivered(broker, admin, clients, topic, reader):
    admin.create(topic)
    large = {"seed": 1, "count": 1, "size": 3 << 20}
    clients["java"].produce(broker, topic, partition=0, config=["max.request.size=8388608", "batch.size=4194304"], **large)
    clients["java"].produce(broker, topic, partition=0, seed=2, count=3, size=100)
    records = clients[reader].consume(broker, topic, partition=0, offset="earliest", count=4, max_partition_bytes=1024)
    expected = expect.consumed("java", **large) + expect.consumed("java", seed=2, count=3, size=100)
    expect.check(records, expected)


def test_a_tiny_total_limit_still_makes_progress(broker, admin, java, topic):
    admin.create(topic)
    java.produce(broker, topic, partition=0, count=30, size=2000, seed=4, config=["batch.size=10000"])
    limits = ["fetch.max.bytes=1", "max.partition.fetch.bytes=1"]
    records = java.consume(broker, topic, partition=0, offset="earliest", count=30, config=limits)
    expect.check(records, expect.consumed("java", seed=4, count=30, size=2000))


def test_a_large_total_limit_shares_between_partitions(broker, admin, java, topic):
    admin.create(topic, partitions=4)
    for partition in range(4):
        java.produce(broker, topic, partition=partition, count=200, size=1000, seed=partition)
    limits = ["fetch.max.bytes=50000", "max.partition.fetch.bytes=40000"]
    records = java.consume(broker, topic, partition="all", offset="earliest", count=800, config=limits)
    for partition in range(4):
        own = [record for record in records if record["partition"] == partition]
        expect.check(own, expect.consumed("java", seed=partition, count=200, size=1000), partition=partition)


@pytest.mark.parametrize("reader", ("java", "python"))
def test_a_long_poll_ends_when_a_record_arrives(broker, admin, clients, topic, reader):
    """The reader may wait a minute for its answer and gives up before; so only an answer on arrival brings the record."""
    admin.create(topic)
    wait = {"java": "fetch.max.wait.ms=60000", "python": "fetch.wait.max.ms=60000"}[reader]
    limits = [wait, "request.timeout.ms=70000"] if reader == "java" else [wait, "socket.timeout.ms=70000"]
    session = clients.open(reader)
    try:
        session.begin("consume", bootstrap=broker.bootstrap, topic=topic, partition=0, offset=0, count=1, timeout=40, config=limits)
        # Time for the first poll to be parked at the broker; were it later, the test would only show less.
        time.sleep(2)
        clients["franz-go"].produce(broker, topic, partition=0, count=1, size=10, seed=9)
        assert session.line(45)["value_sha"] == expect.consumed("java", seed=9, count=1, size=10)[0]["value_sha"]
    finally:
        session.close()


def test_a_poll_that_wants_more_bytes_waits_for_them_or_for_its_time(broker, admin, clients, java, topic):
    admin.create(topic)
    java.produce(broker, topic, partition=0, count=2, size=100)
    # Far more than there is: the answer comes when the wait is over, with what there is.
    limits = ["fetch.min.bytes=1000000", "fetch.max.wait.ms=1500"]
    records = java.consume(broker, topic, partition=0, offset=0, count=2, timeout=30, config=limits)
    assert len(records) == 2


def test_an_incremental_session_delivers_whatever_partition_gets_records(broker, admin, clients, java, topic):
    """200 partitions in one consumer, so that all but the first fetch name only what changed."""
    admin.create(topic, partitions=200)
    session = clients.open("java")
    try:
        everything = ",".join(map(str, range(200)))
        session.begin("consume", bootstrap=broker.bootstrap, topic=topic, partition=everything, offset="latest", count=60, timeout=90)
        assert session.line(90) == {"positioned": True}
        wanted = []
        for round_, partitions in enumerate(((0, 199, 57, 100), (57, 3, 198), (0, 120, 57, 60, 61))):
            for partition in partitions:
                java.produce(broker, topic, partition=partition, count=5, size=20, seed=round_ * 1000 + partition)
                wanted += [(partition, round_, seq) for seq in range(5)]
        records = session.end(120)
    finally:
        session.close()
    assert len(records) == len(wanted) == 60
    for partition in {partition for partition, _, _ in wanted}:
        own = [record for record in records if record["partition"] == partition]
        seeds = [round_ * 1000 + partition for p, round_, seq in wanted if p == partition and seq == 0]
        expected = [line for seed in seeds for line in expect.consumed("java", seed=seed, count=5, size=20)]
        expect.check(own, expected, partition=partition)


def test_two_readers_of_one_partition_do_not_disturb_each_other(broker, admin, clients, topic):
    admin.create(topic)
    run = {"seed": 8, "count": 400, "size": 500}
    clients["java"].produce(broker, topic, partition=0, **run)
    sessions = [clients.open(name) for name in ("java", "franz-go", "sarama")]
    try:
        for session in sessions:
            session.begin("consume", bootstrap=broker.bootstrap, topic=topic, partition=0, offset="earliest", count=400, timeout=60)
        for session in sessions:
            expect.check(session.end(), expect.consumed("java", **run))
    finally:
        for session in sessions:
            session.close()
