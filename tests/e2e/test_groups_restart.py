"""The broker stops, cleanly or by kill -9, and starts again under groups of every client: members stay what they are, in the generation or
epoch that they had, and go on; nothing that was committed is forgotten."""

import pytest
from harness import groups
from harness.clients import Admin
from harness.groups import KINDS, committed, partitions, places, span

# After a start each member of the consumer protocol has this long to come back.
PROPERTIES = {**groups.QUICK, "group.consumer.session.timeout.ms": "6000"}
STOPS = {"a clean stop": lambda broker: broker.stop(), "kill -9": lambda broker: broker.kill()}
# kcat ends when it cannot reach a broker, and KafkaJS when it does not find the coordinator at once. Of the others, some join anew
# by their own decision.
GOING_ON = [kind for kind in KINDS if kind not in ("kcat", "kafkajs")]
STAYING = [kind for kind in GOING_ON if kind not in ("java", "franz-go", "sarama")]


@pytest.mark.slow
@pytest.mark.parametrize("how", STOPS)
def test_members_stay_and_go_on(broker, java, admin, party, fill, topic, how):
    topics = {kind: f"{topic}-{kind}" for kind in GOING_ON}
    members = {}
    for kind, name in topics.items():
        admin.create(name, partitions=2)
        members[kind] = party(kind, name, name, session=60_000, instance="i")
    for kind, name in topics.items():
        party.until_shared(partitions(name, 2), members[kind])
        fill(name, 2)
    for kind, name in topics.items():
        party.until_read(20, members[kind])
        party.until(lambda name=name: committed(admin, name) == {f"{name}-0": 10, f"{name}-1": 10}, f"{kind} has committed")
    idle = {"group": f"{topic}-idle"}
    admin.call("alter-group-offsets", **idle, offsets=[[topics["java"], 0, 3, "three"], [topics["java"], 1, 4, ""]])
    kept = admin.call("list-group-offsets", **idle)
    assert kept[f"{topics['java']}-0"] == {"offset": 3, "metadata": "three", "epoch": None}
    staying = {name: admin.call("describe-group", group=name) for name in map(topics.get, STAYING)}
    assert {(each["state"], len(each["members"])) for each in staying.values()} == {("Stable", 1)}
    changes = {kind: list(members[kind].changes) for kind in STAYING}
    STOPS[how](broker)
    broker.start()
    admin = Admin(java, broker)
    assert admin.call("list-group-offsets", **idle) == kept
    for name in topics.values():
        fill(name, 2)
    for kind, name in topics.items():
        party.until_read(40, members[kind])
        party.until(lambda name=name: committed(admin, name) == {f"{name}-0": 20, f"{name}-1": 20}, f"{kind} has committed")
        assert places(members[kind]) == span(name, 2, 0, 20), kind
    assert {kind: members[kind].changes for kind in STAYING} == changes
    assert {name: admin.call("describe-group", group=name) for name in staying} == staying


@pytest.mark.slow
@pytest.mark.parametrize("how", STOPS)
def test_nothing_is_missed_when_the_broker_is_away_while_members_read(broker, party, admin, clients, topic, how):
    """Each kind of client has a group; a client that ends without a broker is started again, as kafka-python does now and then."""
    admin.create(topic, partitions=2)
    members = {kind: [party(kind, f"{topic}-{kind}", topic)] for kind in KINDS}
    for kind, [member] in members.items():
        member.may_fail = kind not in GOING_ON or kind == "kafka-python"
        party.until_shared(partitions(topic, 2), member)
    producer = clients.open("python")
    producer.begin("produce", bootstrap=broker.bootstrap, topic=topic, count=1500, rate=200, size=40, key_prefix="k", idempotent=True)
    party.until(lambda: all(len(member.records) > 100 for [member] in members.values()), "all read")
    STOPS[how](broker)
    broker.start()
    assert len(producer.end()) == 1500
    ends = {f"{topic}-{partition}": admin.offset(topic, "latest", partition) for partition in range(2)}
    everything = {(topic, partition, offset) for partition in range(2) for offset in range(ends[f"{topic}-{partition}"])}
    assert len(everything) == 1500

    def at_the_end(kind):
        if members[kind][-1].left():
            members[kind].append(party(kind, f"{topic}-{kind}", topic))
            members[kind][-1].may_fail = True
        return len(set(places(*members[kind]))) >= 1500 and committed(admin, f"{topic}-{kind}") == ends

    for kind, them in members.items():
        party.until(lambda kind=kind: at_the_end(kind), f"{kind} reads and commits all")
        assert set(places(*them)) == everything, kind


@pytest.mark.parametrize(("kind", "how"), (("python", "kill -9"), ("python-consumer", "a clean stop")))
def test_a_member_that_is_gone_when_the_broker_is_back_is_missed(broker, party, admin, fill, topic, kind, how):
    """A session does not end while the broker is away, and it does end after."""
    admin.create(topic, partitions=2)
    one, two = (party(kind, topic, topic, session=3000) for _ in range(2))
    party.until_shared(partitions(topic, 2), one, two)
    STOPS[how](broker)
    two.kill()
    broker.start()
    party.until_shared(partitions(topic, 2), one)
    fill(topic, 2)
    party.until_read(20, one)
    assert places(one) == span(topic, 2, 0, 10)
