"""GSSAPI: tickets of a real KDC; who gets in, with which client, and as whom; what others are told, as by Apache Kafka; and a KDC that
is gone, a keytab that changes, exchanges that are garbage or are not gone on with."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, AdminClient, NewTopic, ResourcePatternType, ResourceType
from harness import broker as brokers
from harness import kerberos, places, wire
from harness.certificates import Authority
from harness.kerberos import MUTUAL, REALM, Initiator, Realm
from harness.sasl import CLOSED, Conversation, authenticate, authenticated, handshake, handshaken
from harness.tools import Tools, main_class

if kerberos.missing():
    message = f"skipped, since this machine has no {', '.join(kerberos.missing())} (packages krb5-kdc, krb5-admin-server, krb5-user)"
    pytest.skip(message, allow_module_level=True)

NAMES = ("OPEN", "SECURE", "RULED", "SHORT")
SARAMA = places.WORK / "bin" / "secure-sarama"
RULES = f"RULE:[2:$1-$2](.*-admin)s/-admin$/-the-boss/,RULE:[1:$1@$0](b.*@{REALM})s/@.*///U,RULE:[1:$1](slash)s/h/@/"


@pytest.fixture(scope="module")
def realm(tmp_path_factory):
    realm = Realm(tmp_path_factory.mktemp("realm"))
    yield realm
    realm.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    authority.issue("server", "/CN=localhost/O=Tests")
    return authority


def properties(realm, authority):
    own = {}
    for name in map(str.lower, NAMES):
        own |= {
            f"listener.name.{name}.sasl.enabled.mechanisms": "GSSAPI",
            f"listener.name.{name}.gssapi.sasl.jaas.config": realm.service(),
        }
    return {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OPEN:SASL_PLAINTEXT,SECURE:SASL_SSL,RULED:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.kerberos.service.name": kerberos.SERVICE,
        **own,
        "listener.name.ruled.sasl.kerberos.principal.to.local.rules": RULES,
        "listener.name.short.gssapi.connections.max.reauth.ms": "3000",
        "listener.name.secure.ssl.keystore.type": "PEM",
        "listener.name.secure.ssl.keystore.location": authority.directory / "server.both.pem",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
    }


def started(kind, directory, properties):
    broker = brokers.KINDS[kind](directory, properties)
    broker.ports = dict(zip(NAMES, brokers.free_ports(len(NAMES)), strict=True))
    broker.properties["listeners"] += "".join(f",{name}://localhost:{port}" for name, port in broker.ports.items())
    return broker.start()


@pytest.fixture(scope="module")
def broker(realm, authority, tmp_path_factory):
    broker = started(brokers.under_test().kind, tmp_path_factory.mktemp("broker"), properties(realm, authority))
    broker.admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    yield broker
    died = not broker.alive()
    log = broker.log_file.read_text(errors="replace")
    broker.close()
    assert not died, log


@pytest.fixture(scope="module")
def both(broker, realm, authority, tmp_path_factory):
    kafka = started("kafka", tmp_path_factory.mktemp("kafka"), properties(realm, authority))
    yield broker, kafka
    kafka.close()


@pytest.fixture(scope="module")
def tools(realm, tmp_path_factory):
    """A JVM of its own, since it is told by an option where the realm is."""
    tools = Tools(tmp_path_factory.mktemp("tools") / "tools.log")
    yield tools
    tools.close()


def created(broker, topic):
    for future in broker.admin.create_topics([NewTopic(topic, 1, 1)]).values():
        future.result(30)
    return topic


def configured(realm, authority, directory, name, listener):
    protocol = "SASL_PLAINTEXT"
    tls = ""
    if listener == "SECURE":
        protocol, tls = "SASL_SSL", f"ssl.truststore.type=PEM\nssl.truststore.location={authority.certificate}\n"
    file = directory / f"{name}.properties"
    file.write_text(f"security.protocol={protocol}\n{tls}{realm.client(name)}")
    return file


@pytest.mark.parametrize("listener", ["OPEN", "SECURE"])
def test_java_gets_in(broker, realm, authority, tools, tmp_path, listener):
    config = configured(realm, authority, tmp_path, "alice", listener)
    topic, at = created(broker, f"java-{listener.lower()}"), ("--bootstrap-server", f"localhost:{broker.ports[listener]}")
    tools.ok("kafka-console-producer", *at, "--command-config", config, "--topic", topic, stdin="one\ntwo\n")
    ran = tools.ok("kafka-console-consumer", *at, "--command-config", config, "--topic", topic, "--from-beginning", "--max-messages", "2")
    assert ran.lines()[:2] == ["one", "two"]


def kcat(broker, realm, listener, name, *arguments, authority=None, **settings):
    """kcat as a principal, with its keytab."""
    if shutil.which("kcat") is None:
        pytest.skip("no kcat here")
    settings = {
        "security.protocol": "sasl_ssl" if authority else "sasl_plaintext",
        "sasl.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": kerberos.SERVICE,
        "sasl.kerberos.principal": name,
        "sasl.kerberos.keytab": realm.principal(name),
        **({"ssl.ca.location": authority.certificate} if authority else {}),
        **settings,
    }
    options = [word for key, value in settings.items() for word in ("-X", f"{key}={value}")]
    environment = {**os.environ, "KRB5CCNAME": f"FILE:{realm.directory}/kcat-{name.replace('/', '-')}.cc"}
    command = ["kcat", "-b", f"localhost:{broker.ports[listener]}", "-m", "20", *options, *arguments]
    return subprocess.run(command, input="one\ntwo\n", capture_output=True, text=True, timeout=120, env=environment)


@pytest.mark.parametrize("listener", ["OPEN", "SECURE"])
def test_kcat_gets_in(broker, realm, authority, listener):
    topic, authority = created(broker, f"kcat-{listener.lower()}"), authority if listener == "SECURE" else None
    made = kcat(broker, realm, listener, "alice", "-P", "-t", topic, authority=authority)
    assert made.returncode == 0, made.stderr
    read = kcat(broker, realm, listener, "alice", "-C", "-t", topic, "-o", "beginning", "-c", "2", "-e", authority=authority)
    assert read.stdout.splitlines() == ["one", "two"], read.stderr


@pytest.mark.parametrize("listener", ["OPEN", "SECURE"])
def test_sarama_gets_in(broker, realm, authority, listener):
    if shutil.which("go") is None:
        pytest.skip("no go here")
    topic = created(broker, f"sarama-{listener.lower()}")
    command = [places.prepared(SARAMA), f"--bootstrap=localhost:{broker.ports[listener]}", f"--topic={topic}", "--count=10", "--mechanism=GSSAPI"]
    command += ["--user=alice", f"--keytab={realm.principal('alice')}", f"--realm={REALM}"]
    command += [f"--ca={authority.certificate}"] if listener == "SECURE" else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout) == {"values": [f"value-{n}" for n in range(10)]}, done


def test_a_principal_that_the_kdc_does_not_know_gets_nowhere(broker, realm):
    realm.principal("ghost")
    realm.admin("delprinc -force ghost")
    said = kcat(broker, realm, "OPEN", "ghost", "-L", "-m", "5")
    assert said.returncode != 0 and "not found in Kerberos database" in said.stderr, said.stderr


class Exchange:
    """One with a broker, by hand. `said` is what it was told: (error, message, whether there was a token)."""

    def __init__(self, port, cache=None, version=1, **options):
        self.there, self.version, self.said = Conversation(port), version, []
        self.initiator = Initiator(cache, **options) if cache else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.there.socket.close()

    def begin(self):
        assert handshaken(self.there.ask(handshake("GSSAPI"))) == (0, ["GSSAPI"])

    def say(self, token):
        """A token, and the one that is answered."""
        answer = self.there.ask(authenticate(token, self.version))
        if answer is CLOSED:
            self.said.append(CLOSED)
            return None
        error, message, token, self.lifetime = authenticated(answer, self.version)
        self.said.append((error, message, bool(token)))
        return None if error else token

    def log_in(self, choice=b"\x01\x00\x00\x00", seal=None):
        """All of it, with this choice of a layer (and name)."""
        self.begin()
        token = self.say(self.initiator.step())
        if token and self.initiator.flags & MUTUAL:
            token = self.say(self.initiator.step(token))
        if token:
            self.offer = self.initiator.unwrap(token)
            self.say(seal(self.initiator) if seal else self.initiator.wrap(choice))
        return self.said

    def is_in(self):
        return self.there.ask(wire.metadata([])) is not CLOSED


def outcome(broker, realm, name="alice", listener="OPEN", *arguments, version=1, log_in=None, **options):
    """What is said in a whole exchange, and whether a request is answered after it."""
    with Exchange(broker.ports[listener], realm.ticket(name), version, **options) as exchange:
        exchange.log_in(*arguments, **(log_in or {}))
        return exchange.said, exchange.is_in()


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


@pytest.mark.aplomb
def test_an_answer_is_told_and_not_looked_for(broker, realm):
    """A shard looks for it after 50 ms where it was not told."""
    took = []
    for _ in range(21):
        with Exchange(broker.ports["OPEN"], realm.ticket("alice")) as exchange:
            exchange.begin()
            token, began = exchange.initiator.step(), time.monotonic()
            assert exchange.say(token)
            took.append(time.monotonic() - began)
    assert sorted(took)[10] < 0.04, sorted(took)


@pytest.mark.aplomb
def test_why_a_ticket_does_not_count_is_in_the_log(broker, realm):
    realm.principal("other/localhost")
    outcome(broker, realm, service="other@localhost")
    lines = [line for line in broker.log_file.read_text().splitlines() if "closed a connection of 127.0.0.1" in line]
    text = "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI (its ticket does not count: "
    assert any(text in line for line in lines), lines


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


def test_java_authenticates_anew_on_its_connections(broker, realm, authority, tools, tmp_path):
    config, topic = configured(realm, authority, tmp_path, "alice", "SHORT"), created(broker, "again")
    at = ("--bootstrap-server", f"localhost:{broker.ports['SHORT']}", "--command-config", config)
    ran = tools.ok("kafka-producer-perf-test", *at, "--topic", topic, "--num-records", "900", "--record-size", "10", "--throughput", "100")
    assert "900 records sent" in ran.output and "ERROR" not in ran.output, ran.output


def test_without_its_kdc_a_broker_takes_tickets_all_the_same(broker, realm):
    cache = realm.ticket("alice")
    with Exchange(broker.ports["OPEN"], cache) as there, Exchange(broker.ports["OPEN"], cache) as new:
        there.log_in()
        new.initiator.step()  # its ticket for the service lies in the cache now
        realm.stop()
        try:
            assert there.is_in()
            new.initiator = Initiator(cache)
            new.log_in()
            assert new.is_in()
        finally:
            realm.start()


def test_a_new_keytab_counts_for_those_who_come_then(broker, realm):
    """While others come and go, and one writes on the connection that it has."""
    old, stop, faults = realm.ticket("alice"), threading.Event(), []
    Initiator(old).step()
    topic = created(broker, "meanwhile")

    def come_and_go():
        while not stop.is_set():
            said, is_in = outcome(broker, realm, "bert")
            if not is_in:
                faults.append(said)

    producer = Producer({"bootstrap.servers": broker.bootstrap})
    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        time.sleep(1)
        keytab = realm.keytab("kafka/localhost")
        both = keytab.with_suffix(".both")
        shutil.copy(keytab, both)
        # New keys are added to the old ones first, as one does it; then the old ones go.
        realm.admin(f"ktadd -k {both} kafka/localhost")
        os.replace(both, keytab)
        time.sleep(1)
    finally:
        stop.set()
        thread.join()
    producer.produce(topic, "on")
    assert producer.flush(20) == 0
    # Between the KDC's new key and ours a ticket may be for the new one already.
    assert len(faults) <= 3, faults
    cache = realm.ticket("alice")
    for each in (old, cache):
        with Exchange(broker.ports["OPEN"], each) as exchange:
            exchange.log_in()
            assert exchange.is_in()
    realm.admin(f"ktremove -k {keytab} kafka/localhost old")
    for each, error in ((old, 58), (cache, 0)):
        with Exchange(broker.ports["OPEN"], each) as exchange:
            exchange.log_in()
            assert exchange.said[-1][0] == error, exchange.said


@pytest.mark.aplomb
def test_without_a_keytab_clients_are_to_come_again(broker, realm):
    keytab = realm.keytab("kafka/localhost")
    away = keytab.with_suffix(".away")
    os.replace(keytab, away)
    try:
        said, is_in = outcome(broker, realm)
        assert said == [CLOSED] and not is_in
    finally:
        os.replace(away, keytab)
    assert outcome(broker, realm)[1]


@pytest.mark.aplomb
@pytest.mark.slow
def test_exchanges_that_are_not_gone_on_with_keep_others_from_nothing(broker, realm):
    """More than are remembered, by a client that has a ticket."""
    before, began, cache = broker.resident_bytes(), [], realm.ticket("mallory")
    with contextlib.ExitStack() as stack:
        for _ in range(1100):
            exchange = stack.enter_context(Exchange(broker.ports["OPEN"]))
            exchange.initiator = Initiator(cache)
            exchange.begin()
            assert exchange.say(exchange.initiator.step())
            began.append(exchange)
        at = time.monotonic()
        assert outcome(broker, realm)[1]
        assert time.monotonic() - at < 5
        grown = broker.resident_bytes() - before
        assert grown < 64 << 20, grown
        # The oldest were given up, and may come again.
        assert began[0].say(b"") is None and began[0].said[-1] is CLOSED
        assert began[-1].say(b"")
    for _ in range(50):
        with Exchange(broker.ports["OPEN"]) as exchange:
            exchange.begin()
            exchange.there.send(authenticate(os.urandom(60_000)))
    assert outcome(broker, realm)[1]


def refusal(settings, tmp_path):
    with pytest.raises(brokers.BrokerDied) as died:
        started("aplomb", tmp_path / "refused", settings)
    return str(died.value)


@pytest.mark.aplomb
def test_a_broker_does_not_start_with_what_it_could_not_use(realm, authority, tmp_path):
    usual = properties(realm, authority)

    def said(**changes):
        return refusal({**usual, **{name.replace("_", "."): value for name, value in changes.items()}}, tmp_path)

    line = "listener_name_open_gssapi_sasl_jaas_config"
    assert "gssapi.sasl.jaas.config" in said(**{line: ""})
    assert "useKeyTab=true" in said(**{line: f'{kerberos.MODULE} required principal="kafka/localhost";'})
    nowhere = f'{kerberos.MODULE} required useKeyTab=true storeKey=true keyTab="/nowhere/x" principal="kafka/localhost@{REALM}";'
    assert "listener OPEN: keyTab or principal" in said(**{line: nowhere})
    other = realm.service().replace("kafka/localhost@", "kafka/elsewhere@")
    assert "elsewhere" in said(**{line: other})
    assert "serviceName" in said(sasl_kerberos_service_name="")
    assert "serviceName" in said(**{line: realm.service().replace("required", "required serviceName=other")})
    rule = said(listener_name_open_sasl_kerberos_principal_to_local_rules="RULE:[1:$1](x)s/x/y")
    assert "Invalid rule: `RULE:[1:$1](x)s/x/y`, unmatched substring: `s/x/y`" in rule


@pytest.mark.aplomb
@pytest.mark.skipif(os.geteuid() != 0, reason="hiding the library from one process takes root")
def test_without_the_library_the_package_is_named(realm, authority, tmp_path, monkeypatch):
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    place = os.path.realpath(next(line for line in found.splitlines() if kerberos.LIBRARY in line).split(" => ")[1])
    hidden = tmp_path / "aplomb"
    hidden.write_text(f"#!/bin/sh\nexec unshare -m sh -c 'mount --bind /dev/null {place} && exec \"$0\" \"$@\"' {brokers.binary()} \"$@\"\n")
    hidden.chmod(0o755)
    monkeypatch.setenv("APLOMB_BIN", str(hidden))
    said = refusal(properties(realm, authority), tmp_path)
    assert "libgssapi-krb5-2" in said and "listener OPEN" in said, said
    without = {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"}
    broker = brokers.KINDS["aplomb"](tmp_path / "plain", without).start()
    broker.close()


@pytest.mark.aplomb
def test_what_the_page_says_to_type_works_as_it_is_typed(realm, tmp_path):
    # Another realm, whose principals are not there yet.
    (tmp_path / "realm").mkdir()
    own = Realm(tmp_path / "realm")
    try:
        type_what_the_page_says(tmp_path)
    finally:
        own.close()


def type_what_the_page_says(tmp_path):
    page = (places.CHECKOUT / "docs/operating/security.md").read_text()
    walk = page[page.index("## Kerberos") :].split("\n## ")[0]
    inside, controller = brokers.free_ports(2)
    for written, here in (("broker.example", "localhost"), ("EXAMPLE.COM", REALM), (":9093", f":{inside}"), (":9094", f":{controller}")):
        walk = walk.replace(written, here)
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "aplomb").symlink_to(brokers.binary())
    for name in set(re.findall(r"(kafka-[a-z-]+)\.sh", walk)):
        script = bin / f"{name}.sh"
        script.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in [*places.java("tools"), main_class(name)]) + ' "$@"\n')
        script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "KRB5CCNAME": f"FILE:{tmp_path}/cache"}
    tail = Path(tempfile.mkdtemp(prefix="aplomb-e2e-", dir="/dev/shm"))
    files, started, done = iter(("server.properties", "client.properties")), None, None
    try:
        for kind, text in re.findall(r"```(\w+)\n(.*?)```", walk, re.DOTALL):
            if kind == "properties":
                small = f"aplomb.tail.bytes={64 << 20}\naplomb.tail.dir={tail}\n"
                (tmp_path / next(files)).write_text(text + (small if "log.dirs" in text else ""))
                continue
            for line in text.splitlines():
                if line.endswith("&"):
                    with (tmp_path / "log").open("w") as log:
                        started = subprocess.Popen(["sh", "-c", f"exec {line[:-1]}"], cwd=tmp_path, env=environment, stdout=log, stderr=log)
                    continue
                done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
                assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}\n{(tmp_path / 'log').read_text() if started else ''}"
        assert done.stdout == "hello\n", done
    finally:
        if started:
            started.terminate()
            assert started.wait(60) == 0
        shutil.rmtree(tail, ignore_errors=True)
