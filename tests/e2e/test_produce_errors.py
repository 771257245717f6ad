"""What producers get for records that the broker must not take, and topics that are created by writing to them."""

import time

import pytest
from harness import expect, wire
from harness.clients import ALL, Admin

UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, LEADER_NOT_AVAILABLE = 3, 17, 5


def errors(lines):
    return [line.get("error") for line in lines]


@pytest.mark.parametrize("compression", ("none", "zstd"))
def test_a_batch_over_the_topics_limit_is_refused_and_leaves_nothing_behind(broker, admin, java, topic, compression):
    admin.create(topic, max_message_bytes=10_000)
    # Incompressible in every codec: even records of the suite are close to random text, and these stay above the limit.
    lines = java.attempt(broker, topic, partition=0, count=1, size=20_000, compression=compression, idempotent=True)
    assert errors(lines) == ["RecordTooLargeException"]
    assert admin.offset(topic, "latest") == 0
    expect.check_acknowledged(java.produce(broker, topic, partition=0, count=3, size=1000), 3)


def test_a_raised_limit_holds_at_once(broker, admin, java, topic):
    admin.create(topic, max_message_bytes=10_000)
    assert errors(java.attempt(broker, topic, partition=0, count=1, size=50_000)) == ["RecordTooLargeException"]
    admin.call("alter-configs", type="TOPIC", name=topic, changes=[["max.message.bytes", "SET", "100000"]])
    expect.check_acknowledged(java.produce(broker, topic, partition=0, count=1, size=50_000), 1)


@pytest.mark.parametrize(
    ("client", "error"),
    (
        ("java", "RecordTooLargeException"),
        ("python", "MSG_SIZE_TOO_LARGE"),
        ("franz-go", "MESSAGE_TOO_LARGE"),
        ("sarama", "message was too large"),
        ("kafkajs", "MESSAGE_TOO_LARGE"),
    ),
)
def test_every_client_understands_too_large(broker, admin, clients, topic, client, error):
    admin.create(topic, max_message_bytes=2_000)
    [line] = clients[client].attempt(broker, topic, partition=0, count=1, size=5_000)
    assert error.lower() in line["error"].lower()
    assert admin.offset(topic, "latest") == 0


def test_a_batch_that_is_too_large_only_together_is_split_and_arrives(broker, admin, java, topic):
    admin.create(topic, max_message_bytes=5_000)
    config = ["batch.size=100000", "linger.ms=100"]
    lines = java.produce(broker, topic, partition=0, count=40, size=1_000, seed=2, idempotent=True, config=config)
    expect.check_acknowledged(lines, 40)
    records = java.consume(broker, topic, partition=0, offset="earliest", count=40)
    expect.check(records, expect.consumed("java", seed=2, count=40, size=1_000))


def test_a_time_stamp_too_far_in_the_future_is_refused(broker, admin, java, topic):
    admin.create(topic)
    tomorrow = int(time.time() * 1000) + 86_400_000
    assert errors(java.attempt(broker, topic, partition=0, count=1, timestamp=tomorrow)) == ["InvalidTimestampException"]
    assert admin.offset(topic, "latest") == 0


def test_the_window_of_time_stamps_is_the_topics_own(broker, admin, java, topic):
    admin.create(topic, message_timestamp_before_max_ms=60_000, message_timestamp_after_max_ms=172_800_000)
    now = int(time.time() * 1000)
    assert errors(java.attempt(broker, topic, partition=0, count=1, timestamp=now - 120_000)) == ["InvalidTimestampException"]
    expect.check_acknowledged(java.produce(broker, topic, partition=0, count=1, timestamp=now + 86_400_000), 1)


def test_a_compacted_topic_refuses_records_without_a_key(broker, admin, java, topic):
    admin.create(topic, cleanup_policy="compact")
    assert errors(java.attempt(broker, topic, partition=0, count=1)) == ["InvalidRecordException"]
    expect.check_acknowledged(java.produce(broker, topic, partition=0, count=2, key_prefix="k"), 2)


def test_a_partition_that_does_not_exist_takes_nothing(broker, admin, java, topic):
    admin.create(topic, partitions=2)
    [line] = java.attempt(broker, topic, partition=7, count=1, config=["max.block.ms=2000"])
    assert line["error"] == "TimeoutException"


def test_more_in_sync_replicas_than_there_are_replicas_are_not_waited_for(broker, admin, java, topic):
    admin.create(topic, min_insync_replicas=2)
    expect.check_acknowledged(java.produce(broker, topic, partition=0, count=3, acks="all"), 3)


@pytest.mark.parametrize("client", ALL)
def test_a_topic_is_created_by_writing_to_it(broker, admin, clients, topic, client):
    clients[client].produce(broker, topic, count=5, size=20, key_prefix="a")
    assert topic in admin.call("list-topics")
    assert len(admin.call("describe-topic", name=topic)["partitions"]) == 1
    assert admin.offset(topic, "latest") == 5


@pytest.mark.parametrize("name", ("a b", "..", "größe", "n" * 250))
def test_a_wrong_name_creates_no_topic(broker, admin, java, name):
    [line] = java.attempt(broker, name, count=1, config=["max.block.ms=5000"])
    assert line["error"] == "InvalidTopicException"
    assert name not in admin.call("list-topics")


def test_metadata_creates_a_topic_only_when_asked_to(broker, admin, topic):
    """In Metadata from version 4 on the client says whether; before, it always means yes."""
    with wire.Connection(broker.port) as connection:
        _, topics = wire.read_metadata(connection.ask(wire.metadata([topic])))
        assert topics[topic][0] in (UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE)
        deadline = time.monotonic() + 20
        while topics[topic] != (0, 1) and time.monotonic() < deadline:
            time.sleep(0.1)
            _, topics = wire.read_metadata(connection.ask(wire.metadata([topic])))
        assert topics[topic] == (0, 1)
        _, topics = wire.read_metadata(connection.ask(wire.metadata(["not allowed"])))
        assert topics["not allowed"] == (INVALID_TOPIC, 0)
    assert admin.answer("describe-topic", name=f"{topic}-quiet")["error"] == "UnknownTopicOrPartitionException"
    assert f"{topic}-quiet" not in admin.call("list-topics")


def test_nothing_is_created_where_creation_is_off(start_broker, java):
    closed = start_broker(properties={"auto.create.topics.enable": "false", "num.partitions": "3"})
    try:
        [line] = java.attempt(closed, "absent", count=1, config=["max.block.ms=2000"])
        assert line["error"] == "TimeoutException"
        admin = Admin(java, closed)
        assert admin.call("list-topics") == []
        assert admin.call("create-topic", name="made")["partitions"] == 3
    finally:
        closed.close()
