"""TLS on listeners: keys in every form that Apache Kafka's brokers take them in, clients that show certificates, stores that change
while the broker runs, and what does not finish a handshake."""

import os
import shutil
import socket
import ssl
import time

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from harness import broker as brokers
from harness import sasl, wire
from harness.certificates import PASSWORD, Authority
from harness.sasl import CLOSED, Conversation, authenticate, authenticated, handshake, plain
from harness.tools import Tools  # noqa: F401  the fixture uses it

MAP = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,JKS:SSL,P12:SSL,OLD:SSL,PEM:SSL,SEALED:SSL,INLINE:SSL,MUTUAL:SSL,BOTH:SASL_SSL"
NAMES = ["JKS", "P12", "OLD", "PEM", "SEALED", "INLINE", "MUTUAL", "BOTH"]
# Half handshakes under way at a time; APLOMB_STRANGERS as in test_strangers.py.
STRANGERS = int(os.environ.get("APLOMB_STRANGERS", "2500"))
USERS = f'{sasl.PLAIN_MODULE} required user_alice="wonder";'


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    authority.issue("broker", "/CN=localhost/O=Tests")
    authority.issue("rsa", "/CN=localhost/OU=RSA/O=Tests", rsa=True)
    authority.issue("other", "/CN=localhost/OU=Other/O=Tests")
    authority.issue("client", "/CN=Duke/OU=ServiceUsers/O=Tests")
    return authority


def properties(authority):
    here = authority.directory

    def store(name, kind, location, password=PASSWORD, **more):
        prefix = f"listener.name.{name}.ssl"
        pairs = {f"{prefix}.keystore.type": kind, f"{prefix}.keystore.location": location}
        pairs |= {f"{prefix}.keystore.password": password} if password else {}
        return pairs | {f"{prefix}.{key.replace('_', '.')}": value for key, value in more.items()}

    one_line = lambda text: text.replace("\n", " ")
    live = here / "live.pem"
    shutil.copy(here / "broker.both.pem", live)
    old = ["-legacy", "-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-RC2-40", "-macalg", "sha1"]
    return {
        "listener.security.protocol.map": MAP,
        "inter.broker.listener.name": "PLAINTEXT",
        **store("jks", "JKS", authority.java("broker", "JKS")),
        **store("p12", "PKCS12", authority.java("rsa", "PKCS12")),
        **store("old", "PKCS12", authority.pkcs12("broker", *old)),
        **store("pem", "PEM", live, None),
        **store("sealed", "PEM", authority.under_password("rsa", "-v1", "PBE-SHA1-3DES"), None, key_password=PASSWORD),
        **store("mutual", "PEM", here / "broker.both.pem", None, client_auth="required", truststore_type="JKS"),
        "listener.name.mutual.ssl.truststore.location": authority.trust("JKS"),
        "listener.name.mutual.ssl.truststore.password": PASSWORD,
        "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L,DEFAULT",
        "listener.name.inline.ssl.keystore.type": "PEM",
        "listener.name.inline.ssl.keystore.key": one_line((here / "broker.key").read_text()),
        "listener.name.inline.ssl.keystore.certificate.chain": one_line((here / "broker.pem").read_text()),
        **store("both", "PEM", here / "broker.both.pem", None),
        "listener.name.both.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.both.plain.sasl.jaas.config": USERS,
        "aplomb.authentication.timeout.ms": "2000",
    }


@pytest.fixture(scope="module")
def broker(authority, tmp_path_factory):
    broker = brokers.KINDS[brokers.under_test().kind](tmp_path_factory.mktemp("tls"), properties(authority))
    broker.ports = dict(zip(NAMES, brokers.free_ports(len(NAMES)), strict=True))
    broker.properties["listeners"] += "".join(f",{name}://127.0.0.1:{port}" for name, port in broker.ports.items())
    broker.start()
    yield broker
    died = not broker.alive()
    log = broker.log_file.read_text(errors="replace")
    broker.close()
    assert not died, log
    assert PASSWORD not in log and "wonder" not in log and "PRIVATE KEY" not in log


def client(broker, authority, name, **more):
    return {
        "bootstrap.servers": f"127.0.0.1:{broker.ports[name]}",
        "security.protocol": "SSL",
        "ssl.ca.location": str(authority.certificate),
        "log_level": 0,
        **more,
    }


def produce_and_consume(config, topic, size=10):
    producer = Producer(config)
    faults = []
    for n in range(10):
        producer.produce(topic, b"x" * size + b"%d" % n, on_delivery=lambda error, _: faults.append(error) if error else None)
    assert producer.flush(30) == 0 and not faults, faults
    consumer = Consumer({**config, "group.id": f"of-{topic}", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    values, until = [], time.monotonic() + 30
    while len(values) < 10 and time.monotonic() < until:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append(message.value())
    consumer.close()
    assert values == [b"x" * size + b"%d" % n for n in range(10)]


@pytest.mark.parametrize("name", ["JKS", "P12", "OLD", "PEM", "SEALED", "INLINE"])
def test_every_form_of_a_key_is_taken(broker, authority, name):
    produce_and_consume(client(broker, authority, name), f"form-{name.lower()}")


def test_large_records_come_through(broker, authority):
    produce_and_consume(client(broker, authority, "JKS"), "large", 900_000)


def test_java_comes_in_by_tls_with_and_without_a_certificate(broker, authority, tools, tmp_path):
    config = tmp_path / "client.properties"
    common = f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={authority.certificate}\n"
    for name, more in [
        ("P12", ""),
        ("MUTUAL", f"ssl.keystore.type=PEM\nssl.keystore.location={authority.directory / 'client.both.pem'}\n"),
    ]:
        config.write_text(common + more)
        at = ("--bootstrap-server", f"localhost:{broker.ports[name]}", "--command-config", config)
        tools.ok("kafka-console-producer", *at, "--topic", f"java-{name.lower()}", stdin="one\n")
        ran = tools.ok("kafka-console-consumer", *at, "--topic", f"java-{name.lower()}", "--from-beginning", "--max-messages", "1")
        assert ran.lines()[:1] == ["one"]


def test_who_shows_no_certificate_or_a_foreign_one_is_told_by_an_alert(broker, authority, tmp_path):
    foreign = Authority(tmp_path, "foreign")
    foreign.issue("client", "/CN=Mallory")
    for files in [None, (tmp_path / "client.pem", tmp_path / "client.key")]:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = context_for(authority, version)
            if files:
                context.load_cert_chain(*files)
            with pytest.raises(ssl.SSLError, match="alert"):
                with Conversation(broker.ports["MUTUAL"], context.wrap_socket) as there:
                    there.ask(wire.api_versions(0))
                    there.socket.recv(1)


def test_a_certificate_is_who_one_is(broker, authority):
    here = authority.directory
    config = client(
        broker, authority, "MUTUAL", **{"ssl.certificate.location": str(here / "client.pem"), "ssl.key.location": str(here / "client.key")}
    )
    produce_and_consume(config, "mutual")


def test_sasl_in_tls(broker, authority):
    config = client(broker, authority, "BOTH", **{"security.protocol": "SASL_SSL", "sasl.mechanisms": "PLAIN"})
    produce_and_consume({**config, "sasl.username": "alice", "sasl.password": "wonder"}, "both")
    with pytest.raises(KafkaException):
        AdminClient({**config, "sasl.username": "alice", "sasl.password": "x"}).list_topics(timeout=3)
    context = context_for(authority)
    with Conversation(broker.ports["BOTH"], context.wrap_socket) as there:
        there.ask(handshake("PLAIN"))
        error, message, *_ = authenticated(there.ask(authenticate(plain("alice", "x"))))
        assert (error, message) == (58, "Authentication failed: Invalid username or password")


def context_for(authority, version=None):
    context = ssl.create_default_context(cafile=authority.certificate)
    context.check_hostname = False
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def subject(broker, authority, name):
    with socket.create_connection(("127.0.0.1", broker.ports[name]), timeout=10) as raw:
        with context_for(authority).wrap_socket(raw) as there:
            return dict(pair[0] for pair in there.getpeercert()["subject"]).get("organizationalUnitName")


@pytest.mark.aplomb
def test_a_store_that_changes_is_taken_anew_and_a_bad_one_is_not(broker, authority):
    here, live = authority.directory, authority.directory / "live.pem"
    with Conversation(broker.ports["PEM"], context_for(authority).wrap_socket) as before:
        assert before.ask(wire.metadata([])) is not CLOSED
        shutil.copy(here / "other.both.pem", live)
        until = time.monotonic() + 20
        while subject(broker, authority, "PEM") != "Other" and time.monotonic() < until:
            time.sleep(0.2)
        assert subject(broker, authority, "PEM") == "Other"
        live.write_text("-----BEGIN PRIVATE KEY-----\nhalf a file")
        time.sleep(3)
        assert subject(broker, authority, "PEM") == "Other"
        assert "stays in use" in broker.log_file.read_text()
        assert before.ask(wire.metadata([])) is not CLOSED, "connections that there are stay"


@pytest.mark.aplomb
def test_a_session_is_resumed(broker, authority):
    context = context_for(authority, ssl.TLSVersion.TLSv1_2)
    with Conversation(broker.ports["PEM"], context.wrap_socket) as first:
        first.ask(wire.metadata([]))
        session = first.socket.session
    with Conversation(broker.ports["PEM"], lambda raw: context.wrap_socket(raw, session=session)) as again:
        assert again.ask(wire.metadata([])) is not CLOSED
        assert again.socket.session_reused


@pytest.mark.aplomb
def test_plain_text_and_half_a_hello_end_soon(broker):
    with socket.create_connection(("127.0.0.1", broker.ports["JKS"]), timeout=10) as raw:
        raw.sendall(wire.frame(wire.api_versions(0)))
        assert raw.recv(7)[:1] == b"\x15", "an alert"
    with socket.create_connection(("127.0.0.1", broker.ports["JKS"]), timeout=10) as raw:
        raw.sendall(b"\x16\x03\x01\x02\x00\x01")
        began = time.monotonic()
        assert raw.recv(1) == b""
        assert 1.5 < time.monotonic() - began < 6


@pytest.mark.aplomb
def test_thousands_of_half_handshakes_are_not_noticed_by_one_who_is_in(broker, authority):
    """The same connection's requests, alone and beside those who never finish."""

    def slowest(there, seconds):
        worst, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.monotonic()
            assert there.ask(wire.metadata([])) is not CLOSED
            worst = max(worst, time.monotonic() - began)
            time.sleep(0.002)
        return worst

    before = broker.resident_bytes()
    with Conversation(broker.ports["PEM"], context_for(authority).wrap_socket) as there:
        alone = slowest(there, 2)
        half = []
        worst, made = 0, 0
        while made < 2 * STRANGERS:
            for _ in range(250):
                raw = socket.create_connection(("127.0.0.1", broker.ports["JKS"]), timeout=10)
                raw.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
                half.append(raw)
            made += 250
            half = half[-STRANGERS:]
            worst = max(worst, slowest(there, 0.05))
        grown = broker.resident_bytes() - before
        for raw in half:
            raw.close()
    print(f"slowest answer alone {alone * 1000:.1f} ms, beside {made} half handshakes {worst * 1000:.1f} ms, {grown >> 20} MiB more")
    assert worst < max(0.25, 10 * alone)
    assert grown < 256 << 20
