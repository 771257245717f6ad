"""Partitions move to another log directory of the broker, by kafka-reassign-partitions, while they are written to and read."""

import json
import struct
import time

import pytest
from harness import expect, wire
from harness.clients import Admin

ALTER_REPLICA_LOG_DIRS = 34
NONE, INVALID_TOPIC, UNKNOWN_TOPIC_OR_PARTITION, LOG_DIR_NOT_FOUND = 0, 17, 3, 57
RUN = {"count": 2000, "size": 1000}


@pytest.fixture(scope="module")
def two(start_broker):
    """A broker with two log directories."""
    broker = start_broker(log_dirs=2)
    yield broker
    assert broker.alive(), broker.log_tail()
    broker.close()


def string(text):
    return struct.pack(">h", len(text)) + text.encode()


def move(broker, topic, partition, directory):
    """Asks for a move by version 1 of the protocol; gives the error code."""
    topics = struct.pack(">i", 1) + string(topic) + struct.pack(">ii", 1, partition)
    body = struct.pack(">i", 1) + string(str(directory)) + topics
    header = struct.pack(">hhi", ALTER_REPLICA_LOG_DIRS, 1, 7) + string("test")
    with wire.Connection(broker.port) as connection:
        answer = connection.ask(header + body)
    return struct.unpack(">h", answer[-2:])[0]


def places(tools, broker, topic):
    """Where kafka-log-dirs shows partitions of a topic: {partition: [(directory, whether it is to be)]}."""
    shown = tools.ok("kafka-log-dirs", "--bootstrap-server", broker.bootstrap, "--describe", "--topic-list", topic)
    answer = json.loads(next(line for line in shown.lines() if line.startswith("{")))
    found = {}
    for directory in answer["brokers"][0]["logDirs"]:
        assert directory["error"] is None
        for partition in directory["partitions"]:
            number = int(partition["partition"].rpartition("-")[2])
            found.setdefault(number, []).append((directory["logDir"], partition["isFuture"]))
    return found


def wait_until_at(tools, broker, topic, partition, directory):
    deadline = time.monotonic() + 60
    while (shown := places(tools, broker, topic)[partition]) != [(str(directory), False)]:
        assert time.monotonic() < deadline, f"{topic}-{partition} is still at {shown}\n{broker.log_tail()}"
        time.sleep(0.2)


def elsewhere(broker, directory):
    return next(str(other) for other in broker.log_dirs if str(other) != directory)


def test_a_partition_moves_and_keeps_what_it_has(tools, java, two, topic, tmp_path):
    Admin(java, two).create(topic, partitions=2, segment_bytes=1 << 20)
    for partition in range(2):
        java.produce(two, topic, partition=partition, seed=partition, summary=True, **RUN)
    before = places(tools, two, topic)
    target = elsewhere(two, before[0][0][0])
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [target]}]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    at = ("--bootstrap-server", two.bootstrap, "--reassignment-json-file", file)
    started = tools.ok("kafka-reassign-partitions", *at, "--execute")
    told = f"Successfully started moving log directory to {target} for replica {topic}-0 with broker 1"
    assert told in started.stdout, started.output
    java.produce(two, topic, partition=0, seed=2, summary=True, **RUN)
    wait_until_at(tools, two, topic, 0, target)
    verified = tools.ok("kafka-reassign-partitions", *at, "--verify")
    assert f"Reassignment of replica {topic}-0-1 completed successfully." in verified.stdout, verified.output
    assert places(tools, two, topic)[1] == before[1]
    records = java.consume(two, topic, partition=0, count=2 * RUN["count"])
    wanted = [line for seed in (0, 2) for line in expect.consumed("java", seed=seed, **RUN)]
    expect.check(records, wanted)


def test_where_it_is_already_and_back_again(tools, java, two, topic):
    Admin(java, two).create(topic)
    java.produce(two, topic, partition=0, seed=0, summary=True, **RUN)
    home = places(tools, two, topic)[0][0][0]
    assert move(two, topic, 0, home) == NONE
    for target in (elsewhere(two, home), home):
        assert move(two, topic, 0, target) == NONE
        wait_until_at(tools, two, topic, 0, target)
    expect.check(java.consume(two, topic, partition=0, count=RUN["count"]), expect.consumed("java", seed=0, **RUN))


def test_what_cannot_be_is_refused(java, two, topic):
    Admin(java, two).create(topic)
    assert move(two, topic, 0, "/no/such/directory") == LOG_DIR_NOT_FOUND
    assert move(two, topic, 7, two.log_dirs[0]) == UNKNOWN_TOPIC_OR_PARTITION
    assert move(two, "t" * 240, 0, two.log_dirs[0]) == INVALID_TOPIC


@pytest.mark.parametrize("which", (0, 1))
def test_a_partition_that_is_not_there_yet_is_made_where_it_was_wanted(tools, java, two, which):
    topic = f"wanted-in-{which}"
    assert move(two, topic, 0, two.log_dirs[which]) == UNKNOWN_TOPIC_OR_PARTITION
    Admin(java, two).create(topic)
    assert places(tools, two, topic)[0] == [(str(two.log_dirs[which]), False)]


@pytest.mark.aplomb
def test_apache_kafka_opens_the_directories_after_a_move(tools, java, start_broker, topic):
    ours = start_broker(log_dirs=2)
    Admin(java, ours).create(topic, segment_bytes=1 << 20)
    java.produce(ours, topic, partition=0, seed=0, summary=True, **RUN)
    target = elsewhere(ours, places(tools, ours, topic)[0][0][0])
    assert move(ours, topic, 0, target) == NONE
    wait_until_at(tools, ours, topic, 0, target)
    java.produce(ours, topic, partition=0, seed=1, summary=True, **RUN)
    ours.stop()
    theirs = start_broker("kafka", log_dirs=2, after=ours)
    assert places(tools, theirs, topic)[0] == [(target, False)]
    records = java.consume(theirs, topic, partition=0, count=2 * RUN["count"])
    expect.check(records, [line for seed in (0, 1) for line in expect.consumed("java", seed=seed, **RUN)])
    theirs.close()
