"""What the Java admin client gets for good and bad requests: the result, or exactly the exception class that Apache Kafka gives."""

import pytest

UNKNOWN_ID = "AAAAAAAAAAAAAAAAAAAB4A"


def error(answer):
    assert "error" in answer, f"no error, but {answer['result']}"
    return answer["error"]


def test_creation_says_what_was_created(admin, topic):
    made = admin.create(topic, partitions=4, retention_ms=5000)
    assert (made["partitions"], made["replication"]) == (4, 1)
    assert made["configs"]["retention.ms"]["value"] == "5000"
    assert made["configs"]["retention.ms"]["source"] == "DYNAMIC_TOPIC_CONFIG"
    assert made["configs"]["segment.bytes"] == {
        "value": "1073741824",
        "source": "DEFAULT_CONFIG",
        "sensitive": False,
        "readonly": False,
        "type": "null",
        "synonyms": [],
        "documented": False,
    }
    found = admin.call("describe-topic", name=topic)
    assert found["id"] == made["id"]
    assert admin.call("describe-topic", id=made["id"]) == found


def test_partitions_and_replication_default_to_the_brokers(admin, topic):
    made = admin.call("create-topic", name=topic)
    assert (made["partitions"], made["replication"]) == (1, 1)


def test_validation_creates_nothing(admin, topic):
    made = admin.call("create-topic", name=topic, partitions=2, replication=1, validate=True)
    assert made["partitions"] == 2
    assert topic not in admin.call("list-topics")


def test_replicas_may_be_assigned_by_hand(admin, topic):
    admin.call("create-topic", name=topic, assignment=[[1], [1]])
    assert [partition["replicas"] for partition in admin.call("describe-topic", name=topic)["partitions"]] == [[1], [1]]


REFUSED_CREATIONS = {
    "an empty name": ({"name": "", "partitions": 1}, "InvalidTopicException"),
    "a dot": ({"name": ".", "partitions": 1}, "InvalidTopicException"),
    "two dots": ({"name": "..", "partitions": 1}, "InvalidTopicException"),
    "250 characters": ({"name": "n" * 250, "partitions": 1}, "InvalidTopicException"),
    "a space": ({"name": "a b", "partitions": 1}, "InvalidTopicException"),
    "a slash": ({"name": "a/b", "partitions": 1}, "InvalidTopicException"),
    "a letter outside ASCII": ({"name": "größe", "partitions": 1}, "InvalidTopicException"),
    "no partitions": ({"name": "t", "partitions": 0}, "InvalidPartitionsException"),
    "partitions below the default's -1": ({"name": "t", "partitions": -2}, "InvalidPartitionsException"),
    "more replicas than brokers": ({"name": "t", "partitions": 1, "replication": 2}, "InvalidReplicationFactorException"),
    "no replicas": ({"name": "t", "partitions": 1, "replication": 0}, "InvalidReplicationFactorException"),
    "an assignment to an unknown broker": ({"name": "t", "assignment": [[7]]}, "InvalidReplicaAssignmentException"),
    "an assignment with a repeated broker": ({"name": "t", "assignment": [[1, 1]]}, "InvalidReplicaAssignmentException"),
    "an empty assignment": ({"name": "t", "assignment": [[]]}, "InvalidReplicaAssignmentException"),
    "an unknown config": ({"name": "t", "partitions": 1, "configs": {"no.such.key": "1"}}, "InvalidConfigurationException"),
    "a config out of range": ({"name": "t", "partitions": 1, "configs": {"segment.bytes": "3"}}, "InvalidConfigurationException"),
    "a config of the wrong type": ({"name": "t", "partitions": 1, "configs": {"retention.ms": "x"}}, "InvalidConfigurationException"),
    "a null config": ({"name": "t", "partitions": 1, "configs": {"retention.ms": None}}, "InvalidConfigurationException"),
    "an unknown compression": ({"name": "t", "partitions": 1, "configs": {"compression.type": "rar"}}, "InvalidConfigurationException"),
    "an unknown clean-up policy": ({"name": "t", "partitions": 1, "configs": {"cleanup.policy": "burn"}}, "InvalidConfigurationException"),
    "an unknown time stamp type": (
        {"name": "t", "partitions": 1, "configs": {"message.timestamp.type": "Never"}},
        "InvalidConfigurationException",
    ),
}


@pytest.mark.parametrize("case", REFUSED_CREATIONS)
def test_creation_is_refused(admin, case):
    fields, exception = REFUSED_CREATIONS[case]
    assert error(admin.answer("create-topic", **fields)) == exception
    assert fields["name"] not in admin.call("list-topics")


def test_the_longest_name_is_accepted(admin, broker):
    name = "n" * 249
    admin.create(name)
    assert name in admin.call("list-topics")
    admin.call("delete-topic", name=name)


def test_names_that_collide_in_metrics_are_refused(admin, topic):
    admin.create(f"{topic}.x")
    answer = admin.answer("create-topic", name=f"{topic}_x", partitions=1, replication=1)
    assert error(answer) == "InvalidTopicException"


def test_a_topic_cannot_be_created_twice(admin, topic):
    admin.create(topic)
    assert error(admin.answer("create-topic", name=topic, partitions=1, replication=1)) == "TopicExistsException"
    assert error(admin.answer("create-topic", name=topic, partitions=1, replication=1, validate=True)) == "TopicExistsException"


def test_an_unknown_topic_is_reported_by_name_and_by_id(admin, topic):
    assert error(admin.answer("describe-topic", name=topic)) == "UnknownTopicOrPartitionException"
    assert error(admin.answer("describe-topic", id=UNKNOWN_ID)) == "UnknownTopicIdException"
    assert error(admin.answer("delete-topic", name=topic)) == "UnknownTopicOrPartitionException"
    assert error(admin.answer("delete-topic", id=UNKNOWN_ID)) == "UnknownTopicIdException"
    assert error(admin.answer("create-partitions", name=topic, total=3)) == "UnknownTopicOrPartitionException"
    missing = {"type": "TOPIC", "name": topic}
    assert error(admin.answer("describe-configs", **missing)) == "UnknownTopicOrPartitionException"
    change = [["retention.ms", "SET", "1"]]
    assert error(admin.answer("alter-configs", changes=change, **missing)) == "UnknownTopicOrPartitionException"


def test_a_deleted_topic_may_be_created_again_and_starts_empty_under_a_new_id(admin, java, broker, topic):
    first = admin.create(topic)["id"]
    java.produce(broker, topic, count=5)
    assert admin.offset(topic, "latest") == 5
    admin.call("delete-topic", name=topic)
    assert topic not in admin.call("list-topics")
    assert error(admin.answer("describe-topic", id=first)) == "UnknownTopicIdException"
    second = admin.create(topic)["id"]
    assert second != first
    assert admin.offset(topic, "latest") == 0


def test_a_topic_is_deleted_by_id(admin, topic):
    made = admin.create(topic)
    admin.call("delete-topic", id=made["id"])
    assert topic not in admin.call("list-topics")


def test_partitions_grow_keep_their_records_and_never_shrink(admin, java, broker, topic):
    admin.create(topic, partitions=2)
    java.produce(broker, topic, partition=1, count=3)
    admin.call("create-partitions", name=topic, total=5, validate=True)
    assert len(admin.call("describe-topic", name=topic)["partitions"]) == 2
    admin.call("create-partitions", name=topic, total=4)
    admin.call("create-partitions", name=topic, total=5, assignment=[[1]])
    assert len(admin.call("describe-topic", name=topic)["partitions"]) == 5
    assert [admin.offset(topic, "latest", partition) for partition in range(5)] == [0, 3, 0, 0, 0]
    for total in (0, 3, 5):
        assert error(admin.answer("create-partitions", name=topic, total=total)) == "InvalidPartitionsException", total
    wrong = {"two assignments for one": [[1], [1]], "an unknown broker": [[9]], "no broker": [[]]}
    for what, assignment in wrong.items():
        answer = admin.answer("create-partitions", name=topic, total=6, assignment=assignment)
        assert error(answer) == "InvalidReplicaAssignmentException", what


def test_configs_are_set_removed_appended_and_subtracted(admin, topic):
    admin.create(topic)

    def now():
        found = admin.call("describe-configs", type="TOPIC", name=topic)
        return {key: line["value"] for key, line in found.items() if line["source"] == "DYNAMIC_TOPIC_CONFIG"}

    def change(*changes):
        admin.call("alter-configs", type="TOPIC", name=topic, changes=list(changes))

    change(["retention.ms", "SET", "1000"], ["segment.bytes", "SET", "2097152"])
    assert now() == {"retention.ms": "1000", "segment.bytes": "2097152"}
    change(["retention.ms", "DELETE", ""], ["cleanup.policy", "APPEND", "compact"])
    assert now() == {"segment.bytes": "2097152", "cleanup.policy": "delete,compact"}
    change(["cleanup.policy", "SUBTRACT", "delete"])
    assert now() == {"segment.bytes": "2097152", "cleanup.policy": "compact"}


def test_the_defaults_of_a_topic_are_those_of_the_broker(admin, topic):
    admin.create(topic)
    found = admin.call("describe-configs", type="TOPIC", name=topic)
    defaults = {
        "cleanup.policy": ("delete", "LIST"),
        "compression.type": ("producer", "STRING"),
        "max.message.bytes": ("1048588", "INT"),
        "min.insync.replicas": ("1", "INT"),
        "retention.ms": ("604800000", "LONG"),
        "segment.ms": ("604800000", "LONG"),
        "unclean.leader.election.enable": ("false", "BOOLEAN"),
        "message.timestamp.type": ("CreateTime", "STRING"),
        "min.cleanable.dirty.ratio": ("0.5", "DOUBLE"),
    }
    assert {key: (found[key]["value"], found[key]["type"]) for key in defaults} == defaults
    assert not any(line["sensitive"] or line["readonly"] for line in found.values())


REFUSED_CHANGES = {
    "an unknown key": ([["no.such.key", "SET", "1"]], "InvalidConfigurationException"),
    "a value of the wrong type": ([["retention.ms", "SET", "soon"]], "InvalidConfigurationException"),
    "a value out of range": ([["min.insync.replicas", "SET", "0"]], "InvalidConfigurationException"),
    "an append to what is no list": ([["retention.ms", "APPEND", "1"]], "InvalidConfigurationException"),
    "a null value": ([["retention.ms", "SET", None]], "InvalidRequestException"),
    "the same key twice": ([["retention.ms", "SET", "1"], ["retention.ms", "SET", "2"]], "InvalidRequestException"),
    "one good and one bad": ([["retention.ms", "SET", "77"], ["segment.bytes", "SET", "1"]], "InvalidConfigurationException"),
}


@pytest.mark.parametrize("case", REFUSED_CHANGES)
def test_a_config_change_is_refused_as_a_whole(admin, topic, case):
    changes, exception = REFUSED_CHANGES[case]
    admin.create(topic)
    assert error(admin.answer("alter-configs", type="TOPIC", name=topic, changes=changes)) == exception
    assert admin.call("describe-configs", type="TOPIC", name=topic)["retention.ms"]["source"] == "DEFAULT_CONFIG"


def test_broker_configs_show_where_they_come_from(admin):
    found = admin.call("describe-configs", type="BROKER", name="1")
    assert (found["node.id"]["value"], found["node.id"]["source"]) == ("1", "STATIC_BROKER_CONFIG")
    assert (found["num.partitions"]["value"], found["num.partitions"]["source"]) == ("1", "DEFAULT_CONFIG")
    assert found["log.dirs"]["readonly"]


def test_another_brokers_configs_are_not_known_here(admin):
    # A node the client does not know: it waits for it until its own time runs out.
    answer = admin.answer("describe-configs", config=["default.api.timeout.ms=3000", "request.timeout.ms=2000"], type="BROKER", name="9")
    assert error(answer) == "TimeoutException"


def test_a_dynamic_broker_default_reaches_the_topics(admin, topic):
    admin.create(topic)
    try:
        admin.call("alter-configs", type="BROKER", name="", changes=[["log.retention.ms", "SET", "123456"]])
        found = admin.call("describe-configs", type="TOPIC", name=topic)["retention.ms"]
        assert (found["value"], found["source"]) == ("123456", "DYNAMIC_DEFAULT_BROKER_CONFIG")
    finally:
        admin.call("alter-configs", type="BROKER", name="", changes=[["log.retention.ms", "DELETE", ""]])
    assert admin.call("describe-configs", type="TOPIC", name=topic)["retention.ms"]["source"] == "DEFAULT_CONFIG"


def test_a_static_broker_config_cannot_be_changed(admin):
    answer = admin.answer("alter-configs", type="BROKER", name="1", changes=[["node.id", "SET", "2"]])
    assert error(answer) in ("InvalidRequestException", "InvalidConfigurationException")


def test_records_are_deleted_and_offsets_beyond_the_end_refused(admin, java, broker, topic):
    admin.create(topic)
    java.produce(broker, topic, partition=0, count=10)
    assert admin.call("delete-records", topic=topic, before=4) == {"low": 4}
    assert admin.offset(topic, "earliest") == 4
    # A second request below the start changes nothing.
    assert admin.call("delete-records", topic=topic, before=2) == {"low": 4}
    assert error(admin.answer("delete-records", topic=topic, before=11)) == "OffsetOutOfRangeException"
    assert admin.call("delete-records", topic=topic, before=-1) == {"low": 10}
    assert admin.offset(topic, "earliest") == admin.offset(topic, "latest") == 10
    # The admin client keeps looking for a topic that it cannot find until its own time runs out.
    hurry = ["default.api.timeout.ms=2000", "request.timeout.ms=1000"]
    assert error(admin.answer("delete-records", config=hurry, topic=f"{topic}-none", before=0)) == "TimeoutException"


def test_records_of_a_compacted_topic_are_not_deleted(admin, java, broker, topic):
    admin.create(topic, cleanup_policy="compact")
    java.produce(broker, topic, partition=0, count=10, key_prefix="k")
    assert error(admin.answer("delete-records", topic=topic, before=4)) == "PolicyViolationException"


def test_the_cluster_is_one_broker_that_is_also_its_controller(admin):
    cluster = admin.call("describe-cluster")
    assert (cluster["controller"], cluster["nodes"]) == (1, [1])
    assert len(cluster["id"]) == 22


def test_log_directories_have_sizes(admin, java, broker, topic):
    admin.create(topic)
    java.produce(broker, topic, partition=0, count=100, size=1000)
    [directory] = admin.call("describe-log-dirs")
    assert directory["path"] == str(broker.log_dirs[0])
    assert 0 < directory["usable"] <= directory["total"]
    replica = directory["replicas"][f"{topic}-0"]
    assert replica["size"] >= 100_000
    assert (replica["lag"], replica["future"]) == (0, False)
