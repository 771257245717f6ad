"""GSSAPI, said by hand to both brokers: what clients are told, whatever they show, is what Apache Kafka tells them."""

import time

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, AdminClient, NewTopic, ResourcePatternType, ResourceType
from harness import kerberos, wire
from harness.gssapi import Exchange, authority, broker, outcome, properties, realm, started  # noqa: F401: fixtures among them
from harness.kerberos import Initiator
from harness.sasl import CLOSED

if kerberos.missing():
    message = f"skipped, since this machine has no {', '.join(kerberos.missing())} (packages krb5-kdc, krb5-admin-server, krb5-user)"
    pytest.skip(message, allow_module_level=True)


@pytest.fixture(scope="module")
def both(broker, realm, authority, tmp_path_factory):
    kafka = started("kafka", tmp_path_factory.mktemp("kafka"), properties(realm, authority))
    yield broker, kafka
    kafka.close()


DONE = (0, "", False)


@pytest.mark.parametrize("version", [1, 2])
def test_a_ticket_gets_in_as_with_apache_kafka(both, realm, version):
    said = [outcome(broker, realm, version=version) for broker in both]
    assert said[0] == said[1] == ([(0, "", True), (0, "", True), DONE], True)
    assert [outcome(broker, realm, version=version, flags=0) for broker in both] == [([(0, "", True), DONE], True)] * 2


def test_what_is_offered_is_what_apache_kafka_offers(both, realm):
    offers = []
    for broker in both:
        with Exchange(broker.ports["OPEN"], realm.ticket("alice")) as exchange:
            exchange.log_in()
            offers.append(exchange.offer)
    assert offers[0] == offers[1] == b"\x01\x01\x00\x00"


CHOICES = {
    "another name": b"\x01\x00\x00\x00bob",
    "a size": b"\x01\xff\xff\xff",
    "all layers": b"\x07\x00\x00\x00",
    "a layer that is not offered": b"\x04\x00\x10\x00",
    "no layer at all": b"\x00\x00\x00\x00",
    "a name that is no text": b"\x01\x00\x00\x00\xff\xfe",
}


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_what_a_client_chooses_is_taken_as_by_apache_kafka(both, realm, choice):
    ours, theirs = (outcome(broker, realm, "alice", "OPEN", choice) for broker in both)
    assert ours == theirs


SEALS = {
    "nothing": lambda _: b"",
    "garbage": lambda _: b"garbage",
    "not sealed": lambda _: b"\x01\x00\x00\x00",
    "a seal with a flaw": lambda initiator: initiator.wrap(b"\x01\x00\x00\x00")[:-1] + b"\x00",
    "half a seal": lambda initiator: initiator.wrap(b"\x01\x00\x00\x00")[:20],
}


@pytest.mark.parametrize("seal", SEALS.values(), ids=SEALS)
def test_a_last_message_that_is_not_sealed_is_refused_as_by_apache_kafka(both, realm, seal):
    ours, theirs = (outcome(broker, realm, log_in={"seal": seal}) for broker in both)
    assert ours == theirs and ours[0][-1][0] == 58, ours


def test_what_comes_where_nothing_is_to_come_is_refused_as_by_apache_kafka(both, realm):
    def said(broker):
        with Exchange(broker.ports["OPEN"], realm.ticket("alice")) as exchange:
            exchange.begin()
            exchange.say(exchange.initiator.step())
            exchange.say(b"something")
            return exchange.said, exchange.is_in()

    ours, theirs = map(said, both)
    assert ours == theirs and ours[0][-1][0] == 58


GARBAGE = {
    "nothing": b"",
    "a byte": b"\x60",
    "a word": b"garbage",
    "zeros": bytes(4000),
    "a length without an end": b"\x60\x84\xff\xff\xff\xff",
    "Kerberos and nothing behind it": bytes.fromhex("600b06092a864886f712010202"),
    "a ticket of zeros": bytes.fromhex("6082020006092a864886f7120102020100") + bytes(500),
    "SPNEGO": bytes.fromhex("601806062b0601050502a00e300ca00a06082a864886f7120102"),
    "much": b"\x60" * 500_000,
}


@pytest.mark.parametrize("token", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_refused_as_by_apache_kafka(both, token):
    def said(broker):
        with Exchange(broker.ports["OPEN"]) as exchange:
            exchange.begin()
            exchange.say(token)
            return exchange.said, exchange.is_in()

    ours, theirs = map(said, both)
    assert ours == theirs and ours[0][0][0] == 58


def test_a_damaged_ticket_is_refused_as_by_apache_kafka(both, realm):
    def said(broker):
        with Exchange(broker.ports["OPEN"], realm.ticket("alice")) as exchange:
            exchange.begin()
            token = bytearray(exchange.initiator.step())
            token[len(token) // 2] ^= 0xFF
            exchange.say(bytes(token))
            return exchange.said, exchange.is_in()

    ours, theirs = map(said, both)
    assert ours == theirs and ours[0][0][0] == 58


def test_a_ticket_for_another_service_is_refused_as_by_apache_kafka(both, realm):
    realm.principal("other/localhost")
    ours, theirs = (outcome(broker, realm, service="other@localhost") for broker in both)
    assert ours == theirs and ours[0][0][0] == 58, ours


def test_a_replay_is_closed_without_a_word_as_by_apache_kafka(both, realm):
    """So that clients try again: what looks like one may be none."""

    def said(broker):
        token = Initiator(realm.ticket("alice")).step()
        told = []
        for _ in range(2):
            with Exchange(broker.ports["OPEN"]) as exchange:
                exchange.begin()
                exchange.say(token)
                told += exchange.said
        return told

    ours, theirs = map(said, both)
    assert ours == theirs == [(0, "", True), CLOSED]


def test_a_ticket_that_is_over_is_refused_as_by_apache_kafka(both, realm):
    exchanges = [Exchange(broker.ports["OPEN"], realm.ticket("alice", "-l", "2s")) for broker in both]
    tokens = [exchange.initiator.step() for exchange in exchanges]
    time.sleep(kerberos.SKEW + 3)
    for exchange, token in zip(exchanges, tokens, strict=True):
        exchange.begin()
        exchange.say(token)
        exchange.there.socket.close()
    ours, theirs = (exchange.said for exchange in exchanges)
    assert ours == theirs and ours[0][0] == 58, ours


def created(broker, topic):
    for future in broker.admin.create_topics([NewTopic(topic, 1, 1)]).values():
        future.result(30)
    return topic


def acls(broker, *bindings):
    for future in broker.admin.create_acls(list(bindings)).values():
        future.result(30)


def allowed(topic, user, *operations):
    principal, permission = f"User:{user}", AclPermissionType.ALLOW
    return [AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, principal, "*", each, permission) for each in operations]


def test_acls_are_about_the_names_that_the_rules_make(both, realm):
    for broker in both:
        broker.admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for principal, user in (("alice", None), ("bert", "BERT"), ("root/admin", "root-the-boss"), ("root/other", None)):
            topic = created(broker, f"of-{principal.replace('/', '-')}")
            acls(broker, *allowed(topic, user or "none", AclOperation.WRITE))
            with Exchange(broker.ports["RULED"], realm.ticket(principal)) as exchange:
                exchange.log_in()
                if user is None:
                    # Apache Kafka says that it is well, and closes then: clients come again and again.
                    assert exchange.said[-1][0] == (58 if broker.kind == "aplomb" else 0) and not exchange.is_in()
                    continue
                assert exchange.is_in()
                _, topics = wire.read_metadata(exchange.there.ask(wire.metadata([topic])))
                assert topics[topic][0] == 0, (principal, topics)
            with Exchange(broker.ports["OPEN"], realm.ticket("alice")) as exchange:
                exchange.log_in()
                _, topics = wire.read_metadata(exchange.there.ask(wire.metadata([topic])))
                assert topics[topic][0] == 29, "it is closed to others"


def test_a_rule_that_makes_no_name_lets_no_one_in(both, realm):
    for broker in both:
        said, is_in = outcome(broker, realm, "slash", "RULED")
        assert not is_in and said[-1][0] == (58 if broker.kind == "aplomb" else 0)


def test_who_has_come_authenticates_anew_as_with_apache_kafka(both, realm):
    def said(broker):
        told = []
        with Exchange(broker.ports["SHORT"], realm.ticket("alice")) as exchange:
            exchange.log_in()
            told.append((exchange.said, exchange.lifetime))
            time.sleep(1.2)
            for name in ("alice", "bert"):
                exchange.initiator, exchange.said = Initiator(realm.ticket(name)), []
                exchange.log_in()
                told.append((exchange.said, exchange.lifetime, exchange.is_in()))
                time.sleep(1.2)
        return told

    ours, theirs = map(said, both)
    assert ours == theirs
    assert ours[0][1] == 3000 and ours[1][2] and not ours[2][2]
    assert ours[2][0][-1][1] == "Cannot change principals during re-authentication from User.alice: User.bert"


def test_who_does_not_is_closed_when_its_time_is_up(both, realm):
    for broker in both:
        with Exchange(broker.ports["SHORT"], realm.ticket("alice")) as exchange:
            exchange.log_in()
            assert exchange.is_in()
            time.sleep(3.3)
            assert not exchange.is_in()
