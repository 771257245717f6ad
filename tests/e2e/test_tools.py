"""Apache Kafka's command-line tools, unmodified, against the broker: what a person at a shell would do and see."""

import json
import re

import pytest


@pytest.fixture
def at(broker):
    """The options that point a tool at the broker."""
    return ("--bootstrap-server", broker.bootstrap)


def described(tools, at, topic):
    """kafka-topics --describe as (the summary's fields, [each partition's fields])."""
    lines = tools.ok("kafka-topics", *at, "--describe", "--topic", topic).lines()
    rows = [dict(re.findall(r"(\w+): ?([^\t]*)", line)) for line in lines]
    return rows[0], rows[1:]


def test_a_topic_is_created_described_listed_and_deleted(tools, at, topic):
    created = tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--partitions", 3, "--replication-factor", 1)
    assert f"Created topic {topic}." in created.stdout
    assert topic in tools.ok("kafka-topics", *at, "--list").lines()
    summary, partitions = described(tools, at, topic)
    assert (summary["Topic"], summary["PartitionCount"], summary["ReplicationFactor"]) == (topic, "3", "1")
    assert len(summary["TopicId"]) == 22
    assert [(row["Partition"], row["Leader"], row["Replicas"], row["Isr"]) for row in partitions] == [
        (str(partition), "1", "1", "1") for partition in range(3)
    ]
    tools.ok("kafka-topics", *at, "--delete", "--topic", topic)
    assert topic not in tools.ok("kafka-topics", *at, "--list").lines()
    gone = tools.run("kafka-topics", *at, "--describe", "--topic", topic)
    assert gone.exit == 1
    assert f"Topic '{topic}' does not exist as expected" in gone.stdout


def test_a_second_creation_is_refused_unless_asked_to_be_quiet(tools, at, topic):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic)
    again = tools.run("kafka-topics", *at, "--create", "--topic", topic)
    assert again.exit == 1
    assert f"Topic '{topic}' already exists." in again.stdout
    assert "TopicExistsException" in again.stderr
    tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--if-not-exists")


def test_partitions_can_be_added_and_never_taken_away(tools, at, topic):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--partitions", 2)
    tools.ok("kafka-topics", *at, "--alter", "--topic", topic, "--partitions", 4)
    assert len(described(tools, at, topic)[1]) == 4
    fewer = tools.run("kafka-topics", *at, "--alter", "--topic", topic, "--partitions", 3)
    assert fewer.exit == 1
    assert "currently has 4 partition(s); 3 would not be an increase" in fewer.stdout
    assert len(described(tools, at, topic)[1]) == 4


def test_a_topic_with_overrides_shows_them(tools, at, topic):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--config", "retention.ms=100000", "--config", "segment.bytes=2097152")
    summary, _ = described(tools, at, topic)
    assert {"retention.ms=100000", "segment.bytes=2097152"} <= set(summary["Configs"].split(","))
    assert topic in tools.ok("kafka-topics", *at, "--describe", "--topics-with-overrides").stdout


def test_nothing_is_under_replicated_or_offline(tools, at, topic):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--partitions", 5)
    for what in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert tools.ok("kafka-topics", *at, "--describe", what).lines() == []


def test_topic_configs_are_set_shown_and_removed(tools, at, topic):
    entity = (*at, "--entity-type", "topics", "--entity-name", topic)
    tools.ok("kafka-topics", *at, "--create", "--topic", topic)
    change = "max.message.bytes=2000,cleanup.policy=[compact,delete]"
    assert f"Completed updating config for topic {topic}." in tools.ok("kafka-configs", *entity, "--alter", "--add-config", change).stdout
    shown = tools.ok("kafka-configs", *entity, "--describe").stdout
    assert f"Dynamic configs for topic {topic} are:" in shown
    assert "cleanup.policy=compact,delete sensitive=false" in shown
    assert (
        "max.message.bytes=2000 sensitive=false "
        "synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=2000, DEFAULT_CONFIG:message.max.bytes=1048588}" in shown
    )
    everything = tools.ok("kafka-configs", *entity, "--describe", "--all").stdout
    for default in ("compression.type=producer", "min.cleanable.dirty.ratio=0.5", "segment.bytes=1073741824"):
        assert f"  {default} sensitive=false" in everything
    tools.ok("kafka-configs", *entity, "--alter", "--delete-config", "max.message.bytes,cleanup.policy")
    shown = tools.ok("kafka-configs", *entity, "--describe").lines()
    assert [line for line in shown if "max.message.bytes" in line or "cleanup.policy" in line] == []


def test_a_wrong_topic_config_is_refused_with_kafkas_exception(tools, at, topic):
    entity = (*at, "--entity-type", "topics", "--entity-name", topic)
    tools.ok("kafka-topics", *at, "--create", "--topic", topic)
    for change, exception in (
        ("max.message.bytes=zz", "InvalidConfigurationException"),
        ("no.such.key=1", "InvalidConfigurationException"),
    ):
        refused = tools.run("kafka-configs", *entity, "--alter", "--add-config", change)
        assert refused.exit == 1
        assert exception in refused.output


def test_broker_configs_are_described_and_changed(tools, at):
    one = (*at, "--entity-type", "brokers", "--entity-name", "1")
    default = (*at, "--entity-type", "brokers", "--entity-default")
    everything = tools.ok("kafka-configs", *one, "--describe", "--all").stdout
    assert "All configs for broker 1 are:" in everything
    assert "node.id=1 sensitive=false synonyms={STATIC_BROKER_CONFIG:node.id=1" in everything
    assert "auto.create.topics.enable=true sensitive=false" in everything
    tools.ok("kafka-configs", *default, "--alter", "--add-config", "log.retention.ms=86400000")
    assert "log.retention.ms=86400000 sensitive=false" in tools.ok("kafka-configs", *default, "--describe").stdout
    tools.ok("kafka-configs", *default, "--alter", "--delete-config", "log.retention.ms")
    assert "log.retention.ms" not in tools.ok("kafka-configs", *default, "--describe").stdout


def test_the_console_producer_and_consumer_pass_records_on(tools, at, topic):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--partitions", 1)
    reader = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    tools.ok("kafka-console-producer", *at, "--topic", topic, *reader, stdin="k1:v1\nk2:größer\nk3:\n")
    shown = ("--formatter-property", "print.key=true", "--formatter-property", "print.offset=true")
    from_start = (*at, "--topic", topic, "--partition", 0, "--offset", "earliest", "--max-messages", 3, *shown)
    consumed = tools.ok("kafka-console-consumer", *from_start)
    assert consumed.lines() == ["Offset:0\tk1\tv1", "Offset:1\tk2\tgrößer", "Offset:2\tk3"]
    assert "Processed a total of 3 messages" in consumed.stderr
    later = tools.ok("kafka-console-consumer", *at, "--topic", topic, "--partition", 0, "--offset", 1, "--max-messages", 1)
    assert later.lines() == ["größer"]


@pytest.mark.parametrize("compression", ("none", "gzip", "snappy", "lz4", "zstd"))
def test_the_console_producer_compresses(tools, at, topic, compression):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic)
    tools.ok("kafka-console-producer", *at, "--topic", topic, "--compression-codec", compression, stdin="one\ntwo\n")
    consumed = tools.ok("kafka-console-consumer", *at, "--topic", topic, "--partition", 0, "--offset", 0, "--max-messages", 2)
    assert consumed.lines() == ["one", "two"]


def test_the_performance_tool_sends_everything(tools, at, topic):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--partitions", 3)
    options = ("--topic", topic, "--num-records", 5000, "--record-size", 500, "--throughput", -1, *at)
    ran = tools.ok("kafka-producer-perf-test", *options)
    assert re.search(r"^5000 records sent", ran.lines()[-1])
    offsets = tools.ok("kafka-get-offsets", *at, "--topic", topic).lines()
    assert sum(int(line.rsplit(":", 1)[1]) for line in offsets) == 5000


def test_offsets_by_time(tools, at, topic):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--partitions", 2)
    assert tools.ok("kafka-get-offsets", *at, "--topic", topic).lines() == [f"{topic}:0:0", f"{topic}:1:0"]
    lines = "".join(f"{i}\n" for i in range(7))
    tools.ok("kafka-console-producer", *at, "--topic", topic, "--producer-property", "partitioner.ignore.keys=false", stdin=lines)
    latest = tools.ok("kafka-get-offsets", *at, "--topic", topic, "--time", "latest").lines()
    assert sum(int(line.rsplit(":", 1)[1]) for line in latest) == 7
    assert tools.ok("kafka-get-offsets", *at, "--topic", topic, "--time", "earliest").lines() == [f"{topic}:0:0", f"{topic}:1:0"]
    with_records = [line for line in latest if not line.endswith(":0")]
    newest = tools.ok("kafka-get-offsets", *at, "--topic", topic, "--time", "max-timestamp").lines()
    assert [line.rsplit(":", 1)[0] for line in newest] == [line.rsplit(":", 1)[0] for line in with_records]


def test_records_are_deleted_up_to_an_offset(tools, at, topic, tmp_path):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic)
    tools.ok("kafka-console-producer", *at, "--topic", topic, stdin="a\nb\nc\nd\n")
    request = tmp_path / "delete.json"
    request.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 3}]}))
    deleted = tools.ok("kafka-delete-records", *at, "--offset-json-file", request)
    assert f"partition: {topic}-0\tlow_watermark: 3" in deleted.stdout
    assert tools.ok("kafka-get-offsets", *at, "--topic", topic, "--time", "earliest").lines() == [f"{topic}:0:3"]
    rest = tools.ok("kafka-console-consumer", *at, "--topic", topic, "--partition", 0, "--offset", "earliest", "--max-messages", 1)
    assert rest.lines() == ["d"]
    request.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 99}]}))
    beyond = tools.ok("kafka-delete-records", *at, "--offset-json-file", request)
    assert "OffsetOutOfRangeException" in beyond.stdout


def test_log_directories_show_where_partitions_are_and_how_large(tools, at, broker, topic):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--partitions", 2)
    tools.ok("kafka-producer-perf-test", "--topic", topic, "--num-records", 100, "--record-size", 100, "--throughput", -1, *at)
    report = json.loads(tools.ok("kafka-log-dirs", *at, "--describe", "--topic-list", topic).lines()[-1])
    [node] = report["brokers"]
    [directory] = node["logDirs"]
    assert (node["broker"], directory["error"], directory["logDir"]) == (1, None, str(broker.log_dirs[0]))
    assert {entry["partition"] for entry in directory["partitions"]} == {f"{topic}-0", f"{topic}-1"}
    assert sum(entry["size"] for entry in directory["partitions"]) > 100 * 100
    assert {(entry["offsetLag"], entry["isFuture"]) for entry in directory["partitions"]} == {(0, False)}


def test_leaders_are_elected_already(tools, at, topic):
    tools.ok("kafka-topics", *at, "--create", "--topic", topic, "--partitions", 2)
    elect = ("kafka-leader-election", *at, "--election-type", "preferred")
    one = tools.ok(*elect, "--topic", topic, "--partition", 1)
    assert f"Valid replica already elected for partitions {topic}-1" in one.stdout
    tools.ok(*elect, "--all-topic-partitions")
    missing = tools.run(*elect, "--topic", f"{topic}-missing", "--partition", 0)
    assert missing.exit == 1 and "UnknownTopicOrPartition" in missing.output, missing.output


def test_the_cluster_has_an_identity_and_one_endpoint(tools, at, broker):
    cluster = tools.ok("kafka-cluster", "cluster-id", *at).stdout
    assert re.fullmatch(r"Cluster ID: \S{22}", cluster.strip())
    endpoints = tools.ok("kafka-cluster", "list-endpoints", *at).lines()
    assert endpoints[1].split() == ["1", "127.0.0.1", str(broker.port), "null", "unfenced", "broker"]


def test_the_versions_of_every_api_are_listed(tools, at, broker):
    listing = tools.ok("kafka-broker-api-versions", *at).stdout
    assert listing.startswith(f"127.0.0.1:{broker.port} (id: 1 rack: null isFenced: false) -> (")
    for line in ("Produce(0): 0 to 13 [usable: 13]", "Fetch(1): 4 to 18 [usable: 18]", "Metadata(3): 0 to 13 [usable: 13]"):
        assert line in listing
