"""Thousands of odd, wrong and extreme requests of every API that is advertised, in its versions: Apache Kafka and the broker under test
answer alike, field by field, or differential/differences.py says why not."""

import pytest
from differential import answers, batches, groups, questions, schemas, transactions
from differential.differences import KNOWN
from harness import wire

PROPERTIES = {
    "auto.create.topics.enable": "false",
    **groups.PROPERTIES,
    **transactions.PROPERTIES,
    # A busy machine may keep Apache Kafka from its own controller for seconds; fenced, it has another leader epoch afterwards.
    "broker.session.timeout.ms": "60000",
}
TOPICS = {"read": 2, "written": 1, "shortened": 1, "altered": 1}
# Shown of a failure.
MOST = 60


@pytest.fixture(scope="module")
def asked(broker, start_broker):
    """(Apache Kafka, the broker under test), with the same topics and records."""
    kafka = start_broker(kind="kafka", properties=PROPERTIES)
    pair = answers.Broker(kafka), answers.Broker(broker)
    for each in pair:
        for name, partitions in TOPICS.items():
            each.ask(questions.create(name, partitions))
        listed = answers.once(lambda: each.ask(questions.listing()), lambda found: len(found["Topics"]) == len(TOPICS))
        each.ids = {topic["Name"]: topic["TopicId"] for topic in listed["Topics"]}
        for name in ("read", "shortened"):
            data = [{"Name": name, "PartitionData": [{"Index": 0, "Records": batches.batch(base=0)}]}]
            produce = questions.Question("Produce", 9, "before", {"Acks": -1, "TimeoutMs": 5_000, "TopicData": data})
            answers.once(lambda: each.ask(produce), lambda written: written["Responses"][0]["PartitionResponses"][0]["ErrorCode"] == 0)
        changed = each.ask(questions.set_before())
        assert {resource["ErrorCode"] for resource in changed["Responses"]} == {0}, changed
        for question, is_so, learned in [*groups.made(), *transactions.made()]:
            asked = questions.Question(*question)
            each.ids.update(learned(answers.once(lambda: each.ask(asked), is_so)))
        who = questions.Question("InitProducerId", 4, "before", {"TransactionalId": None, "TransactionTimeoutMs": 60_000})
        answers.once(lambda: each.ask(who), lambda given: given["ErrorCode"] == 0)
    yield pair
    for each in pair:
        each.close()
    kafka.close()


def advertised(broker):
    with wire.Connection(broker.port) as connection:
        _, ranges, _ = wire.read_api_versions(connection.ask(wire.api_versions(4)), 4)
    return ranges


def test_every_api_that_is_advertised_has_questions(broker):
    known = schemas.requests()
    assert {known[key] for key in advertised(broker)} == set(questions.RIGHT)


@pytest.mark.parametrize("api", questions.RIGHT)
def test_answers_are_apache_kafkas(asked, broker, api, record_property):
    low, high = advertised(broker)[schemas.key_of(api)]
    count, explained, met, wrong = 0, 0, set(), []
    for question in questions.of(api, max(low, _oldest(api)), high):
        for before in question.before:
            for each in asked:
                each.ask(before)
        kafkas, ours = (answers.plain(each.ask(question), api=api) for each in asked)
        count += 1
        found = answers.differences(kafkas, ours)
        reasons = [next((known for known in KNOWN if known.explains(question, place)), None) for place, _, _ in found]
        met.update(known for known in reasons if known)
        explained += bool(found) and all(reasons)
        wrong += [(question, *each) for each, known in zip(found, reasons) if not known]
    record_property("questions", count)
    record_property("explained", explained)
    print(f"{api}: {count} questions, {explained} answered otherwise for a known reason, {len({str(each[0]) for each in wrong})} for none")
    text = "\n".join(f"{question}: {place or 'the whole'}: {_short(kafkas)}, ours {_short(ours)}" for question, place, kafkas, ours in wrong[:MOST])
    assert not wrong, f"{len(wrong)} differences:\n{text}"
    stale = [known for known in KNOWN if known.api == api and known not in met and not known.at_times]
    assert not stale, f"no question meets these any more: {stale}"


def _oldest(api):
    """The lowest version that Apache Kafka's schema has: Produce advertises some that it only refuses, for old librdkafka."""
    return int(schemas._sources()[f"{api}Request"]["validVersions"].split("-")[0])


def _short(value):
    text = repr(value)
    return text if len(text) < 300 else f"{text[:300]}..."
