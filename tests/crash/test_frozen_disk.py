"""A file system that is frozen for twenty seconds: producers, and consumers of the newest records, notice nothing until the tail is
full, and no acknowledged record is ever lost."""

import signal
import threading
import time

import pytest
from harness import clients as client_programs
from harness import wire
from rig import silence
from rig.book import Book
from rig.load import CLIENTS, Follower, Load, existing_topics, placement

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

FREEZE = 20
MiB = 1 << 20


def now():
    """Milliseconds, as in the logs of the clients."""
    return int(time.time() * 1000)


def acks(producer):
    producer.news()
    return [(ack.at, ack.partition) for ack in producer.acks]


def freeze(disk):
    """Freezes the disk for a while; when that was."""
    with disk.frozen():
        begin = now()
        time.sleep(FREEZE)
        end = now()
    return begin, end


def finish(book, broker):
    for producer in book.loads:
        producer.wait_for_acks()
    for producer in book.loads:
        producer.stop()
    book.close(broker)


class Bystander:
    """A broker with all its files, metadata included, on a file system that is going to be frozen, two producers, and a reader of the
    end."""

    PARTITIONS = range(4)

    def __init__(self, broker, admin_of, directory):
        self.broker = broker.start()
        admin_of(broker).create("calm", partitions=len(self.PARTITIONS), retention_ms=-1, segment_bytes=4 * MiB)
        self.producers = [Load(client, broker, "calm", self.PARTITIONS, directory, rate=500, size=1000) for client in CLIENTS]
        for producer in self.producers:
            producer.wait_until_known()
        self.book = Book("calm", self.PARTITIONS, self.producers)
        self.follower = Follower(broker, "calm", self.PARTITIONS, directory)

    def close(self):
        self.follower.close()
        for producer in self.producers:
            producer.kill()

    def check_producers(self, begin, end):
        for producer in self.producers:
            silence.check(f"the {producer.name} producer", acks(producer), self.PARTITIONS, begin, end)

    def finish(self, begin, end):
        """Everything is there; and the reader saw it all, as it was, and without a pause."""
        finish(self.book, self.broker)
        arrivals = self.follower.stop(until={partition: len(log) for partition, log in self.book.log.items()})
        silence.check("the reader", [(at, partition) for at, partition, *_ in arrivals], self.PARTITIONS, begin, end)
        for partition in self.PARTITIONS:
            seen = [(offset, producer, seq) for _, there, offset, producer, seq in arrivals if there == partition]
            first = seen[0][0]
            assert seen == [(first + i, *entry) for i, entry in enumerate(self.book.log[partition][first:])]


@pytest.mark.stalls_kafka
def test_producers_and_readers_of_the_end_notice_nothing(prepare, admin_of, disk, tmp_path):
    """On ext4 and on XFS, one broker for each, frozen at the same time."""
    frozen = {kind: disk(kind) for kind in ("ext4", "xfs")}
    standing_by = []
    try:
        for kind, each in frozen.items():
            broker = prepare({"aplomb.tail.bytes": str(128 * MiB)}, log_dirs=[each.path / "data"], name=kind)
            (tmp_path / f"by-{kind}").mkdir()
            standing_by.append(Bystander(broker, admin_of, tmp_path / f"by-{kind}"))
        time.sleep(2)
        with frozen["ext4"].frozen(), frozen["xfs"].frozen():
            begin = now()
            time.sleep(FREEZE)
            end = now()
        for each in standing_by:
            each.check_producers(begin, end)
            each.finish(begin, end)
    finally:
        for each in standing_by:
            each.close()


@pytest.mark.parametrize("then", ("thaw", "kill", "stop"))
def test_a_freeze_loses_nothing(prepare, admin_of, loads, disk, then):
    """Also where it is noticed: what Apache Kafka promises too. The kill or the stop comes during the freeze, and is over some time
    after it: threads that wait for the disk can only end when it thaws."""
    frozen = disk("xfs" if then == "thaw" else "ext4")
    broker = prepare({"aplomb.tail.bytes": str(8 * MiB)}, log_dirs=[frozen.path / "data"]).start()
    partitions = range(4)
    admin_of(broker).create("kept", partitions=len(partitions), retention_ms=-1, segment_bytes=4 * MiB)
    book = Book("kept", partitions, loads(broker, "kept", partitions, rate=1500, size=1000))
    with frozen.frozen():
        time.sleep(6)
        if then != "thaw":
            broker.process.send_signal(signal.SIGKILL if then == "kill" else signal.SIGTERM)
            time.sleep(2)
    if then != "thaw":
        broker.process.wait(60)
        broker.start()
    finish(book, broker)


@pytest.mark.stalls_kafka
def test_a_full_tail_makes_producers_wait_and_nothing_else(prepare, admin_of, loads, disk):
    """Acknowledgements go on while there is room, then stop; other requests are answered all the time; after the thaw all goes on."""
    frozen = disk("ext4")
    tail = 16 * MiB
    broker = prepare({"aplomb.tail.bytes": str(tail)}, log_dirs=[frozen.path / "data"]).start()
    partitions = range(4)
    admin_of(broker).create("full", partitions=len(partitions), retention_ms=-1)
    size = 2000
    producers = loads(broker, "full", partitions, rate=500, size=size)
    book = Book("full", partitions, producers)
    time.sleep(1)
    answered = []
    with frozen.frozen():
        begin = now()
        deadline = time.monotonic() + FREEZE
        while time.monotonic() < deadline:
            with wire.Connection(broker.port, timeout=5) as connection:
                brokers, _ = wire.read_metadata(connection.ask(wire.metadata([])))
                assert brokers
            answered.append((now(), 0))
            time.sleep(0.2)
        end = now()
        for producer in producers:
            producer.news()
    moments = sorted(ack.at for producer in producers for ack in producer.acks if begin <= ack.at <= end)
    acknowledged = len(moments) * size
    assert acknowledged <= tail + MiB, f"{acknowledged} bytes were acknowledged that can be neither on the disk nor in a tail of {tail}"
    assert silence.longest(moments, begin, end) > 3, "the tail was never full"
    # Half of the tail may go to batches that are not full and to what was being written; from then on it may be full.
    half = tail // 2 // size
    if len(moments) < half:
        raise silence.Silent(f"{acknowledged} bytes were acknowledged during the freeze, less than half of the tail of {tail}")
    silence.check("the producers", [(at, 0) for at in moments], [0], begin, moments[half - 1])
    silence.check("whoever asked for metadata", answered, [0], begin, end)
    finish(book, broker)


@pytest.fixture
def two_disks(prepare, admin_of, disk):
    """A broker over a disk that will be frozen and one that will not, metadata on the latter, a small tail, and a topic over both:
    (broker, frozen disk, partitions on it, partitions on the healthy one)."""
    sick, healthy = disk("ext4"), disk("xfs")
    directories = [healthy.path / "data", sick.path / "data"]
    broker = prepare({"aplomb.tail.bytes": str(16 * MiB)}, log_dirs=directories).start()
    admin = admin_of(broker)
    admin.create("both", partitions=6, retention_ms=-1)
    well, ill = placement(admin, "both", 6, directories)
    assert len(well) == len(ill) == 3
    return broker, sick, ill, well


def test_partitions_on_another_disk_notice_nothing_at_any_time(two_disks, load, tmp_path):
    """Not while the frozen disk's share of the tail fills, not while it is full, and not when it thaws."""
    broker, sick, ill, well = two_disks
    load_ill = [load(client, broker, "both", ill, rate=500, size=2000, name=f"{client}-ill") for client in CLIENTS]
    load_well = [load(client, broker, "both", well, rate=400, size=500, name=f"{client}-well") for client in CLIENTS]
    for producer in (*load_ill, *load_well):
        producer.wait_until_known()
    book = Book("both", range(6), [*load_ill, *load_well])
    follower = Follower(broker, "both", well, tmp_path)
    try:
        time.sleep(1)
        begin, end = freeze(sick)
        time.sleep(4)
        for producer in load_well:
            silence.check(f"the producer {producer.name}", acks(producer), well, begin, end + 3000)
        waited = silence.longest([at for producer in load_ill for at, _ in acks(producer)], begin, end)
        assert waited > 3, "the frozen disk's share of the tail was never full, so that this shows little"
        for producer in (*load_ill, *load_well):
            producer.wait_for_acks()
            producer.stop()
        book.close(broker)
        arrivals = follower.stop(until={partition: len(book.log[partition]) for partition in well})
    finally:
        follower.close()
    silence.check("the reader", [(at, partition) for at, partition, *_ in arrivals], well, begin, end + 3000)


@pytest.mark.stalls_kafka
def test_metadata_may_wait_and_data_may_not(prepare, admin_of, loads, clients, disk):
    """Topics are created while the disk of the metadata log is frozen: whenever that is answered, producers do not notice."""
    frozen, healthy = disk("ext4"), disk("ext4")
    directories = [healthy.path / "data", frozen.path / "data"]
    settings = {"metadata.log.dir": str(directories[1]), "aplomb.tail.bytes": str(256 * MiB)}
    broker = prepare(settings, log_dirs=directories).start()
    partitions = range(4)
    admin_of(broker).create("steady", partitions=len(partitions), retention_ms=-1)
    producers = loads(broker, "steady", partitions, rate=500, size=500)
    book = Book("steady", partitions, producers)
    answers = {}
    session = clients.open("java")

    def create():
        admin = client_programs.Admin(session, broker)
        for number in range(5):
            answers[f"made-{number}"] = admin.answer("create-topic", name=f"made-{number}", partitions=3, replication=1)

    creating = threading.Thread(target=create)
    try:
        with frozen.frozen():
            begin = now()
            creating.start()
            time.sleep(FREEZE / 2)
            end = now()
        for producer in producers:
            silence.check(f"the {producer.name} producer", acks(producer), partitions, begin, end)
        creating.join(120)
    finally:
        session.close()
    assert len(answers) == 5
    failed = {name: answer["error"] for name, answer in answers.items() if "error" in answer}
    assert set(failed.values()) <= {"TimeoutException"}, failed
    finish(book, broker)
    found = existing_topics(broker)
    assert [name for name in answers if name not in failed and name not in found] == []
    broker.kill()
    broker.start()
    assert existing_topics(broker) == found
