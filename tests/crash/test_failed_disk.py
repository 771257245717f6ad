"""A disk that is full, or that answers with errors: its log directory goes offline, the broker and the other directory do not, and once
the disk is repaired everything that was acknowledged is there."""

import time
from contextlib import ExitStack

import pytest
from harness import wire
from rig import disks, silence
from rig.book import Book
from rig.load import CLIENTS, placement, read
from rig.raw import KAFKA_STORAGE_ERROR, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, fetch_error, produce_error

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

MiB = 1 << 20
# Without another replica a partition on a lost disk has no leader; which of these a client sees depends on when it asks.
LOST = {KAFKA_STORAGE_ERROR, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER}


class Sick:
    """A disk that can be broken and repaired, in one of several ways."""

    def __init__(self, how, disk, stack):
        self.how = how
        if how == "an image that cannot grow":
            self._memory = stack(disks.small_memory(96))
            self.disk = disk("ext4", 512, backing=self._memory)
        elif how == "a full file system":
            self.disk = disk("ext4", 64)
        else:
            self.disk = disk("xfs" if how == "xfs that has shut down" else "ext4", 512)

    def broken(self):
        if self.how == "a full file system":
            self._filler = self.disk.fill()
        elif self.how == "an image that cannot grow":
            self._filler = disks.fill(self._memory)
        else:
            self.disk.fail()

    def repair(self):
        """After the broker has ended."""
        if self.how == "a full file system":
            self._filler.unlink()
        elif self.how == "an image that cannot grow":
            self._filler.unlink()
            self.disk.remount()
        else:
            self.disk.remount()


WAYS = ("a full file system", "an image that cannot grow", "ext4 that has shut down", "xfs that has shut down")


@pytest.fixture
def stack():
    """Enters context managers and leaves them after the disks are gone."""
    with ExitStack() as managers:
        yield managers.enter_context


@pytest.fixture
def two_disks(stack, prepare, admin_of, disk, request):
    """(broker, the disk that will fail, its partitions, those of the healthy one); metadata is on the healthy one."""
    sick, healthy = Sick(request.param, disk, stack), disk("ext4")
    directories = [healthy.path / "data", sick.disk.path / "data"]
    broker = prepare({"aplomb.tail.bytes": str(32 * MiB)}, log_dirs=directories).start()
    admin = admin_of(broker)
    admin.create("both", partitions=6, retention_ms=-1, segment_bytes=MiB)
    well, ill = placement(admin, "both", 6, directories)
    assert len(well) == len(ill) == 3
    return broker, sick, ill, well


def wait_until_lost(broker, partitions, patience=60):
    """Until each of the partitions refuses to be written to, and is not to be read either."""
    deadline = time.monotonic() + patience
    waiting = set(partitions)
    while waiting:
        for partition in sorted(waiting):
            with wire.Connection(broker.port) as connection:
                error = produce_error(connection, "both", partition)
            if error in LOST:
                waiting.discard(partition)
            else:
                assert error in (0, REQUEST_TIMED_OUT), f"partition {partition} answers with error {error}"
        assert time.monotonic() < deadline, f"partitions {waiting} still take records {patience} s after their disk has failed"
        time.sleep(0.2)
    for partition in partitions:
        with wire.Connection(broker.port) as connection:
            assert fetch_error(connection, "both", partition) in LOST


def kill(broker, ill):
    broker.kill()


def stop(broker, ill):
    broker.stop()


def start_without(broker, ill):
    """A supervisor starts the broker again, twice, while the disk is still broken: it does without it, and does not forget."""
    broker.kill()
    for end in (broker.kill, broker.stop):
        broker.start()
        wait_until_lost(broker, ill)
        end()


FEW = ("a full file system", "ext4 that has shut down")
CASES = [(how, kill) for how in WAYS] + [(how, ending) for ending in (stop, start_without) for how in FEW]


@pytest.mark.parametrize(("two_disks", "ending"), CASES, indirect=["two_disks"], ids=lambda each: getattr(each, "__name__", each))
def test_a_lost_disk_is_one_lost_disk(two_disks, load, ending):
    broker, sick, ill, well = two_disks
    load_ill = [load(client, broker, "both", ill, rate=300, size=1000, name=f"{client}-ill") for client in CLIENTS]
    load_well = [load(client, broker, "both", well, rate=300, size=500, name=f"{client}-well") for client in CLIENTS]
    for producer in (*load_ill, *load_well):
        producer.wait_until_known()
    book = Book("both", well, load_well)
    time.sleep(1)
    begin = int(time.time() * 1000)
    sick.broken()
    time.sleep(1)
    wait_until_lost(broker, ill)
    time.sleep(3)
    end = int(time.time() * 1000)
    for producer in load_ill:
        producer.kill()
        producer.news()
    for producer in load_well:
        producer.news()
        silence.check(f"the producer {producer.name}", [(ack.at, ack.partition) for ack in producer.acks], well, begin, end)
    book.turn_page(broker, "with a lost disk")

    ending(broker, ill)
    sick.repair()
    broker.start()
    for producer in load_well:
        producer.wait_for_acks()
        producer.stop()
    book.close(broker, "after the repair")
    if broker.kind == "kafka" and "shut down" in sick.how:
        return  # what had not been synced is gone from its page cache
    found = read(broker, "both", ill)
    for producer in load_ill:
        for ack in producer.acks:
            log = found.records[ack.partition]
            there = log[ack.offset][1:] if ack.offset < len(log) else f"nothing; the log ends at {len(log)}"
            assert there == (producer.name, ack.seq), f"record {ack.seq} of {producer.name}, acknowledged at {ack.partition}/{ack.offset}: {there}"
