"""SCRAM users and delegation tokens of an Apache Kafka directory get in at once, and go back as they are then."""

import time

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from harness import broker as brokers
from harness import sasl, tokens
from harness.sasl import Conversation, Scram, authenticate, authenticated, handshake

LISTENER = "listener.name.sasl_plaintext"
PROPERTIES = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    f"{LISTENER}.plain.sasl.jaas.config": f'{sasl.PLAIN_MODULE} required user_alice="wonder" user_bob="builder";',
    f"{LISTENER}.scram-sha-256.sasl.jaas.config": f"{sasl.SCRAM_MODULE} required;",
    f"{LISTENER}.scram-sha-512.sasl.jaas.config": f"{sasl.SCRAM_MODULE} required;",
    "delegation.token.secret.key": "the secret of both",
}
KINDS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}


def of(mechanism, user, password, iterations=4096):
    return UserScramCredentialUpsertion(user, ScramCredentialInfo(KINDS[mechanism], iterations), password.encode())


def change(broker, *changes):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.alter_user_scram_credentials(list(changes)).values():
        future.result(30)


def users(broker):
    """Names, mechanisms and iterations."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    found = admin.describe_user_scram_credentials().result(30)
    return {user: sorted((info.mechanism.name, info.iterations) for info in of.scram_credential_infos) for user, of in found.items()}


def gets_in(broker, mechanism, user, password):
    with Conversation(broker.sasl_port) as there:
        client = Scram(user, password, tokens.HASHES[mechanism])
        there.ask(handshake(mechanism))
        error, _, challenge, _ = authenticated(there.ask(authenticate(client.first())))
        return error == 0 and authenticated(there.ask(authenticate(client.final(challenge))))[0] == 0


def alice(broker):
    return tokens.User(broker.sasl_port, "alice", "wonder")


def shown(broker, count):
    with alice(broker) as asker:
        found = once(asker.describe, lambda found: len(found["Tokens"]) == count)
    return sorted(found["Tokens"], key=lambda token: token["TokenId"])


def once(ask, is_so):
    deadline = time.monotonic() + 30
    while not is_so(answer := ask()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)
    return answer


def all_get_in(broker, passwords, made):
    for user, (mechanism, password) in passwords.items():
        assert once(lambda: gets_in(broker, mechanism, user, password), bool)
        assert not gets_in(broker, mechanism, user, "wrong")
    for token in made:
        for mechanism in tokens.HASHES:
            there, (error, _, lifetime) = tokens.logged_in(broker.sasl_port, token, mechanism)
            assert error == 0 and lifetime > 0
            there.socket.close()


@pytest.mark.parametrize("how", ("stop", "kill"))
def test_users_and_tokens_go_there_and_back(tmp_path, how):
    kafka = brokers.KINDS["kafka"](tmp_path / "kafka", PROPERTIES)
    (port,) = brokers.free_ports(1)
    kafka.sasl_port = port
    kafka.properties["listeners"] += f",SASL_PLAINTEXT://127.0.0.1:{port}"
    kafka.start()
    change(kafka, of("SCRAM-SHA-256", "carol", "rabbit"), of("SCRAM-SHA-512", "dave", "bowman", 8192), of("SCRAM-SHA-256", "gone", "x"))
    with alice(kafka) as asker:
        made = [asker.create(), asker.create(renewers=["bob"], lifetime=3_600_000), asker.create()]
    before = shown(kafka, 3)
    passwords = {"carol": ("SCRAM-SHA-256", "rabbit"), "dave": ("SCRAM-SHA-512", "bowman"), "gone": ("SCRAM-SHA-256", "x")}
    all_get_in(kafka, passwords, made)
    there = once(lambda: users(kafka), lambda found: len(found) == 3)
    (kafka.stop if how == "stop" else kafka.kill)()

    aplomb = brokers.KINDS["aplomb"](tmp_path / "aplomb", PROPERTIES)
    aplomb.sasl_port = port
    aplomb.take_over(kafka)
    assert (users(aplomb), shown(aplomb, 3)) == (there, before)
    all_get_in(aplomb, passwords, made)
    change(aplomb, of("SCRAM-SHA-512", "erin", "new"), UserScramCredentialDeletion("gone", KINDS["SCRAM-SHA-256"]))
    passwords["erin"] = ("SCRAM-SHA-512", "new")
    del passwords["gone"]
    with alice(aplomb) as asker:
        assert asker.expire(made.pop(0)["Hmac"])["ErrorCode"] == 0
        renewed = asker.renew(made[0]["Hmac"], 1_800_000)
        made.append(asker.create())
    between, users_between = shown(aplomb, 3), users(aplomb)
    assert renewed["ExpiryTimestampMs"] in [token["ExpiryTimestamp"] for token in between]
    all_get_in(aplomb, passwords, made)
    aplomb.stop()

    again = brokers.KINDS["kafka"](tmp_path / "again", PROPERTIES)
    again.sasl_port = port
    again.take_over(aplomb)
    assert once(lambda: users(again), lambda found: len(found) == 3) == users_between
    assert shown(again, 3) == between
    all_get_in(again, passwords, made)
    assert not gets_in(again, "SCRAM-SHA-256", "gone", "x")
    again.stop()
    for broker in (again, aplomb, kafka):
        broker.close()
