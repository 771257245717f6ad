"""Topics in pages, producers of partitions, the metadata quorum: responses field by field and what the tools print, beside Apache
Kafka's."""

import re
import time

import pytest
from harness import describe, wire
from harness.clients import Admin

TOPICS = {"a": 3, "b": 2, "c": 1}


@pytest.fixture(scope="module", name="both")
def _with_topics(both, java):
    for broker in both:
        for name, partitions in TOPICS.items():
            Admin(java, broker).create(name, partitions=partitions)
    return both


def ask(broker, request):
    with wire.Connection(broker.port) as connection:
        return connection.ask(request)


def same(both, request, read):
    """What both answer. Apache Kafka's broker may take a moment longer to know what was made."""
    deadline = time.monotonic() + 10
    while True:
        ours, kafkas = (read(ask(broker, request)) for broker in both)
        if ours == kafkas or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert ours == kafkas
    return ours


PAGES = [
    (["a"],),
    ([],),
    ([], 2),
    (["c", "b", "a"], 4),
    (["c", "b", "a"], 3),
    (["c", "b", "zz", "a"], 5),
    (["zz", "a", "aa", "a"], 3),
    (["a", "b"], 0),
    (["a", "b"], -5),
    ([], 2, ("a", 2)),
    ([], 2, ("aa", 0)),
    ([], 2, ("a", 3)),
    (["a"], 2, ("a", 7)),
    (["a", "b"], 2000, ("b", 0)),
    (["a"], 2, ("b", 0)),
    (["a"], 2, ("a", -1)),
    ([], 2, ("a", -1)),
    (["bad name", "nope", "__consumer_offsets", "ä", "x" * 250],),
]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_topics_come_in_the_same_pages(both, page):
    same(both, describe.topic_partitions(*page), describe.read_topic_partitions)


@pytest.mark.parametrize("limit", range(1, 7))
def test_following_the_cursor_shows_every_partition_once(both, limit):
    seen, cursor = [], None
    while True:
        topics, cursor = same(both, describe.topic_partitions([], limit, cursor), describe.read_topic_partitions)
        page = [(name, partition[1]) for _, name, _, _, partitions, _ in topics for partition in partitions]
        assert len(page) <= limit
        seen += page
        if cursor is None:
            break
    assert seen == [(name, number) for name, partitions in TOPICS.items() for number in range(partitions)]


def test_a_response_has_no_more_partitions_than_the_broker_allows(start_broker, java):
    small = start_broker(properties={"max.request.partition.size.limit": "2"})
    Admin(java, small).create("t", partitions=5)
    (topic,), cursor = describe.read_topic_partitions(ask(small, describe.topic_partitions(["t"], 2000)))
    assert ([partition[1] for partition in topic[4]], cursor) == ([0, 1], ("t", 2))
    described = Admin(java, small).call("describe-topic", name="t")
    assert [partition["partition"] for partition in described["partitions"]] == list(range(5))
    small.stop()


PRODUCERS = [
    [("a", [0, 5, 1, -1])],
    [("nope", [0])],
    [("bad name", [0, 1])],
    [("", [0])],
    [("__cluster_metadata", [0])],
    [("a", [])],
    [("a", [1, 0]), ("b", [1])],
    [],
]


@pytest.mark.parametrize("asked", PRODUCERS, ids=str)
def test_producers_are_asked_for_alike(both, asked):
    same(both, describe.producers(*asked), describe.read_producers)


def test_a_producer_shows_what_it_wrote_last(both, java, tools):
    shown, printed = [], []
    # By what its last record says of the time a producer is forgotten, once in ten minutes.
    begin = int(time.time() * 1000)
    for broker in both:
        Admin(java, broker).create("written")
        for run, count in enumerate((7, 20)):
            java.produce(broker, "written", partition=0, count=count, idempotent=True, timestamp=begin + run)
        java.produce(broker, "written", partition=0, count=5)
        [(_, [(_, error, _, producers)])] = describe.read_producers(ask(broker, describe.producers(("written", [0]))))
        assert error == 0
        ids = [producer[0] for producer in producers]
        assert len(set(ids)) == 2
        shown.append(sorted(producer[1:] for producer in producers))
        at = ("--bootstrap-server", broker.bootstrap)
        report = tools.ok("kafka-transactions", *at, "describe-producers", "--topic", "written", "--partition", 0)
        heading, *rows = [line.split() for line in report.lines()]
        assert {row[0] for row in rows} == {str(producer) for producer in ids}
        printed.append((heading, sorted(row[1:] for row in rows)))
        assert len(tools.ok("kafka-transactions", *at, "find-hanging", "--broker-id", 1).lines()) == 1
    assert shown[0] == shown[1] == [(0, 6, begin + 6, -1, -1), (0, 19, begin + 20, -1, -1)]
    assert printed[0] == printed[1]


QUORUMS = [[("a", [0])], [("__cluster_metadata", [1])], [("__cluster_metadata", [0]), ("a", [0])], [("__cluster_metadata", [0, 0])]]


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("asked", QUORUMS, ids=str)
def test_only_the_metadata_log_has_a_quorum(both, asked, version):
    same(both, describe.quorum(version, *asked), lambda data: describe.read_quorum(data, version))


@pytest.mark.parametrize("version", range(3))
def test_the_only_voter_has_everything(both, version):
    seen = []
    for broker in both:
        before = time.time() * 1000
        error, message, [(name, [partition])], nodes = describe.read_quorum(ask(broker, describe.quorum(version)), version)
        number, failed, why, leader, epoch, committed, [(voter, directory, end, fetched, caught_up)], observers = partition
        assert 0 < committed <= end
        assert version == 0 or before - 1 <= fetched == caught_up <= time.time() * 1000
        assert version < 2 or nodes == [(1, [("CONTROLLER", "127.0.0.1", broker.controller_port)])]
        seen.append((error, message, name, number, failed, why, leader, epoch, voter, directory, observers))
    assert seen[0] == seen[1]


def test_the_quorum_tool_says_the_same(both, tools):
    """But for offsets, times, ports and the cluster's id."""
    for what in ("--status", "--replication"):
        said = []
        for broker in both:
            text = tools.ok("kafka-metadata-quorum", "--bootstrap-server", broker.bootstrap, "describe", what).stdout
            text = re.sub(r"(ClusterId: +)\S+", r"\1ID", text.replace(str(broker.controller_port), "PORT"))
            said.append(re.sub(r"(HighWatermark: +)\d+|\b\d{13}\b|(?<=\t)\d+ +(?=\t)", r"\1N", text))
        assert said[0] == said[1]
        assert "Leader" in said[0]
