"""The tail's file is deleted under a running broker, as systemd-logind does with the files of a user who logs out."""

import time

import pytest
from rig.book import Book

pytestmark = pytest.mark.aplomb

PARTITIONS = range(4)


def said(broker):
    return broker.log_file.read_text()


def wait_until_it_says(broker, text, since=0, timeout=30):
    deadline = time.monotonic() + timeout
    while text not in said(broker)[since:]:
        assert time.monotonic() < deadline, f"no '{text}' in the log:\n{broker.log_tail()}"
        time.sleep(0.1)


def delete(memory):
    files = [path for path in memory.rglob("*") if path.is_file()]
    assert files
    for path in files:
        path.unlink()


def test_killed_after_it_went_on_in_a_new_file(prepare, admin_of, loads, memory):
    """Twice, under load: what was acknowledged survives the kill, since the tail goes on in a new file."""
    broker = prepare({"aplomb.tail.bytes": str(32 << 20)}).start()
    admin_of(broker).create("kept", partitions=len(PARTITIONS), retention_ms=-1)
    producers = loads(broker, "kept", PARTITIONS, rate=2000, size=500)
    book = Book("kept", PARTITIONS, producers)
    for time_of_it in ("once", "twice"):
        before = len(said(broker))
        delete(memory)
        wait_until_it_says(broker, "is gone: it was deleted", since=before)
        wait_until_it_says(broker, "the tail is whole again", since=before)
        for producer in producers:
            producer.wait_for_acks()
        broker.kill()
        broker.start()
        assert "was not closed cleanly, and" not in said(broker)
        book.turn_page(broker, f"deleted {time_of_it}")
    for producer in producers:
        producer.stop()
    book.close(broker)


def test_stopped_cleanly_before_it_was_noticed(prepare, admin_of, loads, memory):
    broker = prepare({"aplomb.tail.bytes": str(32 << 20), "aplomb.flush.interval.ms": "60000"}).start()
    admin_of(broker).create("kept", partitions=len(PARTITIONS), retention_ms=-1)
    producers = loads(broker, "kept", PARTITIONS, rate=2000, size=500)
    book = Book("kept", PARTITIONS, producers)
    for producer in producers:
        producer.wait_for_acks(count=500)
    delete(memory)
    broker.stop()
    broker.start()
    book.turn_page(broker, "after the clean stop")
    for producer in producers:
        producer.stop()
    book.close(broker)


def test_killed_before_it_was_noticed(prepare, admin_of, java, memory):
    """Then records are lost, and the start says so."""
    broker = prepare({"aplomb.flush.interval.ms": "60000"}).start()
    admin_of(broker).create("lost", partitions=1)
    java.produce(broker, "lost", partition=0, count=20, idempotent=True)
    delete(memory)
    broker.kill()
    broker.start()
    assert f"log directory {broker.log_dirs[0]} was not closed cleanly, and" in said(broker)
    assert "is gone, though the machine was not started anew" in said(broker)
