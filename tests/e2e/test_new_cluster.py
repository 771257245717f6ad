"""What a new cluster has before anybody has changed a thing: the same as one that Apache Kafka's kafka-storage has formatted."""

from differential import answers, questions

# Another than the default: it must be the file's.
PROPERTIES = {"min.insync.replicas": "2", "auto.create.topics.enable": "false"}
ELIGIBLE, ENOUGH = "eligible.leader.replicas.version", "min.insync.replicas"
SAFE_DOWNGRADE, UPGRADE = 2, 1


def of_both(both):
    return [answers.Broker(broker) for broker in both]


def ask(broker, api, version, **request):
    return broker.ask(questions.Question(api, version, "", request))


def level(broker):
    """(supported, finalized) levels of the feature."""
    said = ask(broker, "ApiVersions", 4, ClientSoftwareName="test", ClientSoftwareVersion="1")
    supported = [(each["MinVersion"], each["MaxVersion"]) for each in said["SupportedFeatures"] if each["Name"] == ELIGIBLE]
    return supported, [each["MaxVersionLevel"] for each in said["FinalizedFeatures"] if each["Name"] == ELIGIBLE]


def settings(broker, *topics):
    """Of all brokers, of the broker, and of topics: the values of one setting, and where they come from."""
    named = [(4, "", None), (4, "1", [ENOUGH]), *((2, topic, [ENOUGH]) for topic in topics)]
    resources = [{"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": keys} for kind, name, keys in named]
    found = ask(broker, "DescribeConfigs", 4, Resources=resources, IncludeSynonyms=True)
    return [(each["ErrorCode"], each["Configs"]) for each in found["Results"]]


def update(broker, to, kind):
    updates = [{"Feature": ELIGIBLE, "MaxVersionLevel": to, "UpgradeType": kind}]
    said = ask(broker, "UpdateFeatures", 2, timeoutMs=10_000, FeatureUpdates=updates)
    return said["ErrorCode"], said["ErrorMessage"]


def alter(broker, name, value, operation):
    changes = [{"Name": ENOUGH, "Value": value, "ConfigOperation": operation}]
    said = ask(broker, "IncrementalAlterConfigs", 1, Resources=[{"ResourceType": 4, "ResourceName": name, "Configs": changes}])
    return [(each["ErrorCode"], each["ErrorMessage"]) for each in said["Responses"]]


def same(both, question, is_so=lambda _: True):
    """The answer that both give; Apache Kafka shows a change a moment after it has said that it is made."""
    ours = answers.once(lambda: question(both[0]), is_so)
    kafkas = answers.once(lambda: question(both[1]), is_so)
    assert ours == kafkas
    return ours


def test_eligible_leaders_are_on_and_the_cluster_says_how_many_replicas_are_enough(both):
    both = of_both(both)
    assert same(both, level) == ([(0, 1)], [1])
    for broker in both:
        made = broker.ask(questions.create("new"))
        assert made["Topics"][0]["ErrorCode"] == 0, made
    (_, of_all), (_, of_broker), _ = same(both, lambda broker: settings(broker, "new"), lambda found: found[2][0] == 0)
    assert [(each["Name"], each["Value"], each["ConfigSource"]) for each in of_all + of_broker] == [(ENOUGH, "2", 3)] * 2
    shown = {"Topics": [{"Name": "new"}], "ResponsePartitionLimit": 10, "Cursor": None}
    described = [answers.plain(ask(broker, "DescribeTopicPartitions", 0, **shown)) for broker in both]
    assert described[0] == described[1]


def test_no_broker_says_otherwise_while_they_are_on(both):
    both = of_both(both)
    for step in (
        lambda broker: alter(broker, "1", "1", 0),
        lambda broker: alter(broker, "1", None, 1),
        lambda broker: alter(broker, "", None, 1),
        lambda broker: update(broker, 0, UPGRADE),
    ):
        assert same(both, step)[0] != (0, None)
    for step in (
        lambda broker: alter(broker, "", "1", 0),
        lambda broker: update(broker, 0, SAFE_DOWNGRADE),
        lambda broker: alter(broker, "1", "3", 0),
        lambda broker: alter(broker, "", None, 1),
        lambda broker: update(broker, 1, UPGRADE),
    ):
        assert same(both, step)[0] in (0, (0, None))
    # Apache Kafka's broker forgets a value of its own a moment after its image has.
    values = lambda found: [(each["Name"], each["Value"], each["ConfigSource"]) for _, settings in found for each in settings]
    of_the_cluster = [(ENOUGH, "2", 3)] * 2
    assert values(same(both, settings, lambda found: values(found) == of_the_cluster)) == of_the_cluster
    assert same(both, level) == ([(0, 1)], [1])
