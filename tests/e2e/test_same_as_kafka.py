"""The same script on the broker under test and on Apache Kafka: what is seen from outside is the same, but for what has to differ."""

import re
import struct
import time

import pytest
from harness import wire
from harness.clients import Admin


def outcome(answer):
    """An answer without what differs from cluster to cluster: identities and the wording of errors."""
    if "error" in answer:
        return answer["error"]
    return _plain(answer["result"])


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key != "id"}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def compare(both, java, script):
    """Runs a list of (op, fields) on both brokers, step by step, and compares every outcome."""
    admins = [Admin(java, broker) for broker in both]
    for op, fields in script:
        deadline = time.monotonic() + 10
        while True:
            ours, kafkas = (outcome(admin.answer(op, **fields)) for admin in admins)
            # A change is answered when it is decided; Apache Kafka's broker may take a moment longer to show it.
            if ours == kafkas or op in CHANGES or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        assert ours == kafkas, f"{op} {fields}: {differences(ours, kafkas)}"


def differences(ours, kafkas, path=""):
    """What differs, each as `path: ours, not Kafka's`."""
    if isinstance(ours, dict) and isinstance(kafkas, dict):
        keys = sorted(ours.keys() | kafkas.keys())
        parts = [differences(ours.get(key), kafkas.get(key), f"{path}/{key}") for key in keys]
        return "; ".join(part for part in parts if part)
    return "" if ours == kafkas else f"{path}: {ours!r}, not {kafkas!r}"


CHANGES = ("create-topic", "create-partitions", "delete-topic", "alter-configs", "delete-records")


def test_the_life_of_a_topic(both, java):
    name = {"name": "life"}
    compare(
        both,
        java,
        [
            ("describe-topic", name),
            ("create-topic", {**name, "partitions": 3, "replication": 1, "configs": {"cleanup.policy": "compact"}}),
            ("create-topic", {**name, "partitions": 3}),
            ("describe-topic", name),
            ("create-partitions", {**name, "total": 4}),
            ("create-partitions", {**name, "total": 4}),
            ("describe-topic", name),
            ("describe-configs", {**name, "type": "TOPIC"}),
            ("alter-configs", {**name, "type": "TOPIC", "changes": [["cleanup.policy", "APPEND", "delete"]]}),
            ("alter-configs", {**name, "type": "TOPIC", "changes": [["cleanup.policy", "APPEND", "compact"]]}),
            ("alter-configs", {**name, "type": "TOPIC", "changes": [["segment.ms", "SET", "60000"], ["preallocate", "SET", "true"]]}),
            ("alter-configs", {**name, "type": "TOPIC", "changes": [["segment.ms", "DELETE", None]]}),
            ("describe-configs", {**name, "type": "TOPIC"}),
            ("list-topics", {}),
            ("delete-topic", name),
            ("delete-topic", name),
            ("list-topics", {}),
        ],
    )


# One value inside and one outside the range for every topic setting; what Apache Kafka says about each is the expectation.
SETTINGS = {
    "cleanup.policy": ("compact,delete", "sweep", "", "delete,delete"),
    "compression.type": ("zstd", "producer", "brotli", "ZSTD"),
    "compression.gzip.level": ("9", "-1", "10", "0"),
    "compression.lz4.level": ("17", "18", "0"),
    "compression.zstd.level": ("22", "-131072", "23"),
    "delete.retention.ms": ("0", "-1"),
    "file.delete.delay.ms": ("0", "-1"),
    "flush.messages": ("1", "0"),
    "flush.ms": ("0", "-1"),
    "follower.replication.throttled.replicas": ("*", "0:1", "none:of:these"),
    "index.interval.bytes": ("0", "-1"),
    "leader.replication.throttled.replicas": ("*", "bad"),
    "max.compaction.lag.ms": ("1", "0"),
    "max.message.bytes": ("0", "-1", "2147483648"),
    "message.timestamp.after.max.ms": ("0", "-1"),
    "message.timestamp.before.max.ms": ("0", "-1"),
    "message.timestamp.type": ("LogAppendTime", "createtime"),
    "min.cleanable.dirty.ratio": ("0", "1", "1.01", "-0.1"),
    "min.compaction.lag.ms": ("0", "-1"),
    "min.insync.replicas": ("1", "2", "0"),
    "preallocate": ("true", "TRUE", "yes"),
    "retention.bytes": ("-1", "0", "-2"),
    "retention.ms": ("-1", "0", "-2"),
    "segment.bytes": ("1048576", "1048575", "2147483648"),
    "segment.index.bytes": ("4", "3"),
    "segment.jitter.ms": ("0", "-1"),
    "segment.ms": ("1", "0"),
    "unclean.leader.election.enable": ("true", "maybe"),
    "message.format.version": ("3.0",),
    "remote.storage.enable": ("false", "perhaps"),
    "local.retention.ms": ("-2", "-3"),
}


@pytest.mark.parametrize("key", SETTINGS)
def test_every_topic_setting_takes_and_refuses_the_same_values(both, java, key):
    name = {"name": "settings"}
    script = [("create-topic", {**name, "partitions": 1})]
    for value in SETTINGS[key]:
        script += [
            ("alter-configs", {**name, "type": "TOPIC", "changes": [[key, "SET", value]]}),
            ("describe-configs", {**name, "type": "TOPIC"}),
            ("create-topic", {"name": "other", "partitions": 1, "configs": {key: value}, "validate": True}),
        ]
    compare(both, java, [*script, ("delete-topic", name)])


# Settings whose values are the two brokers' own affair.
OWN = re.compile(r"listeners|controller\.quorum|log\.dirs?$|aplomb\.|log\.initial\.task|metadata\.log\.dir|broker\.(session|heartbeat)")

# Apache Kafka has no default for these: they must be set. Ours let a broker start without a file.
OWN_DEFAULTS = ("controller.listener.names", "node.id", "process.roles")

# Ours and Apache Kafka's: clients that come in a crowd are to find places to wait.
OTHER_DEFAULTS = {"socket.listen.backlog.size": ("4096", "50")}


def test_the_brokers_own_settings_are_the_same(both, java):
    """Every setting that Aplomb lists has the value, source, type and synonyms that it has in Apache Kafka, and is documented."""
    ours, kafkas = (Admin(java, broker).call("describe-configs", type="BROKER", name="1") for broker in both)
    for key in OWN_DEFAULTS:
        assert ours[key]["synonyms"].pop()[2] == "DEFAULT_CONFIG"
    known = {key: line for key, line in kafkas.items() if not OWN.search(key)}
    differing = {key: (ours[key], line) for key, line in known.items() if key in ours and ours[key] != line}
    assert sorted(differing) == sorted(OTHER_DEFAULTS)
    for key, (default, kafkas_default) in OTHER_DEFAULTS.items():
        assert ours[key] == {**kafkas[key], "value": default, "synonyms": [[key, default, "DEFAULT_CONFIG"]]}
        assert (kafkas[key]["value"], kafkas[key]["synonyms"]) == (kafkas_default, [[key, kafkas_default, "DEFAULT_CONFIG"]])
    assert sorted(key for key in known if key not in ours) == []


def test_writing_and_deleting(both, java):
    for broker in both:
        Admin(java, broker).create("written", partitions=2, retention_ms=-1)
        java.produce(broker, "written", partition=0, count=20, size=100, timestamp=1_700_000_000_000)
    at = {"topic": "written", "partition": 0}
    specs = ("earliest", "latest", "max-timestamp", "earliest-local", "latest-tiered", "1700000000010", "1800000000000")
    offsets = [("list-offset", {**at, "spec": spec}) for spec in specs]
    compare(
        both,
        java,
        [
            *offsets,
            ("delete-records", {**at, "before": 5}),
            ("delete-records", {**at, "before": 3}),
            ("delete-records", {**at, "before": 21}),
            ("delete-records", {**at, "before": -2}),
            *offsets,
            ("delete-records", {**at, "before": -1}),
            # Apache Kafka goes on to name the newest record even when it is deleted; whether we do is our affair.
            *[(op, fields) for op, fields in offsets if fields["spec"] != "max-timestamp"],
            *[("list-offset", {"topic": "written", "partition": 1, "spec": spec}) for spec in specs],
        ],
    )


REFUSED = [
    {"acks": "all", "size": 2_000_000},
    {"acks": "1", "size": 2_000_000},
    {"timestamp": 4_000_000_000_000},
    {"timestamp": 0},
    {"partition": 5},
    {"topic": "not a name"},
    {"topic": ""},
    {"topic": "x" * 250},
    {"topic": "__consumer_offsets"},
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: ",".join(f"{key}={str(value)[:12]}" for key, value in case.items()))
def test_producers_are_refused_alike(both, java, case):
    options = {"topic": "refusing", "partition": 0, "count": 1, "config": ["max.block.ms=2000", "max.request.size=8000000"], **case}
    lines = []
    for broker in both:
        Admin(java, broker).answer("create-topic", name="refusing", partitions=1)
        sent = java.attempt(broker, **options)
        lines.append([(line["seq"], line.get("error")) for line in sorted(sent, key=lambda line: line["seq"])])
    assert lines[0] == lines[1]


def test_tools_say_the_same(both, tools):
    """Everything the tools print, with ports, directories and identities blotted out."""
    script = [
        ("kafka-topics", "--create", "--topic", "tools", "--partitions", "2", "--config", "retention.ms=5000"),
        ("kafka-topics", "--create", "--topic", "tools"),
        ("kafka-topics", "--create", "--topic", "bad name"),
        ("kafka-topics", "--create", "--topic", "far", "--replication-factor", "3"),
        ("kafka-topics", "--describe", "--topic", "tools"),
        ("kafka-topics", "--alter", "--topic", "tools", "--partitions", "1"),
        ("kafka-topics", "--alter", "--topic", "absent", "--partitions", "1"),
        ("kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", "tools"),
        ("kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", "tools", "--all"),
        ("kafka-configs", "--alter", "--entity-type", "topics", "--entity-name", "tools", "--add-config", "segment.bytes=1"),
        ("kafka-configs", "--alter", "--entity-type", "topics", "--entity-name", "absent", "--add-config", "segment.ms=1000"),
        ("kafka-configs", "--alter", "--entity-type", "topics", "--entity-name", "tools", "--delete-config", "absent.key"),
        ("kafka-get-offsets", "--topic", "tools"),
        ("kafka-get-offsets", "--topic", "absent"),
        ("kafka-log-dirs", "--describe", "--topic-list", "tools"),
        ("kafka-cluster", "list-endpoints"),
        ("kafka-topics", "--delete", "--topic", "tools"),
        ("kafka-topics", "--delete", "--topic", "tools"),
    ]
    for tool, *arguments in script:
        if tool == "kafka-cluster":
            said = [tools.run(tool, *arguments, "--bootstrap-server", broker.bootstrap) for broker in both]
        else:
            said = [tools.run(tool, "--bootstrap-server", broker.bootstrap, *arguments) for broker in both]
        texts = [(ran.exit, sorted(blot(ran.stdout, broker).splitlines())) for ran, broker in zip(said, both, strict=True)]
        assert texts[0] == texts[1], f"{tool} {' '.join(arguments)}"


def blot(text, broker):
    text = text.replace(str(broker.port), "PORT").replace(str(broker.log_dirs[0]), "DIRECTORY")
    text = re.sub(r'"partitions":\[.*?\]', lambda match: '"partitions":' + "".join(sorted(match.group())), text)
    return re.sub(r"TopicId: \S{22}", "TopicId: ID", text)


def elect_leaders(version, election, topics):
    """An ElectLeaders request; `topics` are (name, partitions) pairs, or None for all of them."""
    flexible = version >= 2
    count = lambda n: wire.unsigned_varint(n + 1) if flexible else struct.pack(">i", n)
    name = wire.compact_string if flexible else wire.string
    tags = b"\x00" if flexible else b""
    body = b"" if version == 0 else struct.pack(">b", election)
    if topics is None:
        body += count(-1)
    else:
        body += count(len(topics))
        for topic, partitions in topics:
            body += name(topic) + count(len(partitions)) + b"".join(struct.pack(">i", number) for number in partitions) + tags
    return wire.header(43, version, flexible=flexible) + body + struct.pack(">i", 10_000) + tags


ELECTIONS = {
    "all": None,
    "none": [],
    "led": [("elected", [0, 1])],
    "one twice": [("elected", [0, 0])],
    "no such partition": [("elected", [0, 7, -1])],
    "no such topic": [("elected", [1]), ("missing", [0]), ("", [0])],
    "no partition": [("elected", [])],
}


def read_election(response, version):
    """What an ElectLeaders response says, and {topic: what it says of its partitions}, without the internal topics."""
    reader = wire.Reader(response)
    flexible = version >= 2
    count = (lambda: reader.unsigned_varint() - 1) if flexible else reader.int32
    string = reader.compact_string if flexible else reader.string
    tagged = reader.tagged if flexible else dict
    head = [reader.int32(), tagged(), reader.int32(), reader.int16() if version >= 1 else None]
    topics = {}
    for _ in range(count()):
        name = string()
        topics[name] = [(reader.int32(), reader.int16(), string(), tagged()) for _ in range(count())]
        tagged()
    tagged()
    assert reader.rest() == b"", f"bytes after the end of the response: {reader.rest()!r}"
    return head, {name: said for name, said in topics.items() if not name.startswith("__")}


@pytest.mark.parametrize("named", ELECTIONS)
def test_who_leads_is_elected_anew(both, java, named):
    """A leader that leads already needs no election. To the byte, in each version and for each type of election.

    Of all topics, the order is no promise, and only one of the two may have made its internal topics.
    """
    for broker in both:
        if not Admin(java, broker).answer("describe-topic", name="elected").get("result"):
            Admin(java, broker).create("elected", partitions=2)
            java.produce(broker, "elected", partition=0, count=1, size=10)
            java.produce(broker, "elected", partition=1, count=1, size=10)
    for version in (0, 1, 2):
        for election in (0, 1, 2, -1):
            answers = []
            for broker in both:
                with wire.Connection(broker.port) as connection:
                    answers.append(connection.ask(elect_leaders(version, election, ELECTIONS[named])))
            if ELECTIONS[named] is None:
                answers = [read_election(answer, version) for answer in answers]
            assert answers[0] == answers[1], f"version {version}, election {election}"
