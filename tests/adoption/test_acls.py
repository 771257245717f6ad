"""ACLs of an Apache Kafka directory count at once, and go back as they were with what was changed meanwhile."""

import pytest
from differential import access, answers, questions

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
STRANGER = "127.9.9.9"


def described(broker):
    each = answers.Broker(broker)
    found = each.ask(questions.Question("DescribeAcls", 3, "all", access.of_host(None)))
    each.close()
    return answers.plain(found["Resources"])


def create(broker, *creations):
    each = answers.Broker(broker)
    made = each.ask(questions.Question("CreateAcls", 3, "new", {"Creations": list(creations)}))
    each.close()
    assert {result["ErrorCode"] for result in made["Results"]} == {0}


def sees(broker, topic):
    """Whether a stranger is shown a topic."""
    each = answers.Broker(broker, STRANGER)
    code = answers.once(lambda: each.ask(questions.listing(topic))["Topics"][0]["ErrorCode"], lambda code: code in (0, 29))
    each.close()
    return code == 0


@pytest.mark.parametrize("how", ("stop", "kill"))
def test_acls_go_there_and_back(start_broker, how):
    kafka = start_broker(kind="kafka", properties=SETTINGS)
    admin = answers.Broker(kafka)
    for topic in ("open", "closed"):
        admin.ask(questions.create(topic))
    answers.once(lambda: admin.ask(questions.listing()), lambda found: len(found["Topics"]) == 2)
    admin.close()
    create(
        kafka,
        access.creation("TOPIC", "cl", "ALL", "127.0.0.1", pattern=access.PREFIXED),
        access.creation("GROUP", "*", "READ", "10.0.0.0/8", permission=access.DENY),
        access.creation("CLUSTER", access.CLUSTER, "ALL", "127.0.0.1", principal="User:ANONYMOUS"),
    )
    before = answers.once(lambda: described(kafka), lambda found: len(found) == 3)
    (kafka.stop if how == "stop" else kafka.kill)()

    aplomb = start_broker(kind="aplomb", properties=SETTINGS, after=kafka)
    assert described(aplomb) == before
    assert sees(aplomb, "open") and not sees(aplomb, "closed")
    create(aplomb, access.creation("TOPIC", "closed", "DESCRIBE", STRANGER))
    assert sees(aplomb, "closed")
    between = described(aplomb)
    aplomb.stop()

    again = start_broker(kind="kafka", properties=SETTINGS, after=aplomb)
    assert answers.once(lambda: described(again), lambda found: len(found) == len(between)) == between
    assert sees(again, "open") and sees(again, "closed")
    again.stop()
    again.close()
    aplomb.close()
