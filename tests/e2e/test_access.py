"""Every API that is advertised, asked under every set of ACLs that makes a difference to it: allowed, denied, partly denied. Apache Kafka
with its StandardAuthorizer and the broker under test, with the same ACLs, give the same codes and leave out the same."""

import time

import pytest
from differential import access, answers, batches, groups, questions, schemas, transactions
from differential.differences import KNOWN
from test_differential import TOPICS, advertised

PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "auto.create.topics.enable": "true",
    **groups.PROPERTIES,
    **transactions.PROPERTIES,
    "broker.session.timeout.ms": "60000",
}
# The brokers' own, and that of those who prepare what is asked about.
OURS = "127.0.0.1"
# Sentences that only one of the two says.
WORDS = "ErrorMessage"


def _hosts():
    """An address for each API and set of ACLs."""
    found = {}
    for a, api in enumerate(access.NEEDS):
        for s, rights in enumerate(access.sets(api)):
            found[api, rights] = f"127.1.{a}.{s + 1}"
    return found


HOSTS = _hosts()


@pytest.fixture(scope="module")
def asked(broker, start_broker):
    """(Apache Kafka, the broker under test), with the same topics, groups, transactions and ACLs."""
    kafka = start_broker(kind="kafka", properties=PROPERTIES)
    pair = answers.Broker(kafka), answers.Broker(broker)
    for each in pair:
        _prepare(each)
        _permit(each)
    yield pair
    for each in pair:
        each.close()
    kafka.close()


def _prepare(each):
    for name, partitions in {**TOPICS, "hidden": 1}.items():
        each.ask(questions.create(name, partitions))
    listed = answers.once(lambda: each.ask(questions.listing()), lambda found: len(found["Topics"]) == len(TOPICS) + 1)
    each.ids = {topic["Name"]: topic["TopicId"] for topic in listed["Topics"]}
    for name in ("read", "shortened"):
        data = [{"Name": name, "PartitionData": [{"Index": 0, "Records": batches.batch(base=0)}]}]
        produce = questions.Question("Produce", 9, "before", {"Acks": -1, "TimeoutMs": 5_000, "TopicData": data})
        answers.once(lambda: each.ask(produce), lambda written: written["Responses"][0]["PartitionResponses"][0]["ErrorCode"] == 0)
    for question, is_so, learned in [*groups.made(), *transactions.made()]:
        asked = questions.Question(*question)
        each.ids.update(learned(answers.once(lambda: each.ask(asked), is_so)))
    who = questions.Question("InitProducerId", 4, "before", {"TransactionalId": None, "TransactionTimeoutMs": 60_000})
    answers.once(lambda: each.ask(who), lambda given: given["ErrorCode"] == 0)


def _permit(each):
    """All sets of ACLs, each for its address; the brokers' own comes first, or they could not go on."""
    creations = access.EVERYTHING.creations(OURS)
    for (_, rights), host in HOSTS.items():
        creations += rights.creations(host)
    made = each.ask(questions.Question("CreateAcls", 3, "before", {"Creations": creations}))
    assert {result["ErrorCode"] for result in made["Results"]} == {0}, made
    described = questions.Question("DescribeAcls", 3, "before", access.of_host(None))
    count = len({tuple(sorted(creation.items())) for creation in creations})
    answers.once(lambda: each.ask(described), lambda found: sum(len(of["Acls"]) for of in found["Resources"]) == count)


def widened(value, ids):
    """With a topic, a group and a transactional id beside each that is named: one that is hidden, and one that is not there."""
    if isinstance(value, dict):
        return {name: widened(item, ids) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    found = [widened(item, ids) for item in value]
    for item in value:
        if not isinstance(item, dict):
            continue
        for field in ("Name", "Topic", "TopicName"):
            if item.get(field) == "read" and ("TopicId" in item or field in item):
                for other, topic_id in (("hidden", schemas.Id("hidden")), ("nowhere", questions.MISSING_ID)):
                    more = {**widened(item, ids), field: other}
                    found.append({**more, "TopicId": topic_id} if "TopicId" in item else more)
    return found


def asks(api, low, high):
    """The right requests of an API in its lowest and its highest version, as they are and with more that they name."""
    for version in sorted({low, high}):
        for question in questions.of(api, version, version):
            is_plain = ":" not in question.what and "," not in question.what and not question.cut and not question.behind
            if not is_plain or question.header != questions.Question.header:
                continue
            yield question
            wide = widened(question.value, None)
            if wide != question.value:
                yield questions.Question(api, version, f"{question.what}, widened", wide, before=question.before)


def test_every_api_that_is_advertised_is_asked(broker):
    known = schemas.requests()
    assert {known[key] for key in advertised(broker)} == set(access.NEEDS)


@pytest.mark.parametrize("api", access.NEEDS)
def test_answers_are_apache_kafkas_whatever_the_client_may_do(asked, broker, api, record_property):
    low, high = advertised(broker)[schemas.key_of(api)]
    low = max(low, int(schemas._sources()[f"{api}Request"]["validVersions"].split("-")[0]))
    count, explained, wrong = 0, 0, []
    for rights in access.sets(api):
        host = HOSTS[api, rights]
        pair = [answers.Broker(each.broker, host) for each in asked]
        for here, each in zip(pair, asked):
            here.ids = each.ids
        for question in asks(api, low, high):
            for before in question.before:
                for each in asked:
                    each.ask(before)
            kafkas, ours = (answers.plain(each.ask(question), api=api) for each in pair)
            deadline = time.monotonic() + 10
            # A topic that an earlier question has made may be shown by one before the other.
            while api == "Metadata" and kafkas != ours and time.monotonic() < deadline:
                kafkas, ours = (answers.plain(each.ask(question), api=api) for each in pair)
            count += 1
            found = [each for each in answers.differences(kafkas, ours) if not each[0].endswith(WORDS)]
            reasons = [next((known for known in KNOWN if known.explains(question, place)), None) for place, _, _ in found]
            explained += bool(found) and all(reasons)
            wrong += [(rights.what, question, *each) for each, known in zip(found, reasons) if not known]
        for each in pair:
            each.close()
    record_property("questions", count)
    record_property("explained", explained)
    print(f"{api}: {count} questions, {explained} answered otherwise for a known reason, {len(wrong)} differences for none")
    text = "\n".join(f"with {what}, {question}: {place or 'the whole'}: {kafkas!r:.300}, ours {ours!r:.300}" for what, question, place, kafkas, ours in wrong[:60])
    assert not wrong, f"{len(wrong)} differences:\n{text}"
