"""Groups of the consumer protocol (KIP-848): the broker's assignors, static members, patterns that the broker resolves, and groups that
change from one protocol to the other while they are read."""

import pytest
from harness import groups
from harness.groups import committed, partitions, places, span

PROPERTIES = groups.QUICK
SPEAKERS = ("java-consumer", "python-consumer", "franz-go-consumer")


def described(admin, group):
    """What the admin client says of a group whose members agree with it."""
    found = admin.call("describe-group", group=group)
    assert [each["owns"] for each in found["members"]] == [each["target"] for each in found["members"]]
    assert {each["epoch"] for each in found["members"]} <= {found["epoch"]}
    return found


@pytest.mark.parametrize("assignor", ("uniform", "range"))
@pytest.mark.parametrize("kind", SPEAKERS)
def test_the_broker_assigns(party, admin, fill, topic, kind, assignor):
    topics = [f"{topic}-a", f"{topic}-b"]
    for name in topics:
        admin.create(name, partitions=3)
    everything = [pair for name in topics for pair in partitions(name, 3)]
    if kind.startswith("franz-go") and assignor == "uniform":
        assignor = "sticky"
    one = party(kind, topic, topics, assignor=assignor)
    party.until_shared(everything, one)
    two = party(kind, topic, topics, assignor=assignor)
    party.until_shared(everything, one, two)
    sizes = sorted((len(one.owned), len(two.owned)))
    if assignor == "range":
        # For each topic the first member gets the first two.
        assert sizes == [2, 4]
        assert sorted([sorted(one.owned), sorted(two.owned)])[0] == [(name, number) for name in topics for number in (0, 1)]
    else:
        assert sizes == [3, 3]
    found = described(admin, topic)
    assert (found["type"], found["state"]) == ("Consumer", "Stable")
    assert found["assignor"] == ("range" if assignor == "range" else "uniform")
    assert {each["upgraded"] for each in found["members"]} == {True}
    for name in topics:
        fill(name, 3)
    party.until_read(60, one, two)
    party.leave(one)
    party.until_shared(everything, two)
    assert described(admin, topic)["epoch"] == found["epoch"] + 1
    assert places(one, two) == span(topics[0], 3, 0, 10) + span(topics[1], 3, 0, 10)


def test_an_assignor_that_the_broker_does_not_have_is_refused(party, admin, topic):
    admin.create(topic)
    member = party("java-consumer", topic, topic, assignor="best")
    assert party.until_failed(member) == "UnsupportedAssignorException"
    assert admin.answer("describe-group", group=topic)["error"] == "GroupIdNotFoundException"


def test_a_pattern_that_cannot_be_read_is_refused(party, admin, topic):
    admin.create(topic)
    member = party("java-consumer", topic, topic, pattern="(")
    assert party.until_failed(member) == "InvalidRegularExpression"


@pytest.mark.slow
def test_a_pattern_finds_a_topic_that_is_made_later(party, admin, topic):
    """The broker looks again ten seconds after the last time, as Apache Kafka does."""
    admin.create(f"{topic}.one")
    members = [party(kind, topic, topic, pattern=f"^{topic}\\.[ot].*") for kind in ("java-consumer", "python-consumer")]
    party.until(lambda: any(member.owned for member in members), "the one topic is owned")
    admin.create(f"{topic}.two")
    admin.create(f"{topic}.else")
    party.until_shared([(f"{topic}.one", 0), (f"{topic}.two", 0)], *members)


# franz-go leaves a static membership to its session's end, and comes back after it.
@pytest.mark.parametrize("kind", ("java-consumer", "python-consumer"))
def test_a_static_member_comes_back_without_a_rebalance(party, admin, fill, topic, kind):
    admin.create(topic, partitions=4)
    # On a busy machine a client takes seconds to come back.
    admin.call("alter-configs", type="GROUP", name=topic, changes=[["consumer.session.timeout.ms", "SET", "30000"]])
    stays = party(kind, topic, topic, instance="stays")
    goes = party(kind, topic, topic, instance="goes")
    party.until_shared(partitions(topic, 4), stays, goes)
    epoch = described(admin, topic)["epoch"]
    before, had = list(stays.changes), set(goes.owned)
    party.leave(goes)
    back = party(kind, topic, topic, instance="goes")
    party.until(lambda: back.owned == had, "it has its partitions again")
    found = described(admin, topic)
    assert found["epoch"] == epoch
    assert sorted(each["instance"] for each in found["members"]) == ["goes", "stays"]
    fill(topic, 4)
    party.until_read(40, stays, back)
    assert stays.changes == before
    assert places(stays, back) == span(topic, 4, 0, 10)


def test_an_instance_that_is_there_is_not_given_to_another(party, admin, topic):
    admin.create(topic, partitions=2)
    first = party("java-consumer", topic, topic, instance="one")
    party.until_shared(partitions(topic, 2), first)
    assert party.until_failed(party("java-consumer", topic, topic, instance="one")) == "UnreleasedInstanceIdException"
    assert first.owned == set(partitions(topic, 2))


@pytest.mark.parametrize(("old", "new"), (("java", "java-consumer"), ("python", "python-consumer"), ("franz-go", "java-consumer"), ("sarama", "python-consumer")))
def test_a_group_changes_protocol_and_back_while_it_is_read(party, admin, fill, topic, old, new):
    admin.create(topic, partitions=6)
    everything = partitions(topic, 6)
    written = 0

    def read_on(*members):
        nonlocal written
        fill(topic, 6, 5)
        written += 5
        party.until_read(6 * written, *members)

    kind = lambda: admin.call("list-groups")[topic][0]
    one, two = party(old, topic, topic), party(old, topic, topic)
    party.until_shared(everything, one, two)
    read_on(one, two)
    assert kind() == "Classic"
    three = party(new, topic, topic)
    party.until_shared(everything, one, two, three)
    read_on(one, two, three)
    assert kind() == "Consumer"
    upgraded = sorted(str(each["upgraded"]) for each in admin.call("describe-group", group=topic)["members"])
    assert upgraded == ["False", "False", "True"]
    party.leave(one, two)
    party.until_shared(everything, three)
    read_on(one, two, three)
    assert kind() == "Consumer"
    four = party(old, topic, topic)
    party.until_shared(everything, three, four)
    read_on(one, two, three, four)
    party.leave(three)
    party.until_shared(everything, four)
    read_on(one, two, three, four)
    assert kind() == "Classic"
    party.leave(four)
    assert places(one, two, three, four) == span(topic, 6, 0, written)
    assert committed(admin, topic) == {f"{topic}-{number}": written for number in range(6)}
