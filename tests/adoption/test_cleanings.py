"""Cleanings of Apache Kafka that a crash ended half-done: its log before one and the log after it, put together to what there is on the disk
between any two of its steps (`UnifiedLog.replaceSegments`). Either broker finds what is whole, and the same."""

import shutil
import time

import confluent_kafka as ck
from confluent_kafka import admin as ck_admin
from harness import dump

TOPIC, KEYS = "latest", 40
SETTINGS = {
    "offsets.topic.num.partitions": "1", "log.cleaner.backoff.ms": "200", "log.cleaner.min.compaction.lag.ms": "0",
    "log.flush.offset.checkpoint.interval.ms": "500",
}  # fmt: skip
KINDS = ("log", "index", "timeindex", "txnindex")


def administrator(broker):
    return ck_admin.AdminClient({"bootstrap.servers": broker.bootstrap})


def set_lag(broker, milliseconds):
    entry = ck_admin.ConfigEntry("min.compaction.lag.ms", str(milliseconds), incremental_operation=ck_admin.AlterConfigOpType.SET)
    resource = ck_admin.ConfigResource(ck_admin.ConfigResource.Type.TOPIC, TOPIC, incremental_configs=[entry])
    admin = administrator(broker)
    [future] = admin.incremental_alter_configs([resource]).values()
    future.result(30)


def read(broker):
    """Offsets, keys and values, to the end."""
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "r", "enable.auto.commit": False, "enable.partition.eof": True})
    consumer.assign([ck.TopicPartition(TOPIC, 0, ck.OFFSET_BEGINNING)])
    found, deadline = [], time.monotonic() + 60
    while time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is None:
            found.append((message.offset(), message.key(), message.value()))
        elif message.error().code() == ck.KafkaError._PARTITION_EOF:
            consumer.close()
            return found
    raise AssertionError(f"{TOPIC} has no end after {len(found)} records")


def segments(directory):
    return sorted(path.stem for path in directory.glob("*.log"))


class Halves:
    """The log before a cleaning and after it."""

    def __init__(self, before, after):
        self.before, self.after = before, after
        names = segments(after)
        is_new = lambda name: not (before / f"{name}.log").exists() or (before / f"{name}.log").read_bytes() != (after / f"{name}.log").read_bytes()
        self.new = [name for name in names if is_new(name)]
        assert self.new, "the pass has written segments"
        kept = set(names) - set(self.new)
        self.old = [name for name in segments(before) if name not in kept]
        assert len(self.old) > 1, "of several it made fewer"

    def put(self, place, log_dir, suffix, deleted):
        """The log before, in which the new segments have a suffix, and so many of the old ones are deleted in name."""
        shutil.rmtree(place)
        shutil.copytree(self.before, place)
        # The last segment goes on where it was.
        for name in self.old[:deleted]:
            for kind in KINDS:
                if (path := place / f"{name}.{kind}").exists():
                    path.rename(f"{path}.deleted")
        for name in self.new:
            for kind in KINDS:
                if (path := self.after / f"{name}.{kind}").exists():
                    shutil.copy(path, place / f"{path.name}{suffix}")
        (log_dir / ".kafka_cleanshutdown").unlink(missing_ok=True)


def test_half_done_cleanings_end_as_in_apache_kafka(start_broker, tools, tmp_path):
    kafka = start_broker(kind="kafka", properties=SETTINGS)
    settings = {
        "cleanup.policy": "compact", "segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.01", "min.compaction.lag.ms": str(1 << 40),
        "file.delete.delay.ms": "60000",
    }  # fmt: skip
    admin = administrator(kafka)
    admin.create_topics([ck_admin.NewTopic(TOPIC, 1, 1, config=settings)])[TOPIC].result(30)
    producer = ck.Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "linger.ms": 5})
    for n in range(150):
        for key in range(KEYS):
            producer.produce(TOPIC, key=f"k{key}", value=f"{n}-" + "x" * 900)
    assert producer.flush(60) == 0
    whole = read(kafka)
    kafka.stop()
    [log_dir] = kafka.log_dirs
    place = log_dir / f"{TOPIC}-0"
    before = shutil.copytree(place, tmp_path / "before")
    kafka.start()
    set_lag(kafka, 0)
    deadline = time.monotonic() + 60
    while len(compacted := read(kafka)) > len(whole) // 2:
        assert time.monotonic() < deadline, "Kafka's cleaner has done nothing"
        time.sleep(0.5)
    # Nothing else is to be cleaned by whoever opens the log next.
    set_lag(kafka, 1 << 40)
    compacted = read(kafka)
    kafka.stop()
    halves = Halves(before, shutil.copytree(place, tmp_path / "after", ignore=shutil.ignore_patterns("*.deleted")))

    others = {"aplomb": None, "kafka": None}
    for suffix, deleted, expected in (
        (".cleaned", 0, whole),
        (".swap", 0, compacted),
        (".swap", 1, compacted),
        (".swap", len(halves.old), compacted),
    ):
        for kind in others:
            halves.put(place, log_dir, suffix, deleted)
            if others[kind] is None:
                others[kind] = start_broker(kind=kind, properties=SETTINGS, after=kafka)
            else:
                others[kind].start()
            assert read(others[kind]) == expected, f"{kind} after a crash with {suffix} and {deleted} of {len(halves.old)} deleted"
            producer = ck.Producer({"bootstrap.servers": others[kind].bootstrap})
            producer.produce(TOPIC, key="next", value="v")
            assert producer.flush(30) == 0
            assert [offset for offset, *_ in read(others[kind])] == [offset for offset, *_ in expected] + [whole[-1][0] + 1]
            others[kind].stop()
            left = [path.name for path in place.iterdir() if path.suffix in (".cleaned", ".swap")]
            assert not left, left
            if kind == "aplomb":
                dump.check(tools, others[kind], compacted=(TOPIC,))
