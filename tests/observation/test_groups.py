"""What the page says of groups is what the tools say of them."""

import time

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from conftest import group_reads, produce
from harness.broker import free_ports
from harness.pages import one, samples

COORDINATOR = "kafka_server_group_coordinator_metrics_"
MANAGER = "kafka_coordinator_group_groupmetadatamanager_"


def described(tools, broker):
    """{(group, topic, partition): (committed, end, lag)}, as `kafka-consumer-groups` says."""
    ran = tools.ok("kafka-consumer-groups", "--bootstrap-server", broker.bootstrap, "--describe", "--all-groups")
    rows = (line.split() for line in ran.stdout.splitlines())
    found = {}
    for row in rows:
        if len(row) >= 6 and row[2].isdigit() and row[3].isdigit():
            group, topic, partition, committed, end, lag = row[:6]
            found[group, topic, int(partition)] = tuple(map(int, (committed, end, lag)))
    return found


def shown(page):
    """{(group, topic, partition): (committed, lag)}, as the page says; of a topic that is gone there is no lag."""
    found = {}
    for (name, labels), value in page.items():
        if name == "kafka_consumergroup_current_offset":
            place = dict(labels)
            place = place["consumergroup"], place["topic"], int(place["partition"])
            found[place] = value, page.get(("kafka_consumergroup_lag", labels))
    return found


def members(page):
    return {dict(labels)["consumergroup"]: value for (name, labels), value in page.items() if name == "kafka_consumergroup_members"}


def until(broker, condition, what, patience=30):
    """The page that fulfils it."""
    deadline = time.monotonic() + patience
    while True:
        page = samples(broker.page)
        if condition(page):
            return page
        assert time.monotonic() < deadline, f"{what}: {shown(page)} {members(page)}"
        time.sleep(0.1)


def topic(broker, name, partitions=2, records=20):
    broker.admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
    produce(broker, name, records, partitions)


def commit(broker, group, name, offsets):
    """Commits of no member, as an operator resets them."""
    places = [TopicPartition(name, partition, offset) for partition, offset in enumerate(offsets)]
    broker.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group].result(30)


@pytest.fixture(scope="module")
def broker(start_broker):
    """A broker of this module, which is killed."""
    return start(start_broker, {})


def start(start_broker, properties):
    (port,) = free_ports(1)
    properties = {"aplomb.metrics.listener": f"127.0.0.1:{port}", "group.initial.rebalance.delay.ms": "0", **properties}
    started = start_broker(kind="aplomb", properties=properties)
    started.page = f"127.0.0.1:{port}"
    started.admin = AdminClient({"bootstrap.servers": started.bootstrap})
    return started


def check(broker, tools):
    """The page is what the tool says, and all that it says."""
    page = samples(broker.page)
    told = described(tools, broker)
    assert told
    assert shown(page) == {place: (committed, lag) for place, (committed, _, lag) in told.items()}
    sums = {}
    for (group, name, _), (committed, _, lag) in told.items():
        before = sums.get((group, name), (0, 0))
        sums[group, name] = before[0] + committed, before[1] + lag
    for (group, name), (committed, lag) in sums.items():
        labels = {"consumergroup": group, "topic": name}
        assert one(page, "kafka_consumergroup_current_offset_sum", **labels) == committed
        assert one(page, "kafka_consumergroup_lag_sum", **labels) == lag
    assert one(page, f"{COORDINATOR}offset_count") == one(page, f"{MANAGER}numoffsets") == len(told)
    assert one(page, "aplomb_metrics_groups_left_out") == one(page, "aplomb_metrics_group_offsets_left_out") == 0
    return page


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_offsets_and_lag_of_a_group_are_what_the_tool_says(broker, tools, protocol):
    name = f"read-{protocol}"
    topic(broker, name)
    before = samples(broker.page)
    consumer = group_reads(broker, name, name, 12, {"group.protocol": protocol})
    until(broker, lambda page: members(page).get(name) == 1, "it has a member")
    page = check(broker, tools)
    assert sum(lag for (group, *_), (_, lag) in shown(page).items() if group == name) == 20 - 12
    assert one(page, f"{COORDINATOR}{protocol}_group_count", state="Stable") == 1
    commits = f"{COORDINATOR}offset_commit_count"
    assert one(page, commits) > one(before, commits)
    rebalances = f"{COORDINATOR}{'group_completed' if protocol == 'classic' else 'consumer_group'}_rebalance_count"
    assert one(page, rebalances) > one(before, rebalances)
    assert one(page, f"{COORDINATOR}group_count", protocol=protocol) == 1
    produce(broker, name, 10, 2)
    check(broker, tools)
    consumer.close()
    page = until(broker, lambda page: members(page).get(name) == 0, "its member has left")
    assert one(page, f"{COORDINATOR}{protocol}_group_count", state="Empty") == 1
    check(broker, tools)


def test_what_is_deleted_is_gone(broker, tools):
    topic(broker, "kept")
    topic(broker, "passing")
    commit(broker, "two", "kept", [3, 4])
    commit(broker, "two", "passing", [5, 6])
    commit(broker, "one", "kept", [25, 4])
    page = until(broker, lambda page: ("one", "kept", 0) in shown(page), "it is there")
    assert shown(page)["one", "kept", 0] == (25, 0), "a lag is not below 0"
    deletions = one(page, f"{COORDINATOR}offset_deletion_count")
    tools.ok("kafka-consumer-groups", "--bootstrap-server", broker.bootstrap, "--delete-offsets", "--group", "two", "--topic", "kept:0")
    page = until(broker, lambda page: ("two", "kept", 0) not in shown(page), "an offset is deleted")
    assert one(page, f"{COORDINATOR}offset_deletion_count") == deletions + 1
    broker.admin.delete_topics(["passing"])["passing"].result(30)
    page = until(broker, lambda page: not any(place[1] == "passing" for place in shown(page)), "so is a topic")
    assert ("two", "kept", 1) in shown(page)
    broker.admin.delete_consumer_groups(["one"])["one"].result(30)
    page = until(broker, lambda page: "one" not in members(page), "so is a group")
    assert not any(place[0] == "one" for place in shown(page))
    check(broker, tools)


def test_a_restart_shows_what_was_there(broker, tools):
    before = check(broker, tools)
    partitions = one(before, f"{COORDINATOR}num_partitions", state="active")
    assert partitions > 0
    for end in (broker.kill, broker.stop):
        end()
        broker.start()
        page = until(broker, lambda page: one(page, f"{COORDINATOR}num_partitions", state="active") == partitions, "all are loaded")
        page = until(broker, lambda page: shown(page) == shown(before), "all are shown")
        assert members(page) == members(before)
        assert one(page, f"{COORDINATOR}num_partitions", state="loading") == one(page, f"{COORDINATOR}num_partitions", state="failed") == 0
        assert one(page, f"{COORDINATOR}partition_load_time_max") >= one(page, f"{COORDINATOR}partition_load_time_avg") >= 0
        check(broker, tools)


def test_groups_beyond_the_bound_are_left_out_and_come_in_when_others_go(start_broker):
    broker = start(start_broker, {"aplomb.metrics.groups.max": 2})
    topic(broker, "t")
    for n in range(5):
        commit(broker, f"g{n}", "t", [n, n])
    left_out = "aplomb_metrics_groups_left_out"
    page = until(broker, lambda page: one(page, left_out) == 3, "three are left out")
    first = set(members(page))
    assert len(first) == 2 and len(shown(page)) == 4 and one(page, "aplomb_metrics_group_offsets_left_out") == 6
    assert one(page, f"{COORDINATOR}group_count", protocol="classic") == 5
    for deleted in broker.admin.delete_consumer_groups(list(first)).values():
        deleted.result(30)
    page = until(broker, lambda page: len(members(page)) == 2 and one(page, left_out) == 1, "two others have come in")
    assert first.isdisjoint(members(page)) and len(shown(page)) == 4
    # One with more partitions than there is room for.
    topic(broker, "wide", partitions=600, records=0)
    group = min(members(page))
    commit(broker, group, "wide", [7] * 600)
    left_out = "aplomb_metrics_group_offsets_left_out"
    until(broker, lambda page: one(page, left_out) > 2 and len(shown(page)) + one(page, left_out) == 606, "some are left out")
    broker.close()


def test_no_group_is_shown_where_none_is_to_be(start_broker):
    broker = start(start_broker, {"aplomb.metrics.groups.max": 0})
    topic(broker, "t")
    commit(broker, "g", "t", [1, 1])
    page = until(broker, lambda page: one(page, "aplomb_metrics_groups_left_out") == 1, "it is counted")
    assert members(page) == shown(page) == {}
    broker.close()
