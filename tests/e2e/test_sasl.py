"""SASL on listeners without TLS: who gets in, by which mechanism, with which client; and that who does not is told what Apache Kafka
says, byte by byte where it can be seen."""

import time

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from harness import broker as brokers
from harness import sasl, wire
from harness.sasl import CLOSED, Conversation, Scram, authenticate, authenticated, handshake, handshaken, plain

LISTENER = "listener.name.sasl_plaintext"
USERS = f'{sasl.PLAIN_MODULE} required username="admin" password="admin-secret" user_alice="wonder\\"land" user_bob="builder";'
PROPERTIES = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    f"{LISTENER}.plain.sasl.jaas.config": USERS.replace("\\", "\\\\"),
    f"{LISTENER}.scram-sha-256.sasl.jaas.config": f"{sasl.SCRAM_MODULE} required;",
    f"{LISTENER}.scram-sha-512.sasl.jaas.config": f"{sasl.SCRAM_MODULE} required;",
    "listener.name.short.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.short.plain.sasl.jaas.config": USERS.replace("\\", "\\\\"),
    "listener.name.short.connections.max.reauth.ms": "2000",
    "sasl.server.max.receive.size": "5000",
}
SCRAM = {"SCRAM-SHA-256": ("sha256", "carol", "rabbit"), "SCRAM-SHA-512": ("sha512", "dave", "bowman")}
PASSWORDS = {"PLAIN": ("alice", 'wonder"land'), **{name: (user, password) for name, (_, user, password) in SCRAM.items()}}


def secured(kind, directory):
    """A broker with a listener for all, and two for users."""
    broker = brokers.KINDS[kind](directory, PROPERTIES)
    broker.sasl_port, broker.short_port = brokers.free_ports(2)
    broker.properties["listeners"] += f",SASL_PLAINTEXT://127.0.0.1:{broker.sasl_port},SHORT://127.0.0.1:{broker.short_port}"
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    kinds = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
    changes = [
        UserScramCredentialUpsertion(user, ScramCredentialInfo(kinds[name], 4096), password.encode(), b"salt-of-a-test")
        for name, (_, user, password) in SCRAM.items()
    ]
    for future in admin.alter_user_scram_credentials(changes).values():
        future.result(30)
    return broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    started = secured(brokers.under_test().kind, tmp_path_factory.mktemp("secured"))
    yield started
    died = not started.alive()
    log = started.log_file.read_text(errors="replace")
    started.close()
    assert not died, log
    for secret in ("admin-secret", 'wonder"land', "builder", "rabbit", "bowman"):
        assert secret not in log, "a secret is in the log"


@pytest.fixture(scope="module")
def both(broker, tmp_path_factory):
    kafka = secured("kafka", tmp_path_factory.mktemp("kafka"))
    yield broker, kafka
    kafka.close()


def confluent(port, mechanism, user, password):
    return {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def produce_and_consume(config, topic):
    producer = Producer(config)
    faults = []
    for n in range(10):
        producer.produce(topic, f"value {n}", on_delivery=lambda error, _: faults.append(error) if error else None)
    assert producer.flush(30) == 0 and not faults, faults
    consumer = Consumer({**config, "group.id": f"of-{topic}", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    values, until = [], time.monotonic() + 30
    while len(values) < 10 and time.monotonic() < until:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append(message.value().decode())
    consumer.close()
    assert values == [f"value {n}" for n in range(10)]


@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_librdkafka_gets_in(broker, mechanism):
    produce_and_consume(confluent(broker.sasl_port, mechanism, *PASSWORDS[mechanism]), f"confluent-{mechanism.lower()}")


@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_kafka_python_gets_in(broker, mechanism):
    from kafka import KafkaProducer

    user, password = PASSWORDS[mechanism]
    producer = KafkaProducer(
        bootstrap_servers=f"127.0.0.1:{broker.sasl_port}",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_plain_username=user,
        sasl_plain_password=password,
    )
    sent = producer.send(f"python-{mechanism.lower()}", b"value").get(timeout=30)
    assert sent.offset == 0
    producer.close()


@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_java_gets_in(broker, tools, tmp_path, mechanism):
    user, password = PASSWORDS[mechanism]
    module = sasl.PLAIN_MODULE if mechanism == "PLAIN" else sasl.SCRAM_MODULE
    quoted = password.replace('"', '\\\\"')
    config = tmp_path / "client.properties"
    config.write_text(
        f'security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={module} required username="{user}" password="{quoted}";\n'
    )
    at = ("--bootstrap-server", f"127.0.0.1:{broker.sasl_port}")
    topic = f"java-{mechanism.lower()}"
    tools.ok("kafka-topics", *at, "--command-config", config, "--create", "--topic", topic)
    tools.ok("kafka-console-producer", *at, "--command-config", config, "--topic", topic, stdin="one\ntwo\n")
    ran = tools.ok(
        "kafka-console-consumer", *at, "--command-config", config, "--topic", topic, "--from-beginning", "--max-messages", "2"
    )
    assert ran.lines()[:2] == ["one", "two"]


@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_a_wrong_password_is_an_error_that_clients_show(broker, mechanism):
    user, _ = PASSWORDS[mechanism]
    said = []
    config = {**confluent(broker.sasl_port, mechanism, user, "wrong"), "error_cb": said.append, "reconnect.backoff.ms": 1000, "log_level": 0}
    admin = AdminClient(config)
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=3)
    admin.poll(1)
    assert any("SASL authentication error" in str(error) for error in said), said


def test_kafka_configs_sets_shows_and_takes_away_a_password(broker, tools):
    at = ("--bootstrap-server", broker.bootstrap, "--entity-type", "users", "--entity-name", "eve")
    tools.ok("kafka-configs", *at, "--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=apple]")
    shown = tools.ok("kafka-configs", *at, "--describe").output
    assert "SCRAM-SHA-256=iterations=8192" in shown, shown
    admin = AdminClient(confluent(broker.sasl_port, "SCRAM-SHA-256", "eve", "apple"))
    assert admin.list_topics(timeout=10).brokers
    tools.ok("kafka-configs", *at, "--alter", "--delete-config", "SCRAM-SHA-256")
    with pytest.raises(KafkaException):
        AdminClient(confluent(broker.sasl_port, "SCRAM-SHA-256", "eve", "apple")).list_topics(timeout=3)


def conversation(port, *payloads):
    """What each payload is answered, and what comes behind the last."""
    with Conversation(port) as there:
        return [there.ask(payload) for payload in payloads]


def told(answers):
    """Answers with what is drawn by chance, or in no order, left out."""
    return [CLOSED if answer is CLOSED else answer.hex() for answer in answers]


REFUSED_TOKENS = {
    "wrong password": plain("alice", "wrong"),
    "unknown user": plain("mallory", "x"),
    "another's name": plain("alice", 'wonder"land', "bob"),
    "own name": plain("alice", 'wonder"land', "alice"),
    "right": plain("alice", 'wonder"land'),
    "no user": plain("", "x"),
    "no password": plain("alice", ""),
    "nothing": b"",
    "one part": b"alice",
    "two parts": b"\0alice",
    "four parts": b"\0alice\0x\0y",
    "many parts": b"\0" * 20,
    "not text": b"\0\xff\xfe\0\xff",
}


@pytest.mark.parametrize("token", REFUSED_TOKENS)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_plain_is_answered_as_by_apache_kafka(both, token, version):
    ours, theirs = (
        told(conversation(broker.sasl_port, handshake("PLAIN"), authenticate(REFUSED_TOKENS[token], version))[1:]) for broker in both
    )
    assert ours == theirs


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "GSSAPI", "OAUTHBEARER", "plain", "", "X" * 300])
def test_a_handshake_is_answered_as_by_apache_kafka(both, mechanism, version):
    ours, theirs = (handshaken(conversation(broker.sasl_port, handshake(mechanism, version))[0]) for broker in both)
    assert ours == theirs


def out_of_order():
    versions, newer = wire.api_versions(0), wire.api_versions(99)
    right = authenticate(plain("alice", 'wonder"land'))
    yield "metadata first", [wire.metadata([])]
    yield "authenticate first", [right]
    yield "unknown api first", [wire.header(9999, 0)]
    yield "no header", [b"\x00"]
    yield "nothing at all", [b""]
    yield "versions twice", [versions, versions]
    yield "versions of the future, then ours", [newer, versions, handshake("PLAIN"), right]
    yield "handshake twice", [handshake("PLAIN"), handshake("PLAIN")]
    yield "versions after the handshake", [handshake("PLAIN"), versions]
    yield "a handshake of the future", [handshake("PLAIN", 7)]
    yield "authenticate of the future", [handshake("PLAIN"), wire.header(sasl.AUTHENTICATE, 9)]
    yield "authenticate twice", [handshake("PLAIN"), right, right, wire.metadata([])]
    yield "handshake when all is done", [handshake("PLAIN"), right, handshake("PLAIN"), wire.metadata([])]
    yield "after a refusal", [handshake("PLAIN"), authenticate(plain("alice", "x")), wire.metadata([])]
    yield "raw tokens", [handshake("PLAIN", 0), plain("alice", 'wonder"land'), wire.metadata([])]
    yield "raw tokens that are wrong", [handshake("PLAIN", 0), plain("alice", "x"), wire.metadata([])]
    yield "a request instead of a raw token", [handshake("PLAIN", 0), right]
    yield "too much", [b"x" * 5001]
    yield "as much as may be", [handshake("PLAIN"), authenticate(plain("alice", "x" * 4900))]


@pytest.mark.parametrize("name", [name for name, _ in out_of_order()])
def test_out_of_order_is_answered_as_by_apache_kafka(both, name):
    payloads = dict(out_of_order())[name]
    ours, theirs = (conversation(broker.sasl_port, *payloads) for broker in both)
    assert [answer is CLOSED for answer in ours] == [answer is CLOSED for answer in theirs]
    for payload, our, their in zip(payloads, ours, theirs, strict=True):
        key = int.from_bytes(payload[:2], "big") if our is not CLOSED else None
        if key == sasl.AUTHENTICATE:
            assert our == their
        elif key == sasl.HANDSHAKE:
            assert handshaken(our) == handshaken(their)


@pytest.mark.parametrize("mechanism", SCRAM)
def test_scram_is_answered_as_by_apache_kafka(both, mechanism):
    hash_name, user, password = SCRAM[mechanism]

    def outcome(broker, client, nonce=None):
        with Conversation(broker.sasl_port) as there:
            assert handshaken(there.ask(handshake(mechanism)))[0] == 0
            error, message, challenge, _ = authenticated(there.ask(authenticate(client.first())))
            if error:
                return error, message, there.answer()
            assert challenge.decode().split(",")[1:] == ["s=c2FsdC1vZi1hLXRlc3Q=", "i=4096"]
            error, message, _, _ = authenticated(there.ask(authenticate(client.final(challenge, nonce))))
            return error, message, there.ask(wire.metadata([])) is CLOSED

    for client, nonce in [
        (Scram(user, password, hash_name), None),
        (Scram(user, password, hash_name, extensions=",x=y"), None),
        (Scram(user, password, hash_name, extensions=",tokenauth=false"), None),
        (Scram(user, "wrong", hash_name), None),
        (Scram(user, password, hash_name), "forged"),
        (Scram(user, password, hash_name, nonce=""), None),
    ]:
        ours, theirs = (outcome(broker, client, nonce) for broker in both)
        assert ours == theirs, client.bare


@pytest.mark.aplomb
def test_scram_does_not_tell_which_users_there_are(broker):
    """Apache Kafka refuses an unknown user one round earlier than a wrong password."""
    outcomes = []
    for user in ("carol", "nobody"):
        client = Scram(user, "wrong")
        with Conversation(broker.sasl_port) as there:
            there.ask(handshake("SCRAM-SHA-256"))
            error, _, challenge, _ = authenticated(there.ask(authenticate(client.first())))
            outcomes.append((error, authenticated(there.ask(authenticate(client.final(challenge))))))
    assert outcomes[0] == outcomes[1]


def test_changes_of_passwords_are_answered_as_by_apache_kafka(both):
    def error_of(future):
        try:
            future.result(30)
            return None
        except KafkaException as error:
            return error.args[0].code(), error.args[0].str()

    info = lambda iterations: ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, iterations)
    cases = [
        [UserScramCredentialUpsertion("u1", info(4096), b"pw")],
        [UserScramCredentialUpsertion("u2", info(4095), b"pw")],
        [UserScramCredentialUpsertion("u3", info(16385), b"pw")],
        [UserScramCredentialDeletion("nobody", ScramMechanism.SCRAM_SHA_256)],
        [UserScramCredentialDeletion("u1", ScramMechanism.SCRAM_SHA_512)],
        [UserScramCredentialUpsertion("u4", info(4096), b"pw"), UserScramCredentialDeletion("u1", ScramMechanism.SCRAM_SHA_256)],
    ]
    told = []
    for broker in both:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        answers = [{user: error_of(future) for user, future in admin.alter_user_scram_credentials(case).items()} for case in cases]
        # Apache Kafka's controller answers a change before its broker, who is asked here, has heard of it.
        until = time.monotonic() + 20
        while True:
            described = admin.describe_user_scram_credentials(["u1", "u4", "nobody"])
            described = {user: error_of(future) for user, future in described.items()}
            if (described["u1"] and not described["u4"]) or time.monotonic() > until:
                break
            time.sleep(0.1)
        told.append([*answers, described])
    assert told[0] == told[1]


@pytest.mark.parametrize("when", ["in time", "late", "as another", "too often"])
def test_who_has_to_authenticate_anew_is_treated_as_by_apache_kafka(both, when):
    def outcome(broker):
        with Conversation(broker.short_port) as there:
            first = there.log_in("alice", 'wonder"land')
            if when == "in time":
                time.sleep(1.2)
                return first, there.log_in("alice", 'wonder"land'), there.ask(wire.metadata([])) is CLOSED
            if when == "late":
                time.sleep(2.5)
                return first, there.ask(wire.metadata([])) is CLOSED
            if when == "as another":
                time.sleep(1.2)
                return first, there.log_in("bob", "builder"), there.ask(wire.metadata([])) is CLOSED
            time.sleep(1.2)
            second = there.log_in("alice", 'wonder"land')
            return first, second, handshaken(there.ask(handshake("PLAIN"))), there.ask(wire.metadata([])) is CLOSED

    ours, theirs = map(outcome, both)
    assert ours == theirs
    assert ours[0] == (0, "", b"", 2000)


def test_a_client_goes_on_over_many_sessions(broker):
    producer = Producer({**confluent(broker.short_port, "PLAIN", "alice", 'wonder"land'), "linger.ms": 0})
    faults = []
    until = time.monotonic() + 7
    while time.monotonic() < until:
        producer.produce("long-lived", "value", on_delivery=lambda error, _: faults.append(error) if error else None)
        producer.poll(0.05)
    assert producer.flush(20) == 0 and not faults, faults[:3]
    assert "should have authenticated anew" not in broker.log_tail()


def test_one_who_does_not_belong_waits_for_the_answer(both):
    """So that guessing takes time; who guesses is alone in waiting."""
    for broker in both:
        with Conversation(broker.sasl_port) as there:
            there.ask(handshake("PLAIN"))
            began = time.monotonic()
            error, *_ = authenticated(there.ask(authenticate(plain("alice", "x"))))
            assert error == 58 and time.monotonic() - began > 0.09
            assert there.answer() is CLOSED
