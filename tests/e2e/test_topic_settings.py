"""Topic settings that change what is stored: time stamps, compression, segments, retention."""

import time

import pytest
from harness import expect
from harness.clients import ALL

PROPERTIES = {"log.retention.check.interval.ms": "500"}
MIB = 1 << 20


def wait_until(condition, what, seconds=60):
    """Polls; the outcome is asserted, the time it takes is not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.2)


def segments(broker, topic, partition=0):
    directory = broker.log_dirs[0] / f"{topic}-{partition}"
    return sorted(int(path.stem) for path in directory.glob("*.log"))


@pytest.mark.parametrize("compression", ("none", "gzip", "zstd"))
def test_log_append_time_replaces_the_producers_time(broker, admin, java, topic, compression):
    admin.create(topic, message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    java.produce(broker, topic, partition=0, count=20, size=50, timestamp=1_000_000, compression=compression)
    records = java.consume(broker, topic, partition=0, offset="earliest", count=20)
    after = int(time.time() * 1000)
    expect.check(expect.without(records, "timestamp", "timestamp_type"), expect.consumed("java", seed=0, count=20, size=50))
    assert {record["timestamp_type"] for record in records} == {"LogAppendTime"}
    assert all(before <= record["timestamp"] <= after for record in records)
    assert admin.offset(topic, before) == 0
    assert admin.offset(topic, after + 10_000) == -1


def test_create_time_keeps_the_producers_time(broker, admin, clients, topic):
    admin.create(topic, retention_ms=-1)
    senders = [client.name for client in ALL.values() if client.timestamps]
    for client in senders:
        clients[client].produce(broker, topic, partition=0, count=3, timestamp=1_600_000_000_000)
    records = clients["java"].consume(broker, topic, partition=0, offset="earliest", count=3 * len(senders))
    assert [record["timestamp"] for record in records] == [1_600_000_000_000, 1_600_000_000_001, 1_600_000_000_002] * len(senders)
    assert {record["timestamp_type"] for record in records} == {"CreateTime"}


@pytest.mark.parametrize("of_topic", ("uncompressed", "gzip", "snappy", "lz4", "zstd"))
def test_a_topics_compression_is_what_is_stored_whatever_producers_send(broker, admin, clients, tools, topic, of_topic):
    admin.create(topic, compression_type=of_topic)
    run = {"count": 20, "size": 300, "headers": True, "tombstones": True, "key_prefix": "k"}
    expected = []
    for seed, sent in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        lines = clients["franz-go"].produce(broker, topic, partition=0, compression=sent, idempotent=True, seed=seed, **run)
        expect.check_acknowledged(lines, 20, first_offset=20 * seed)
        expected += expect.consumed("franz-go", seed=seed, **run)
    for reader in ("java", "python"):
        expect.check(clients[reader].consume(broker, topic, partition=0, offset="earliest", count=100), expected)
    wait_until(lambda: stored_codecs(tools, broker, topic), "the batches reaching their file")
    assert stored_codecs(tools, broker, topic) == {"none" if of_topic == "uncompressed" else of_topic}


def stored_codecs(tools, broker, topic):
    logs = ",".join(sorted(map(str, (broker.log_dirs[0] / f"{topic}-0").glob("*.log"))))
    lines = tools.ok("kafka-dump-log", "--deep-iteration", "--files", logs).lines()
    return {line.split("compresscodec: ")[1].split()[0] for line in lines if line.startswith("baseOffset:")}


def test_small_segments_roll_and_are_read_across(broker, admin, java, topic):
    admin.create(topic, segment_bytes=MIB)
    java.produce(broker, topic, partition=0, count=4500, size=1000, seed=1, summary=True)
    wait_until(lambda: len(segments(broker, topic)) >= 4, "rolling")
    assert segments(broker, topic)[0] == 0
    records = java.consume(broker, topic, partition=0, offset="earliest", count=4500, timeout=60)
    expect.check(records, expect.consumed("java", seed=1, count=4500, size=1000))
    for base in segments(broker, topic)[1:]:
        [record] = java.consume(broker, topic, partition=0, offset=base, count=1)
        assert record["offset"] == base


def test_a_segment_rolls_by_age(broker, admin, java, topic):
    admin.create(topic, segment_ms=1000)
    now = int(time.time() * 1000)
    # The age of a segment is counted in the records' own time.
    for seconds in (-10, -5, 0):
        java.produce(broker, topic, partition=0, count=2, timestamp=now + seconds * 1000)
    wait_until(lambda: segments(broker, topic) == [0, 2, 4], "rolling by age")


def test_deleting_records_moves_the_start_and_drops_whole_segments(broker, admin, java, topic):
    admin.create(topic, segment_bytes=MIB, file_delete_delay_ms=500)
    java.produce(broker, topic, partition=0, count=4500, size=1000, seed=3, summary=True)
    wait_until(lambda: len(segments(broker, topic)) >= 4, "rolling")
    third = segments(broker, topic)[2]
    assert admin.call("delete-records", topic=topic, before=third + 10) == {"low": third + 10}
    wait_until(lambda: segments(broker, topic)[0] == third, "dropping the first two segments")
    assert admin.offset(topic, "earliest") == third + 10
    records = java.consume(broker, topic, partition=0, offset="earliest", count=4500 - third - 10, timeout=60)
    expect.check(records, expect.consumed("java", seed=3, count=4500, size=1000)[third + 10 :], first_offset=third + 10)


def test_old_segments_are_deleted_and_the_newest_stays(broker, admin, java, topic):
    admin.create(topic, segment_bytes=MIB, retention_ms=3_600_000, file_delete_delay_ms=500)
    week_ago = int(time.time() * 1000) - 7 * 86_400_000
    java.produce(broker, topic, partition=0, count=2500, size=1000, timestamp=week_ago, summary=True)
    java.produce(broker, topic, partition=0, count=1000, size=1000, seed=5, summary=True)
    # Segments go only whole: the one that has the first new record keeps the old ones before it.
    wait_until(lambda: 0 < admin.offset(topic, "earliest") <= 2500, "deletion of the old segments")
    first = admin.offset(topic, "earliest")
    records = java.consume(broker, topic, partition=0, offset="earliest", count=3500 - first)
    assert [record["offset"] for record in records] == list(range(first, 3500))
    expect.check(records[2500 - first :], expect.consumed("java", seed=5, count=1000, size=1000), first_offset=2500)


def test_when_all_records_are_old_the_log_is_empty_and_goes_on_at_its_end(broker, admin, java, topic):
    admin.create(topic, retention_ms=1000, file_delete_delay_ms=500)
    java.produce(broker, topic, partition=0, count=10, timestamp=int(time.time() * 1000) - 60_000)
    wait_until(lambda: admin.offset(topic, "earliest") == 10, "deletion of everything")
    assert admin.offset(topic, "latest") == 10
    expect.check_acknowledged(java.produce(broker, topic, partition=0, count=1), 1, first_offset=10)


def test_retention_by_size_keeps_the_newest(broker, admin, java, topic):
    admin.create(topic, segment_bytes=MIB, retention_bytes=2 * MIB, file_delete_delay_ms=500)
    java.produce(broker, topic, partition=0, count=6000, size=1000, summary=True)
    wait_until(lambda: admin.offset(topic, "earliest") > 2000, "deletion by size")
    first = admin.offset(topic, "earliest")
    # What is kept is at least the size asked for, and less than a segment more.
    assert 2 * MIB // 1100 <= 6000 - first <= 3 * MIB // 1000 + 1000
    records = java.consume(broker, topic, partition=0, offset="earliest", count=6000 - first)
    assert [record["offset"] for record in records] == list(range(first, 6000))


def test_retention_can_be_switched_on_later(broker, admin, java, topic):
    admin.create(topic, segment_bytes=MIB, retention_ms=-1, file_delete_delay_ms=500)
    java.produce(broker, topic, partition=0, count=2500, size=1000, timestamp=1_000_000, summary=True)
    assert admin.offset(topic, "earliest") == 0
    admin.call("alter-configs", type="TOPIC", name=topic, changes=[["retention.ms", "SET", "1000"]])
    wait_until(lambda: admin.offset(topic, "earliest") == 2500, "deletion after the change")
