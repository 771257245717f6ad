"""ACLs as an operator has them: kafka-acls.sh with every option, refusals that clients are told of, and what the log says of them."""

import re
import time

import pytest
from confluent_kafka import Consumer
from differential import access, answers, questions

PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:admin",
    "allow.everyone.if.no.acl.found": "true",
}
MYSELF = "User:ANONYMOUS"
KINDS = [("--topic", "orders", "TOPIC"), ("--group", "g", "GROUP"), ("--transactional-id", "x", "TRANSACTIONAL_ID")]


@pytest.fixture
def at(broker):
    return ("--bootstrap-server", broker.bootstrap)


@pytest.fixture(scope="module", autouse=True)
def _administrator(broker):
    """Whoever asks from here may administrate, whatever ACLs the tests make: the first one about the cluster would end that."""
    each = answers.Broker(broker)
    mine = access.creation("CLUSTER", access.CLUSTER, "ALL", "127.0.0.1", principal=MYSELF)
    assert each.ask(questions.Question("CreateAcls", 3, "before", {"Creations": [mine]}))["Results"][0]["ErrorCode"] == 0
    each.close()


def listed(tools, at, *options):
    """kafka-acls --list as {(kind, name, pattern): {(principal, host, operation, permission)}}."""
    found, here = {}, None
    for line in tools.ok("kafka-acls", *at, "--list", *options).lines():
        pattern = re.search(r"ResourcePattern\(resourceType=(\w+), name=(.*), patternType=(\w+)\)", line)
        entry = re.search(r"\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)", line)
        if pattern:
            here = found.setdefault(pattern.groups(), set())
        elif entry and entry[1] != MYSELF:
            here.add(entry.groups())
    return {pattern: entries for pattern, entries in found.items() if entries}


def test_acls_of_every_kind_are_added_listed_and_removed(tools, at):
    for option, name, kind in KINDS:
        entry = ("--allow-principal", "User:alice", "--allow-host", "10.0.0.1", "--operation", "Describe")
        tools.ok("kafka-acls", *at, "--add", option, name, *entry)
        tools.ok("kafka-acls", *at, "--add", option, name, *entry)
        assert listed(tools, at, option, name) == {(kind, name, "LITERAL"): {("User:alice", "10.0.0.1", "DESCRIBE", "ALLOW")}}
        tools.ok("kafka-acls", *at, "--remove", "--force", option, name, *entry)
        assert listed(tools, at, option, name) == {}


def test_deny_prefixed_and_every_principal(tools, at):
    tools.ok("kafka-acls", *at, "--add", "--topic", "pay", "--resource-pattern-type", "prefixed", "--deny-principal", "User:*", "--operation", "Write")
    assert listed(tools, at) == {("TOPIC", "pay", "PREFIXED"): {("User:*", "*", "WRITE", "DENY")}}
    assert listed(tools, at, "--topic", "payments", "--resource-pattern-type", "match") == listed(tools, at)
    assert listed(tools, at, "--topic", "payments") == {}
    assert listed(tools, at, "--topic", "pay", "--resource-pattern-type", "any") == listed(tools, at)
    tools.ok("kafka-acls", *at, "--remove", "--force", "--topic", "pay", "--resource-pattern-type", "prefixed")
    assert listed(tools, at) == {}


def test_what_producers_and_consumers_need(tools, at):
    tools.ok("kafka-acls", *at, "--add", "--producer", "--topic", "t", "--transactional-id", "x", "--idempotent", "--allow-principal", "User:p")
    tools.ok("kafka-acls", *at, "--add", "--consumer", "--topic", "t", "--group", "g", "--allow-principal", "User:c")
    found = listed(tools, at)
    assert found["TOPIC", "t", "LITERAL"] == {
        *(("User:p", "*", operation, "ALLOW") for operation in ("WRITE", "DESCRIBE", "CREATE")),
        *(("User:c", "*", operation, "ALLOW") for operation in ("READ", "DESCRIBE")),
    }
    assert found["GROUP", "g", "LITERAL"] == {("User:c", "*", "READ", "ALLOW")}
    assert found["CLUSTER", "kafka-cluster", "LITERAL"] == {("User:p", "*", "IDEMPOTENT_WRITE", "ALLOW")}
    assert listed(tools, at, "--principal", "User:c").keys() == {("TOPIC", "t", "LITERAL"), ("GROUP", "g", "LITERAL")}
    for resource in (("--topic", "t"), ("--group", "g"), ("--transactional-id", "x")):
        tools.ok("kafka-acls", *at, "--remove", "--force", *resource)
    tools.ok("kafka-acls", *at, "--remove", "--force", "--cluster", "--allow-principal", "User:p", "--operation", "IdempotentWrite")
    assert listed(tools, at) == {}


def test_what_cannot_be_is_refused(tools, at):
    wrong = tools.run("kafka-acls", *at, "--add", "--topic", "t", "--allow-principal", "User:a", "--allow-host", "10.0.0.0/33", "--operation", "Read")
    assert "Invalid CIDR notation" in wrong.output
    assert listed(tools, at) == {}


def test_acls_survive_a_restart_and_a_snapshot(tools, at, broker):
    tools.ok("kafka-acls", *at, "--add", "--topic", "kept", "--allow-principal", "User:a", "--operation", "All")
    before = listed(tools, at)
    broker.stop()
    broker.start()
    assert listed(tools, at) == before
    tools.ok("kafka-acls", *at, "--remove", "--force", "--topic", "kept")


def test_a_refusal_is_told_to_the_client_and_to_the_log(broker):
    admin, client = answers.Broker(broker), answers.Broker(broker, "127.9.9.9")
    host = [access.creation("TOPIC", "secret", "READ", "127.0.0.1")]
    admin.ask(questions.create("secret"))
    admin.ask(questions.Question("CreateAcls", 3, "before", {"Creations": host}))
    told = client.ask(questions.listing("secret"))["Topics"][0]
    assert (told["ErrorCode"], told["Partitions"]) == (29, [])
    asked = [client.ask(questions.listing("secret")) for _ in range(2_000)]
    assert len(asked) == 2_000
    time.sleep(1)
    lines = [line for line in broker.log_file.read_text(errors="replace").splitlines() if "Principal = User:ANONYMOUS is Denied" in line]
    if broker.kind == "aplomb":
        assert 1 <= len(lines) < 1_500, "a flood is not written line by line"
        expected = "operation = DESCRIBE from host = 127.9.9.9 on resource = Topic:LITERAL:secret for request = Metadata with resourceRefCount = 1 based on rule DefaultDeny"
        assert expected in lines[0]
    of_topic = {**access.of_host(None), "ResourceTypeFilter": access.KINDS["TOPIC"]}
    admin.ask(questions.Question("DeleteAcls", 3, "after", {"Filters": [of_topic]}))
    for each in (admin, client):
        each.close()


def test_changes_hold_at_once_for_every_connection(broker):
    """A client on a connection that it has had all along."""
    admin, client = answers.Broker(broker), answers.Broker(broker, "127.9.9.8")
    admin.ask(questions.create("at-once"))
    seen = lambda: client.ask(questions.listing("at-once"))["Topics"][0]["ErrorCode"]
    mine = access.creation("TOPIC", "at-once", "DESCRIBE", "127.9.9.8")
    others = access.creation("TOPIC", "at-once", "ALL", "127.0.0.1")
    for _ in range(20):
        assert admin.ask(questions.Question("CreateAcls", 3, "on", {"Creations": [others]}))["Results"][0]["ErrorCode"] == 0
        if broker.kind == "aplomb":
            assert seen() == 29
        admin.ask(questions.Question("CreateAcls", 3, "on", {"Creations": [mine]}))
        if broker.kind == "aplomb":
            assert seen() == 0
        of_topic = {**access.of_host(None), "ResourceTypeFilter": access.KINDS["TOPIC"]}
        admin.ask(questions.Question("DeleteAcls", 3, "off", {"Filters": [of_topic]}))
    for each in (admin, client):
        each.close()


def test_an_expression_stands_for_topics_that_its_member_may_describe(both):
    """A consumer of the new protocol that subscribes to a pattern is given what it may see, on both brokers."""
    given = []
    for broker in both:
        admin = answers.Broker(broker)
        # One of the cluster first, so that what follows is not closed to this test on Apache Kafka.
        mine = access.creation("CLUSTER", access.CLUSTER, "ALL", "127.0.0.1", principal=MYSELF)
        admin.ask(questions.Question("CreateAcls", 3, "before", {"Creations": [mine]}))
        for name in ("shown-a", "shown-b", "shown-hidden"):
            admin.ask(questions.create(name))
        hidden = access.creation("TOPIC", "shown-hidden", "DESCRIBE", "*", access.DENY, principal=MYSELF)
        others = [access.creation("TOPIC", name, "ALL", "*", principal=MYSELF) for name in ("shown-a", "shown-b", "shown-hidden")]
        answer = admin.ask(questions.Question("CreateAcls", 3, "before", {"Creations": [*others, hidden]}))
        assert {result["ErrorCode"] for result in answer["Results"]} == {0}
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "of-an-expression", "group.protocol": "consumer"})
        consumer.subscribe(["^shown-.*"])
        deadline, seen = time.monotonic() + 40, set()
        while time.monotonic() < deadline and len(seen) < 2:
            consumer.poll(0.5)
            seen = {partition.topic for partition in consumer.assignment()}
        until = time.monotonic() + 3
        while time.monotonic() < until:
            consumer.poll(0.5)
        given.append({partition.topic for partition in consumer.assignment()})
        consumer.close()
        of_topic = {**access.of_host(None), "ResourceTypeFilter": access.KINDS["TOPIC"]}
        admin.ask(questions.Question("DeleteAcls", 3, "after", {"Filters": [of_topic]}))
        admin.close()
    assert given[0] == given[1] == {"shown-a", "shown-b"}
