"""An application of Kafka Streams while records come in and its instances and the broker come and go: its internal topics, and a
result that is right."""

import time
from collections import defaultdict

import pytest
import suite
from harness import groups, streams

PROPERTIES = {
    **groups.QUICK,
    "transaction.state.log.num.partitions": "5", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
}  # fmt: skip
GUARANTEES = ["at_least_once", "exactly_once_v2"]
PARTITIONS = 4
# One half of the topology reads the source, the other what it has put into other partitions.
TASKS = {f"{half}_{partition}" for half in (0, 1) for partition in range(PARTITIONS)}
RUN = {"key_prefix": "k", "seed": 5, "size": 20}
COUNT, RATE = 5000, 200


@pytest.fixture
def instance(broker, topic, tmp_path, guarantee):
    """`instance(name)`: one that runs, with a folder of that name; it is ended with the test."""
    running = []

    def start(name):
        running.append(streams.Instance(broker, topic, f"{topic}-in", f"{topic}-out", tmp_path / name, guarantee))
        return running[-1]

    yield start
    for each in running:
        each.kill()


def expected():
    """For each letter, the keys of the values that begin with it."""
    keys = defaultdict(set)
    for seq in range(COUNT):
        keys[chr(suite.value(RUN["seed"], seq, RUN["size"])[0])].add(f"k{seq}")
    return {letter: " ".join(sorted(found)) for letter, found in keys.items()}


def result(broker, tools, topic):
    """The last value of each key, of what is committed. A transaction's end has an offset and is no record, so its end is waited for."""
    read = ("--bootstrap-server", broker.bootstrap, "--topic", topic, "--partition", 0, "--offset", "earliest", "--timeout-ms", 2_000)
    how = ("--isolation-level", "read_committed", "--formatter-property", "print.key=true")
    lines = tools.run("kafka-console-consumer", *read, *how).lines()
    return dict(line.split("\t") for line in lines)


def check_internal_topics(admin, application):
    """They have the settings that it asked for, and of the records on their way those that it has read are deleted."""
    settings = {"keys-changelog": {"cleanup.policy": "compact"}, "letters-repartition": {"cleanup.policy": "delete", "retention.ms": "-1"}}
    for name, wanted in settings.items():
        internal = f"{application}-{name}"
        assert len(admin.call("describe-topic", name=internal)["partitions"]) == PARTITIONS
        found = admin.call("describe-configs", type="TOPIC", name=internal)
        assert {key: found[key]["value"] for key in wanted} == wanted
    starts = lambda: [admin.offset(internal, "earliest", partition) for partition in range(PARTITIONS)]
    streams.until(lambda: all(starts()), "what was read is deleted")


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_an_application_of_kafka_streams_gets_everything_right(broker, admin, clients, tools, instance, topic):
    admin.create(f"{topic}-in", partitions=PARTITIONS)
    admin.create(f"{topic}-out")
    producer = clients.open("python")
    producer.begin("produce", bootstrap=broker.bootstrap, topic=f"{topic}-in", count=COUNT, rate=RATE, idempotent=True, **RUN)
    one, two = instance("one"), instance("two")
    streams.until_shared(TASKS, one, two)
    two.kill()
    streams.until_shared(TASKS, one)
    three = instance("two")
    streams.until_shared(TASKS, one, three)
    broker.kill()
    broker.start()
    time.sleep(2)
    streams.until_shared(TASKS, one, three)
    one.close()
    streams.until_shared(TASKS, three)
    four = instance("one")
    streams.until_shared(TASKS, three, four)
    assert len(producer.end()) == COUNT
    wanted = expected()
    streams.until(lambda: result(broker, tools, f"{topic}-out") == wanted, "the result is right", three, four)
    ends = {f"{topic}-in-{partition}": admin.offset(f"{topic}-in", "latest", partition) for partition in range(PARTITIONS)}
    assert sum(ends.values()) == COUNT
    assert {name: offset for name, offset in groups.committed(admin, topic).items() if name in ends} == ends
    check_internal_topics(admin, topic)
    for each in (three, four):
        each.close()
        assert each.errors == []

