"""The tail's file is deleted under a running broker, as systemd-logind does with the files of a user who logs out; or replaced,
overwritten, or cut."""

import signal
import time

import pytest
from confluent_kafka import Producer
from harness import broker as brokers
from harness.pages import get, one, samples
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


def files_in(memory):
    files = [path for path in memory.rglob("*") if path.is_file()]
    assert files
    return files


def delete(memory):
    for path in files_in(memory):
        path.unlink()


def watched(prepare):
    """A broker that is running, and the address of its pages."""
    (port,) = brokers.free_ports(1)
    address = f"127.0.0.1:{port}"
    return prepare({"aplomb.metrics.listener": address, "aplomb.tail.bytes": str(32 << 20)}).start(), address


def is_lost(address):
    return one(samples(address), "aplomb_tail_file_lost") == 1


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


def test_another_file_in_its_place(prepare, admin_of, java, memory):
    """Which the broker leaves alone: it says so for as long as it lasts, and goes on."""
    broker, address = watched(prepare)
    admin_of(broker).create("kept", partitions=1)
    assert (get(address, "/readyz"), is_lost(address)) == ((200, "ready\n"), False)
    (path,) = files_in(memory)
    path.unlink()
    path.write_text("another's")
    wait_until_it_says(broker, "another file has its name")
    status, text = get(address, "/readyz")
    assert status == 503 and "another file has its name" in text
    assert get(address, "/healthz")[0] == 200 and is_lost(address)
    java.produce(broker, "kept", partition=0, count=20, idempotent=True)
    assert path.read_text() == "another's"


def test_overwritten(prepare, admin_of, java, memory):
    """By zeros: what is acknowledged once the tail is whole again survives the kill."""
    broker, address = watched(prepare)
    admin_of(broker).create("kept", partitions=1)
    (path,) = files_in(memory)
    before = path.stat()
    with path.open("r+b") as file:
        file.write(bytes(before.st_size))
    wait_until_it_says(broker, "was overwritten")
    wait_until_it_says(broker, "the tail is whole again", timeout=60)
    assert get(address, "/readyz")[0] == 200 and not is_lost(address)
    (path,) = files_in(memory)
    assert path.stat().st_ino != before.st_ino
    java.produce(broker, "kept", partition=0, count=20, idempotent=True)
    broker.kill()
    broker.start()
    assert "was not closed cleanly, and" not in said(broker)
    assert [record["offset"] for record in java.consume(broker, "kept", partition=0, offset="earliest", count=20)] == list(range(20))


def test_cut_shorter(prepare, admin_of, java, memory):
    """Then the broker ends when it needs what was behind, and no start takes what is left for a tail (docs/operating/disks.md)."""
    broker, _ = watched(prepare)
    admin_of(broker).create("cut", partitions=1)
    java.produce(broker, "cut", partition=0, count=20, idempotent=True)
    (path,) = files_in(memory)
    with path.open("r+b") as file:
        file.truncate(4096)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("cut", b"x" * 1000, partition=0)
    producer.flush(5)
    assert broker.process.wait(30) == -signal.SIGBUS
    with pytest.raises(brokers.BrokerDied):
        broker.start()
    path.unlink()
    broker.start()
    java.produce(broker, "cut", partition=0, count=20, idempotent=True)
