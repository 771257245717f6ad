"""Delegation tokens by hand: who asks is logged in by SASL, and what is answered is made comparable."""

import base64
import time

from differential import answers, questions, schemas
from harness import sasl
from harness.sasl import CLOSED, Conversation, Scram, authenticate, authenticated, handshake, handshaken

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
# Times in answers are told apart by this, in milliseconds; one that was decided half of it ago is the same.
ABOUT = 600_000


class User:
    """A connection that is logged in, and asks."""

    def __init__(self, port, user=None, password=None):
        self.there = Conversation(port)
        if user is not None:
            assert self.there.log_in(user, password)[0] == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.there.socket.close()

    def ask(self, api, version=None, **value):
        schema = schemas.message(f"{api}Request")
        low, high = map(int, schemas._sources()[f"{api}Request"]["validVersions"].split("-"))
        version = high if version is None else version
        assert low <= version <= high
        question = questions.Question(api, version, "", value)
        answer = self.there.ask(question.written(schema, schemas.key_of(api), {}))
        return CLOSED if answer is CLOSED else answers.decode(question, answer)

    def create(self, owner=None, renewers=(), lifetime=-1, version=None, kind="User"):
        renewers = [{"PrincipalType": kind, "PrincipalName": name} for name in renewers]
        owned = {"OwnerPrincipalType": owner and owner[0], "OwnerPrincipalName": owner and owner[1]} if version in (None, 3) else {}
        return self.ask("CreateDelegationToken", version, Renewers=renewers, MaxLifetimeMs=lifetime, **owned)

    def renew(self, hmac, period=-1, version=None):
        return self.ask("RenewDelegationToken", version, Hmac=hmac, RenewPeriodMs=period)

    def expire(self, hmac, period=-1, version=None):
        return self.ask("ExpireDelegationToken", version, Hmac=hmac, ExpiryTimePeriodMs=period)

    def describe(self, owners=None, version=None):
        owners = owners and [{"PrincipalType": kind, "PrincipalName": name} for kind, name in owners] if owners != [] else []
        return self.ask("DescribeDelegationToken", version, Owners=owners)


def plain(value, name=""):
    """An answer without what is chance, and with times as how long they are from now."""
    if isinstance(value, dict):
        return {field: plain(item, field) for field, item in value.items()}
    if isinstance(value, list):
        return sorted((plain(item, name) for item in value), key=repr)
    if "Timestamp" in name and value > 0:
        return f"in about {int(value - time.time() * 1000 + ABOUT / 2) // ABOUT * 10} minutes"
    if name in ("TokenId", "Hmac"):
        return f"{len(value)} long"
    return value


def log_in(port, token, mechanism="SCRAM-SHA-256", hmac=None, nonce=None):
    """A connection and how the login of a token's holder went: (error code, message, lifetime)."""
    there = Conversation(port)
    assert handshaken(there.ask(handshake(mechanism)))[0] == 0
    password = base64.b64encode(token["Hmac"] if hmac is None else hmac).decode()
    client = Scram(token["TokenId"], password, HASHES[mechanism], extensions=",tokenauth=true")
    error, message, challenge, lifetime = authenticated(there.ask(authenticate(client.first())))
    if error == 0:
        assert challenge.endswith(b",i=4096"), challenge
        error, message, _, lifetime = authenticated(there.ask(authenticate(client.final(challenge, nonce))))
    return there, (error, message, lifetime)


def logged_in(port, token, mechanism="SCRAM-SHA-256"):
    """The same for a token that was just made: Apache Kafka's broker knows of it a moment after its controller."""
    deadline = time.monotonic() + 30
    while True:
        there, outcome = log_in(port, token, mechanism)
        if outcome[0] == 0:
            return there, outcome
        there.socket.close()
        assert time.monotonic() < deadline, outcome
        time.sleep(0.2)


def jaas(token):
    password = base64.b64encode(token["Hmac"]).decode()
    return f'{sasl.SCRAM_MODULE} required username="{token["TokenId"]}" password="{password}" tokenauth="true";'
