"""Stop and start, and kill -9 and start: what was acknowledged is there, in order, and writing goes on behind it."""

import re
import shutil
import time

import pytest
from harness import dump, expect
from harness.clients import Admin

STOPS = {"a clean stop": lambda broker: broker.stop(), "kill -9": lambda broker: broker.kill()}


@pytest.mark.parametrize("how", STOPS)
def test_what_was_acknowledged_is_there_after(broker, admin, clients, java, topic, how):
    admin.create(topic, partitions=3, segment_bytes=1 << 20, retention_ms=-1)
    made = admin.call("describe-topic", name=topic)
    run = {"count": 1500, "size": 900, "headers": True, "key_prefix": "k", "tombstones": True}
    compressions = ("none", "lz4", "zstd")
    for partition, compression in enumerate(compressions):
        sent = clients["franz-go"].produce(
            broker, topic, partition=partition, seed=partition, compression=compression, idempotent=True, **run
        )
        expect.check_acknowledged(sent, 1500, partition=partition)
    admin.call("delete-records", topic=topic, partition=0, before=7)
    STOPS[how](broker)
    broker.start()
    assert admin.call("describe-topic", name=topic) == made
    assert admin.offset(topic, "earliest", 0) in ((7,) if how == "a clean stop" else (0, 7))
    for partition in range(3):
        assert admin.offset(topic, "latest", partition) == 1500
        start = admin.offset(topic, "earliest", partition)
        records = java.consume(broker, topic, partition=partition, offset="earliest", count=1500 - start)
        expected = expect.consumed("franz-go", seed=partition, **run)[start:]
        expect.check(records, expected, first_offset=start, partition=partition)
        again = clients["franz-go"].produce(broker, topic, partition=partition, seed=9, idempotent=True, count=3)
        expect.check_acknowledged(again, 3, first_offset=1500, partition=partition)


def test_records_on_their_way_when_the_broker_is_killed_are_there_or_unacknowledged(broker, admin, clients, topic):
    """A producer with acks=1 runs through a kill -9: every acknowledgement it got is true afterwards."""
    admin.create(topic)
    session = clients.open("python")
    try:
        session.begin("produce", bootstrap=broker.bootstrap, topic=topic, partition=0, count=4000, rate=1000, size=500, seed=6, acks="1")
        time.sleep(1.5)
        broker.kill()
        broker.start()
        acknowledged = {line["offset"]: line["seq"] for line in session.end() if "offset" in line}
    finally:
        session.close()
    assert acknowledged
    end = admin.offset(topic, "latest")
    records = clients["java"].consume(broker, topic, partition=0, offset="earliest", count=end)
    found = {record["offset"]: record["value_sha"] for record in records}
    values = expect.consumed("python", seed=6, count=4000, size=500)
    for offset, seq in acknowledged.items():
        assert found.get(offset) == values[seq]["value_sha"], f"record {seq}, acknowledged at {offset}, is not there"


def test_an_idempotent_producer_goes_on_after_a_kill_without_a_duplicate(broker, admin, clients, topic):
    admin.create(topic)
    session = clients.open("java")
    try:
        options = {"partition": 0, "count": 4000, "rate": 1000, "size": 300, "seed": 7, "acks": "all", "idempotent": True}
        session.begin("produce", bootstrap=broker.bootstrap, topic=topic, **options)
        time.sleep(2.5)
        broker.kill()
        broker.start()
        expect.check_acknowledged(session.end(), 4000)
    finally:
        session.close()
    records = clients["java"].consume(broker, topic, partition=0, offset="earliest", count=4001, timeout=10)
    expect.check(records, expect.consumed("java", seed=7, count=4000, size=300))


def test_topics_and_settings_survive_changes_and_two_restarts(broker, admin, topic):
    admin.create(f"{topic}-kept", partitions=2, retention_ms=777_000)
    admin.create(f"{topic}-gone")
    admin.call("create-partitions", name=f"{topic}-kept", total=5)
    admin.call("alter-configs", type="TOPIC", name=f"{topic}-kept", changes=[["max.message.bytes", "SET", "4000"]])
    admin.call("delete-topic", name=f"{topic}-gone")
    cluster = admin.call("describe-cluster")

    def settings():
        found = admin.call("describe-configs", type="TOPIC", name=f"{topic}-kept")
        return {key: line["value"] for key, line in found.items() if line["source"] == "DYNAMIC_TOPIC_CONFIG"}

    for stop in (broker.stop, broker.kill):
        stop()
        broker.start()
        assert admin.call("describe-cluster") == cluster
        assert settings() == {"retention.ms": "777000", "max.message.bytes": "4000"}
        assert len(admin.call("describe-topic", name=f"{topic}-kept")["partitions"]) == 5
        assert f"{topic}-gone" not in admin.call("list-topics")


def test_the_files_are_sound_after_all_that(broker, tools):
    """The last test of this module: the same broker, stopped cleanly after kills."""
    broker.stop()
    dump.check(tools, broker)
    broker.start()


def test_several_log_directories_are_used_and_found_again(start_broker, java):
    broker = start_broker(log_dirs=3)
    try:
        admin = Admin(java, broker)
        admin.create("spread", partitions=9)
        for partition in range(9):
            java.produce(broker, "spread", partition=partition, count=20, size=100, seed=partition)

        def placed():
            return {dir_["path"]: sorted(dir_["replicas"]) for dir_ in admin.call("describe-log-dirs")}

        before = placed()
        assert sorted(before) == sorted(map(str, broker.log_dirs))
        # Nine partitions over three empty directories: the fewest go first, so each has three.
        spread = {path: [name for name in names if name.startswith("spread-")] for path, names in before.items()}
        assert [len(names) for names in spread.values()] == [3, 3, 3]
        for stop in (broker.stop, broker.kill):
            stop()
            broker.start()
            assert placed() == before
            for partition in range(9):
                records = java.consume(broker, "spread", partition=partition, offset="earliest", count=20)
                expect.check(records, expect.consumed("java", seed=partition, count=20, size=100), partition=partition)
    finally:
        broker.close()


LOADED = re.compile(r"loaded (\d+) partitions after a clean stop in \d+ ms(?:, (\d+) of them as that stop had noted them)?")


def looked_into(broker):
    """Into the files of how many logs the last start has looked, of all."""
    loaded, noted = LOADED.findall(broker.log_file.read_text(errors="replace"))[-1]
    assert int(loaded) >= 5
    return int(loaded) - int(noted or 0)


def test_a_start_goes_by_what_a_clean_stop_noted_of_files_that_have_not_changed(start_broker, clients, java):
    broker = start_broker()
    admin = Admin(java, broker)
    try:
        admin.create("noted", partitions=5)
        for partition in range(5):
            sent = clients["franz-go"].produce(broker, "noted", partition=partition, seed=partition, count=200, size=500, idempotent=True)
            expect.check_acknowledged(sent, 200, partition=partition)
        notes = broker.log_dirs[0] / ".aplomb-closed-logs"
        for round in range(2):
            broker.stop()
            assert notes.exists()
            broker.start()
            assert looked_into(broker) == 0 and not notes.exists()
        broker.stop()
        directories = [broker.log_dirs[0] / f"noted-{partition}" for partition in range(5)]
        # As somebody does who wants an index to be made anew; a copy; and what a broken disk may leave.
        (directories[0] / f"{0:020}.index").unlink()
        shutil.copytree(directories[1], broker.directory / "copy")
        shutil.rmtree(directories[1])
        shutil.move(broker.directory / "copy", directories[1])
        with open(directories[2] / f"{0:020}.log", "ab") as log:
            log.write(b"no batch")
        broker.start()
        assert looked_into(broker) == 3
        for partition in range(5):
            assert admin.offset("noted", "latest", partition) == 200
            again = clients["franz-go"].produce(broker, "noted", partition=partition, seed=9, idempotent=True, count=3)
            expect.check_acknowledged(again, 3, first_offset=200, partition=partition)
        broker.stop()
        assert (directories[0] / f"{0:020}.index").exists()
    finally:
        broker.close()
