"""Requests that name a thing a hundred thousand times: each costs what its bytes are worth, and nobody else waits for it."""

import base64
import threading
import time
import uuid

import pytest
from harness import fetch, wire

PROPERTIES = {"aplomb.fetch.partitions.max": "300000", "aplomb.shards": "1"}
MANY = 100_000
PATIENCE = 60


@pytest.fixture
def made(broker, admin, java, topic):
    """A topic with a megabyte of records, as its id."""
    topic_id = admin.create(topic, partitions=2)["id"]
    java.produce(broker, topic, partition=0, count=1000, size=1000)
    return uuid.UUID(bytes=base64.urlsafe_b64decode(topic_id + "=="))


@pytest.fixture
def memory(broker):
    """The broker may not grow by more than what hostile input is allowed."""
    before = broker.resident_bytes()
    yield
    assert broker.resident_bytes() < before + broker.memory_slack


class Neighbour(threading.Thread):
    """Asks for metadata, again and again, beside what a test does; counts the answers."""

    def __init__(self, broker):
        super().__init__(daemon=True)
        self._broker = broker
        self._done = threading.Event()
        self.longest = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *unused):
        self._done.set()
        self.join(PATIENCE)
        assert not self.is_alive(), "the neighbour is not answered any more"

    def run(self):
        with wire.Connection(self._broker.port, timeout=PATIENCE) as connection:
            while not self._done.is_set():
                asked = time.monotonic()
                connection.ask(wire.metadata([]))
                self.longest = max(self.longest, time.monotonic() - asked)
                time.sleep(0.01)


def read(broker, request):
    with wire.Connection(broker.port, timeout=PATIENCE) as connection:
        return fetch.read(connection.ask(request))


def test_a_partition_that_is_fetched_many_times_at_once_is_answered_once(broker, made, memory):
    with Neighbour(broker), wire.Connection(broker.port, timeout=PATIENCE) as connection:
        answer = connection.ask(fetch.request([(made, 0, 0)] * MANY))
    error, _, found = fetch.read(answer)
    assert error == 0
    assert len(found[made, 0].records) > 500_000
    assert len(answer) < len(found[made, 0].records) + 200


def test_a_fetch_that_names_a_partition_many_times_and_waits_costs_appends_nothing(broker, made, java, topic, memory):
    with wire.Connection(broker.port, timeout=PATIENCE) as connection, Neighbour(broker):
        wanted = fetch.request([(made, 1, 0)] * MANY, max_wait=10_000, min_bytes=2**31 - 1, max_bytes=2**31 - 1)
        connection.send(wire.frame(wanted))
        java.produce(broker, topic, partition=1, count=200, size=100)
        _, _, found = fetch.read(connection.receive())
    assert set(found) == {(made, 1)}
    assert found[made, 1].high_watermark == 200


@pytest.mark.aplomb
def test_sessions_know_no_more_partitions_than_they_may(broker, made, memory):
    """The first session takes most of what there is; the next client is served without one."""
    wide = [(made, number, 0) for number in range(MANY)]
    error, first, found = read(broker, fetch.request(wide, epoch=0))
    assert (error, len(found)) == (0, MANY)
    assert first > 0
    error, second, _ = read(broker, fetch.request(wide, epoch=0))
    assert (error, second) == (0, 0)
    # One that grows beyond it ends, and its client begins anew.
    more = [(made, number, 0) for number in range(MANY, MANY + 60_000)]
    error, _, _ = read(broker, fetch.request(more, session=first, epoch=1))
    assert error == 70
    error, third, _ = read(broker, fetch.request([(made, 0, 0)], epoch=0))
    assert error == 0
    assert third > 0


def test_fetches_that_wait_for_too_much_together_are_all_answered(broker, admin, topic, memory):
    """A hundred wait for two thousand partitions each: those that are too many do not wait."""
    topic_id = uuid.UUID(bytes=base64.urlsafe_b64decode(admin.create(topic, partitions=2000)["id"] + "=="))
    wide = fetch.request([(topic_id, number, 0) for number in range(2000)], max_wait=2_000, min_bytes=10)
    waiting = [wire.Connection(broker.port, timeout=PATIENCE) for _ in range(100)]
    try:
        with Neighbour(broker):
            for connection in waiting:
                connection.send(wire.frame(wide))
            for connection in waiting:
                error, _, found = fetch.read(connection.receive())
                assert (error, len(found)) == (0, 2000)
    finally:
        for connection in waiting:
            connection.socket.close()
