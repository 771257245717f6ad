"""A tail whose size or place was changed between a kill and the next start: what it held is in the files or in the new one."""

import pytest
from harness import dump
from rig.book import Book

pytestmark = pytest.mark.aplomb

PARTITIONS = range(5)
MiB = 1 << 20
CHANGES = {
    "the smallest": lambda other: {"aplomb.tail.bytes": str(4 * MiB)},
    "smaller": lambda other: {"aplomb.tail.bytes": str(12 * MiB)},
    "larger": lambda other: {"aplomb.tail.bytes": str(96 * MiB)},
    "elsewhere": lambda other: {"aplomb.tail.dir": str(other)},
    "elsewhere and smaller": lambda other: {"aplomb.tail.dir": str(other), "aplomb.tail.bytes": str(8 * MiB)},
}


@pytest.fixture
def other_memory(memory):
    place = memory / "other"
    place.mkdir()
    return place


def fill_and_kill(broker, producers, records):
    for producer in producers:
        producer.wait_for_acks(count=records)
    broker.kill()


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_kill_under_load(prepare, admin_of, loads, other_memory, change):
    """Twice: there, and back again to what it was."""
    broker = prepare({"aplomb.tail.bytes": str(32 * MiB), "aplomb.flush.interval.ms": "60000"}).start()
    admin_of(broker).create("moved", partitions=len(PARTITIONS), retention_ms=-1)
    producers = loads(broker, "moved", PARTITIONS, rate=3000, size=1000)
    book = Book("moved", PARTITIONS, producers)
    before = dict(broker.properties)
    for properties in ({**before, **CHANGES[change](other_memory)}, before):
        fill_and_kill(broker, producers, 500)
        broker.properties = properties
        broker.start()
        book.turn_page(broker, f"with {change} tail")
    for producer in producers:
        producer.stop()
    book.close(broker)


@pytest.mark.root
@pytest.mark.parametrize("change", ("the smallest", "larger", "elsewhere and smaller"))
def test_what_no_file_has(prepare, admin_of, loads, disk, other_memory, change, tools):
    """The disk is frozen from before the first record on, so that the tail is the only place where the records are."""
    frozen = disk("ext4")
    broker = prepare({"aplomb.tail.bytes": str(32 * MiB)}, log_dirs=[frozen.path / "data"]).start()
    admin_of(broker).create("moved", partitions=len(PARTITIONS), retention_ms=-1)
    producers = loads(broker, "moved", PARTITIONS, rate=3000, size=1000)
    with frozen.frozen():
        for producer in producers:
            producer.wait_for_acks(count=3000)
        # Threads that wait for the frozen disk can only die when it thaws.
        broker.process.kill()
    broker.process.wait()
    broker.properties.update(CHANGES[change](other_memory))
    broker.start()
    book = Book("moved", PARTITIONS, producers)
    book.turn_page(broker, f"with {change} tail")
    for producer in producers:
        producer.stop()
    book.close(broker)
    broker.stop()
    dump.check(tools, broker)
