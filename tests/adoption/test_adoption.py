"""Directories of Apache Kafka, in which everything has happened that happens in a year, change hands twice and are the same after it."""

import contents
import pytest
from differential import groups
from harness import offline, dump

HOW = ("stop", "kill")
COMPACTED = ("latest", "__consumer_offsets", "__transaction_state")
SETTINGS = {
    **groups.PROPERTIES,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "log.cleaner.backoff.ms": "300",
    "log.segment.bytes": str(4 << 20),
}


def filled(start_broker, release):
    broker = start_broker(kind=release, properties=SETTINGS, log_dirs=2)
    contents.create(broker)
    contents.overwrite(broker)
    contents.write(broker, "first")
    contents.transact(broker, "first")
    contents.commit(broker, 7)
    contents.cleaned(broker)
    return broker


def end(broker, how):
    (broker.stop if how == "stop" else broker.kill)()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("release", ["kafka", "kafka-4.0"])
def test_directories_go_there_and_back(start_broker, tools, release, how):
    kafka = filled(start_broker, release)
    sequence = contents.Sequence(kafka)
    assert [sequence.send(kafka) for _ in range(3)] == [(0, 0), (0, 1), (0, 2)]
    before, ids, positions = contents.read_all(kafka), contents.topic_ids(kafka), contents.committed(kafka)
    assert positions == [7, 8]
    members = contents.Members(kafka)
    unknown = kafka.log_dirs[0] / "note-of-the-operator"
    unknown.write_text("do not touch")
    end(kafka, how)
    cleaner = (kafka.log_dirs[0] / "cleaner-offset-checkpoint").read_bytes()

    said = offline.storage(kafka, "info")
    assert said.returncode == 0, said.stderr
    assert ("closed cleanly" in said.stdout) and (("not closed cleanly" in said.stdout) == (how == "kill"))
    as_left = contents.files(kafka.log_dirs)
    assert offline.storage(kafka, "adopt", "--dry-run").returncode == 0
    assert contents.files(kafka.log_dirs) == as_left

    aplomb = start_broker(kind="aplomb", properties=SETTINGS, after=kafka, log_dirs=2)
    assert contents.topic_ids(aplomb) == ids
    contents.goes_on(before, contents.read_all(aplomb))
    sequence.goes_on(aplomb)
    members.goes_on(aplomb)
    assert contents.committed(aplomb) == positions
    contents.commit(aplomb, 11)
    contents.write(aplomb, "second")
    between = contents.read_all(aplomb)
    contents.goes_on(before, between)
    if how == "kill":
        aplomb.kill()
        assert list(aplomb.tail_dir.glob("*.tail"))
    else:
        aplomb.stop()
        assert_untouched(as_left, aplomb)
    given_back = offline.storage(aplomb, "release")
    assert given_back.returncode == 0, given_back.stderr
    assert not list(aplomb.tail_dir.glob("*.tail"))
    assert not any((directory / ".aplomb-tail").exists() for directory in aplomb.log_dirs)
    dump.check(tools, aplomb, compacted=COMPACTED)
    assert (aplomb.log_dirs[0] / "cleaner-offset-checkpoint").read_bytes() == cleaner

    again = start_broker(kind=release, properties={**SETTINGS, "log.cleaner.enable": "false"}, after=aplomb, log_dirs=2)
    assert contents.topic_ids(again) == ids
    contents.goes_on(between, contents.read_all(again))
    assert contents.committed(again) == [11, 12]
    members.goes_on(again)
    sequence.goes_on(again)
    contents.write(again, "third")
    contents.transact(again, "third")
    contents.commit(again, 9)
    assert unknown.read_text() == "do not touch"
    again.stop()
    dump.check(tools, again, compacted=COMPACTED)
    again.close()
    aplomb.close()


def assert_untouched(as_left, broker):
    """The logs of transactions, which nobody writes to here."""
    now = contents.files(broker.log_dirs)
    logs = [name for name in as_left if "/__transaction_state-" in name and name.endswith(".log")]
    assert logs
    assert {name: now[name] for name in logs} == {name: as_left[name] for name in logs}


def test_a_formatted_directory_begins_with_the_features_that_it_was_formatted_with(start_broker, tmp_path):
    """Up to 4.3 the format command writes bootstrap.checkpoint, from 4.4 on a snapshot at offset 0."""
    for release, version in (("kafka-4.0", "25"), ("kafka", "33")):
        made = offline.formatted(release, tmp_path / release, SETTINGS)
        aplomb = start_broker(kind="aplomb", properties=SETTINGS, after=made)
        aplomb.stop()
        said = offline.storage(aplomb, "info").stdout
        assert f"metadata.version={version} " in said
        assert "transaction.version=2" in said
        assert offline.storage(aplomb, "release").returncode == 0
        back = start_broker(kind=release, properties=SETTINGS, after=aplomb)
        contents.create(back)
        back.stop()
        aplomb.close()
        back.close()
