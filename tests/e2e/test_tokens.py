"""Delegation tokens: every request about them is answered as by Apache Kafka, whoever asks, and whoever knows a token is its owner until
its end."""

import base64
import re
import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from differential import access
from harness import broker as brokers
from harness import sasl, secure_clients, tokens, wire
from harness.sasl import CLOSED
from harness.tokens import User, plain

USERS = {user: f"{user}s-word" for user in ("admin", "alice", "bob", "carol", "eve")}
SECRET = "the-secret-of-all-tokens"
LISTENER = "listener.name.sasl_plaintext"
MODULE = f"{sasl.PLAIN_MODULE} required " + " ".join(f'user_{user}="{word}"' for user, word in USERS.items()) + ";"
PROPERTIES = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    f"{LISTENER}.plain.sasl.jaas.config": MODULE,
    f"{LISTENER}.scram-sha-256.sasl.jaas.config": f"{sasl.SCRAM_MODULE} required;",
    f"{LISTENER}.scram-sha-512.sasl.jaas.config": f"{sasl.SCRAM_MODULE} required;",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin;User:ANONYMOUS",
}
ENABLED = {**PROPERTIES, "delegation.token.secret.key": SECRET}
NOT_FOUND = 62


def secured(kind, directory, properties):
    broker = brokers.KINDS[kind](directory, properties)
    (broker.sasl_port,) = brokers.free_ports(1)
    broker.properties["listeners"] += f",SASL_PLAINTEXT://127.0.0.1:{broker.sasl_port}"
    return broker.start()


def permitted(broker):
    """Carol may have tokens for bob, and see those of eve; alice may make topics."""
    rights = [
        ("USER", "User:bob", "CREATE_TOKENS", "User:carol"),
        ("USER", "User:eve", "DESCRIBE_TOKENS", "User:carol"),
        ("TOPIC", "of-alice", "ALL", "User:alice"),
        ("TOPIC", "by-token", "ALL", "User:alice"),
    ]
    creations = [access.creation(kind, name, operation, principal=who) for kind, name, operation, who in rights]
    with User(broker.port) as anyone:
        assert {result["ErrorCode"] for result in anyone.ask("CreateAcls", Creations=creations)["Results"]} == {0}
    return broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    started = permitted(secured(brokers.under_test().kind, tmp_path_factory.mktemp("tokens"), ENABLED))
    started.hmacs = []
    yield started
    died = not started.alive()
    log = started.log_file.read_text(errors="replace")
    started.close()
    assert not died, log
    for secret in (SECRET, *USERS.values(), *started.hmacs):
        assert secret not in log, "a secret is in the log"


@pytest.fixture(scope="module")
def both(broker, tmp_path_factory):
    kafka = permitted(secured("kafka", tmp_path_factory.mktemp("kafka"), ENABLED))
    kafka.hmacs = []
    yield broker, kafka
    kafka.close()


def user(broker, name):
    return User(broker.sasl_port, name, USERS[name])


def token_of(broker, name, **more):
    with user(broker, name) as asker:
        token = asker.create(**more)
    assert token["ErrorCode"] == 0, token
    broker.hmacs.append(base64.b64encode(token["Hmac"]).decode())
    with user(broker, "admin") as asker:
        once(asker.describe, lambda found: token["TokenId"] in {each["TokenId"] for each in found["Tokens"]})
        once(lambda: asker.renew(token["Hmac"]), lambda answer: answer["ErrorCode"] != NOT_FOUND)
    return token


def once(ask, is_so):
    """Apache Kafka's broker knows of a decision a moment after its controller."""
    deadline = time.monotonic() + 30
    while not is_so(answer := ask()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)
    return answer


CREATIONS = {
    "own": ("alice", {}),
    "own by name": ("alice", {"owner": ("User", "alice")}),
    "no type": ("alice", {"owner": (None, "bob")}),
    "empty name": ("alice", {"owner": ("User", "")}),
    "another type": ("alice", {"owner": ("Group", "alice")}),
    "another's": ("alice", {"owner": ("User", "bob")}),
    "another's, permitted": ("carol", {"owner": ("User", "bob")}),
    "another's, by a super user": ("admin", {"owner": ("User", "nobody")}),
    "with renewers": ("alice", {"renewers": ["bob", "eve", "bob"]}),
    "with an odd renewer": ("alice", {"renewers": ["bob"], "kind": "Group"}),
    "an odd renewer for another": ("alice", {"renewers": ["bob"], "kind": "Group", "owner": ("User", "bob")}),
    "short": ("alice", {"lifetime": 600_000}),
    "longer than may be": ("alice", {"lifetime": 2**62}),
    "longer than a day": ("alice", {"lifetime": 172_800_000}),
    "no lifetime": ("alice", {"lifetime": 0}),
    "a negative lifetime": ("alice", {"lifetime": -(2**63)}),
    "a name with a colon": ("admin", {"owner": ("User", "a:b")}),
}


@pytest.mark.parametrize("what", CREATIONS)
def test_a_token_is_given_or_refused_as_by_apache_kafka(both, what):
    name, more = CREATIONS[what]
    versions = (3,) if "owner" in more else (1, 2, 3)
    for version in versions:
        told = []
        for broker in both:
            with user(broker, name) as asker:
                told.append(plain(asker.create(version=version, **more)))
        assert told[0] == told[1]


def test_who_may_say_how_long_a_token_is_good_is_told_what_apache_kafka_tells(both):
    steps = [
        ("eve", "renew", -1),
        ("eve", "expire", -1),
        ("bob", "renew", 40_000),
        ("carol", "renew", -1),
        ("alice", "renew", 0),
        ("alice", "renew", 172_800_000),
        ("alice", "expire", 100_000),
        ("bob", "expire", 2**62),
        ("bob", "expire", 0),
        ("bob", "renew", -1),
        ("alice", "expire", 5),
        ("eve", "expire", -1),
        ("alice", "expire", -1),
    ]
    told = []
    for broker in both:
        made = token_of(broker, "alice", renewers=["bob"])
        said = []
        for name, step, period in steps:
            for version in (1, 2):
                with user(broker, name) as asker:
                    # Of what is decided Apache Kafka's controller hears itself a moment later.
                    time.sleep(0.5)
                    said.append((name, step, period, version, plain(getattr(asker, step)(made["Hmac"], period, version))))
        told.append(said)
    assert told[0] == told[1]
    for broker in both:
        with user(broker, "alice") as asker:
            gone = once(lambda: asker.renew(made["Hmac"]), lambda answer: answer["ErrorCode"] == NOT_FOUND)
            assert plain(gone) == plain(asker.expire(b"\x00" * 64)) == plain(asker.renew(b""))


def test_tokens_are_shown_to_those_to_whom_apache_kafka_shows_them(both):
    for broker in both:
        token_of(broker, "alice", renewers=["eve"], lifetime=3_600_000)
        token_of(broker, "eve")
        token_of(broker, "carol", owner=("User", "bob"))
    ids_of = lambda broker, found: [token["PrincipalName"] for token in found["Tokens"]]
    for owners in (None, [], [("User", "alice")], [("User", "eve")], [("User", "bob"), ("User", "alice")], [("Group", "alice")], [("User", "carol")]):
        for name in ("admin", "alice", "bob", "carol", "eve"):
            for version in (1, 2, 3):
                told = []
                for broker in both:
                    with user(broker, name) as asker:
                        found = asker.describe(owners, version)
                    told.append((found["ErrorCode"], sorted(set(ids_of(broker, found))), plain(found) if name == "eve" else None))
                assert told[0] == told[1], (owners, name, version)


def test_who_has_not_shown_who_it_is_and_who_has_only_a_token_is_told_what_apache_kafka_tells(both):
    told = []
    for broker in both:
        token = token_of(broker, "alice")
        there, _ = tokens.logged_in(broker.sasl_port, token)
        by_token = User.__new__(User)
        by_token.there = there
        said = []
        for asker in (User(broker.port), by_token):
            with asker:
                for version in (1, 2, 3):
                    said += [asker.create(version=version), asker.describe(version=version)]
                said += [asker.create(owner=("User", "bob")), asker.create(renewers=["x"], kind="Group")]
                said += [asker.renew(token["Hmac"], version=version) for version in (1, 2)]
                said += [asker.expire(token["Hmac"], version=version) for version in (1, 2)]
        told.append(said)
    assert told[0] == told[1]
    assert {answer["ErrorCode"] for answer in told[0]} == {64}


@pytest.mark.parametrize("mechanism", tokens.HASHES)
def test_who_knows_a_token_is_its_owner(both, mechanism):
    told = []
    for broker in both:
        token = token_of(broker, "carol", owner=("User", "bob"))
        there, (_, _, lifetime) = tokens.logged_in(broker.sasl_port, token, mechanism)
        asker = User.__new__(User)
        asker.there = there
        with asker:
            topic = {"Name": "of-alice", "NumPartitions": 1, "ReplicationFactor": 1}
            refused = asker.ask("CreateTopics", Topics=[topic], timeoutMs=5000)["Topics"][0]["ErrorCode"]
        said = [refused, round(lifetime / 60_000)]
        wrong = dict(token, TokenId="A" * 22)
        for other, hmac, nonce in ((token, b"\x01" * 64, None), (token, token["Hmac"], "forged"), (token, SECRET.encode(), None)):
            there, (error, message, _) = tokens.log_in(broker.sasl_port, other, mechanism, hmac, nonce)
            said.append((error, message, there.answer() is CLOSED))
            there.socket.close()
        there, (error, message, _) = tokens.log_in(broker.sasl_port, wrong, mechanism)
        said.append((error, message, there.answer() is CLOSED))
        there.socket.close()
        told.append(said)
    assert told[0] == told[1]
    assert told[0][0] == 29


def test_a_token_without_its_extension_is_no_user(both):
    for broker in both:
        token = token_of(broker, "alice")
        tokens.logged_in(broker.sasl_port, token)[0].socket.close()
        password = base64.b64encode(token["Hmac"]).decode()
        for extensions in ("", ",tokenauth=false", ",tokenauth=yes"):
            with sasl.Conversation(broker.sasl_port) as there:
                client = sasl.Scram(token["TokenId"], password, extensions=extensions)
                there.ask(sasl.handshake("SCRAM-SHA-256"))
                error, _, challenge, _ = sasl.authenticated(there.ask(sasl.authenticate(client.first())))
                if error == 0:
                    error = sasl.authenticated(there.ask(sasl.authenticate(client.final(challenge))))[0]
                assert error == 58


def test_a_session_ends_with_its_token_and_an_expired_one_begins_none(both):
    told = []
    for broker in both:
        token = token_of(broker, "alice")
        tokens.logged_in(broker.sasl_port, token)[0].socket.close()
        with user(broker, "alice") as asker:
            until = asker.expire(token["Hmac"], 3000)["ExpiryTimestampMs"] / 1000
        said = []
        deadline = time.monotonic() + 30
        while True:
            there, (error, _, lifetime) = tokens.logged_in(broker.sasl_port, token)
            if lifetime <= 3000:
                break
            assert time.monotonic() < deadline
        said += [error, 0 <= lifetime <= 3000]
        while time.time() < until + 0.5:
            time.sleep(0.1)
        said.append(there.ask(wire.metadata([])) is CLOSED)
        there, (error, _, lifetime) = tokens.log_in(broker.sasl_port, token)
        said += [error, lifetime, there.ask(wire.metadata([])) is CLOSED]
        told.append(said)
    assert told[0] == told[1] == [0, True, True, 0, 0, True]


def test_a_token_that_is_taken_away_lets_nobody_in(both):
    for broker in both:
        token = token_of(broker, "alice")
        there, _ = tokens.logged_in(broker.sasl_port, token)
        with user(broker, "alice") as asker:
            assert asker.expire(token["Hmac"])["ErrorCode"] == 0
        once(lambda: tokens.log_in(broker.sasl_port, token)[1][0], lambda error: error == 58)
        assert there.ask(wire.metadata([])) is not CLOSED, "who is in stays in"
        there.socket.close()


def test_it_is_renewed_by_the_same_owner(both):
    """A session of a token goes on with the same token, and with another of the same owner."""
    told = []
    for broker in both:
        token, other, another = token_of(broker, "alice"), token_of(broker, "alice"), token_of(broker, "eve")
        for each in (token, other, another):
            tokens.logged_in(broker.sasl_port, each)[0].socket.close()
        said = []
        for next_one in (token, other, another):
            there, _ = tokens.logged_in(broker.sasl_port, token)
            password = base64.b64encode(next_one["Hmac"]).decode()
            client = sasl.Scram(next_one["TokenId"], password, extensions=",tokenauth=true")
            said.append(sasl.handshaken(there.ask(sasl.handshake("SCRAM-SHA-256")))[0])
            _, _, challenge, _ = sasl.authenticated(there.ask(sasl.authenticate(client.first())))
            said.append(sasl.authenticated(there.ask(sasl.authenticate(client.final(challenge))))[:2])
            said.append(there.ask(wire.metadata([])) is CLOSED)
            there.socket.close()
        told.append(said)
    assert told[0] == told[1]


@pytest.mark.parametrize("mechanism", tokens.HASHES)
def test_java_gets_in_by_a_token(broker, tools, tmp_path, mechanism):
    token = token_of(broker, "alice")
    tokens.logged_in(broker.sasl_port, token, mechanism)[0].socket.close()
    config = tmp_path / "client.properties"
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={tokens.jaas(token)}\n")
    at = ("--bootstrap-server", f"127.0.0.1:{broker.sasl_port}", "--command-config", config)
    tools.ok("kafka-topics", *at, "--create", "--if-not-exists", "--topic", "of-alice")
    tools.ok("kafka-console-producer", *at, "--topic", "of-alice", "--command-property", "enable.idempotence=false", stdin="one\n")
    assert "of-alice" in tools.ok("kafka-topics", *at, "--list").output
    ran = tools.run("kafka-topics", *at, "--create", "--topic", "of-others")
    assert ran.exit != 0 and "authorization failed" in ran.output.lower(), ran.output


@pytest.mark.parametrize("mechanism", tokens.HASHES)
def test_franz_go_gets_in_by_a_token(broker, mechanism):
    token = token_of(broker, "alice")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_topics(["by-token"]).values():
        future.exception(30)
    once(lambda: admin.list_topics(timeout=10).topics, lambda topics: "by-token" not in topics)
    for future in admin.create_topics([NewTopic("by-token", 1, 1)]).values():
        future.result(30)
    password = base64.b64encode(token["Hmac"]).decode()
    broker.ports = {"SASL": broker.sasl_port}
    shown = {"mechanism": mechanism, "user": token["TokenId"], "by-token": "true"}
    assert secure_clients.run(broker, "franz-go", "SASL", "by-token", password=password, **shown) == secure_clients.EVERYTHING
    told = secure_clients.run(broker, "franz-go", "SASL", "by-token", password="wrong", **shown)
    assert "error" in told, told


def test_kafka_delegation_tokens_makes_shows_renews_and_ends_them(broker, tools, tmp_path):
    config = tmp_path / "client.properties"
    module = f'{sasl.PLAIN_MODULE} required username="alice" password="{USERS["alice"]}";'
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={module}\n")
    at = ("--bootstrap-server", f"127.0.0.1:{broker.sasl_port}", "--command-config", config)
    run = lambda *more: tools.ok("kafka-delegation-tokens", *at, *more).output
    made = run("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
    row = next(line for line in made.splitlines() if "User:alice" in line)
    token_id, hmac = row.split()[:2]
    broker.hmacs.append(hmac)
    assert len(base64.b64decode(hmac)) == 64 and "User:bob" in row
    shown = once(lambda: run("--describe", "--owner-principal", "User:alice"), lambda output: token_id in output)
    assert hmac in shown
    assert re.search(r"Completed renew operation", run("--renew", "--renew-time-period", "-1", "--hmac", hmac))
    assert re.search(r"Completed expire operation", run("--expire", "--expiry-time-period", "-1", "--hmac", hmac))
    once(lambda: run("--describe", "--owner-principal", "User:alice"), lambda output: token_id not in output)
    ran = tools.run("kafka-delegation-tokens", *at, "--renew", "--renew-time-period", "-1", "--hmac", hmac)
    assert "not found" in ran.output.lower() or "DelegationTokenNotFound" in ran.output, ran.output


def test_without_a_secret_there_are_no_tokens(tmp_path):
    told = []
    for kind in dict.fromkeys((brokers.under_test().kind, "kafka")):
        broker = secured(kind, tmp_path / kind, PROPERTIES)
        with user(broker, "alice") as asker:
            told.append([plain(asker.create()), asker.renew(b"x"), asker.expire(b"x"), asker.describe(), asker.describe([])])
            told[-1] += [asker.create(renewers=["x"], kind="Group"), asker.create(owner=("User", "bob"))]
        broker.close()
    assert all(each == told[0] for each in told)
    assert [answer["ErrorCode"] for answer in told[0]] == [61, 61, 61, 61, 61, 67, 65]


def test_expired_tokens_are_taken_away(tmp_path):
    for kind in dict.fromkeys((brokers.under_test().kind, "kafka")):
        broker = secured(kind, tmp_path / kind, {**ENABLED, "delegation.token.expiry.check.interval.ms": "500", "delegation.token.expiry.time.ms": "2000"})
        with user(broker, "alice") as asker:
            token = asker.create()
            assert token["ErrorCode"] == 0
            once(asker.describe, lambda found: len(found["Tokens"]) == 1)
            once(asker.describe, lambda found: len(found["Tokens"]) == 0)
            once(lambda: asker.renew(token["Hmac"]), lambda answer: answer["ErrorCode"] == NOT_FOUND)
        broker.stop()
        broker.start()
        with user(broker, "alice") as asker:
            assert asker.describe()["Tokens"] == []
        broker.close()


def test_many_tokens_that_are_shown_at_once_all_get_in(broker):
    """Each for the first time: what their proofs are compared with is not there yet."""
    with user(broker, "alice") as asker:
        made = [asker.create() for _ in range(40)]
        once(asker.describe, lambda found: {token["TokenId"] for token in made} <= {token["TokenId"] for token in found["Tokens"]})
    waiting = []
    for token in made:
        for mechanism, hash_name in tokens.HASHES.items():
            there = sasl.Conversation(broker.sasl_port)
            client = sasl.Scram(token["TokenId"], base64.b64encode(token["Hmac"]).decode(), hash_name, extensions=",tokenauth=true")
            there.send(sasl.handshake(mechanism), sasl.authenticate(client.first()))
            waiting.append((there, client))
    for there, client in waiting:
        assert sasl.handshaken(there.answer())[0] == 0
        error, _, challenge, _ = sasl.authenticated(there.answer())
        assert error == 0
        # The next request comes along with the last of the exchange, and waits with it.
        there.send(sasl.authenticate(client.final(challenge)), wire.metadata([]))
    with user(broker, "bob") as other:
        assert other.describe()["ErrorCode"] == 0
    for there, _ in waiting:
        assert sasl.authenticated(there.answer())[0] == 0
        assert there.answer() is not CLOSED
        there.socket.close()
