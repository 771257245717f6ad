"""Listeners that take tickets of Kerberos, and exchanges of GSSAPI by hand, as no client library would have them."""

import pytest
from confluent_kafka.admin import AdminClient
from harness import broker as brokers
from harness import kerberos, wire
from harness.certificates import Authority
from harness.kerberos import MUTUAL, REALM, Initiator, Realm
from harness.sasl import CLOSED, Conversation, authenticate, authenticated, handshake, handshaken

NAMES = ("OPEN", "SECURE", "RULED", "SHORT")
RULES = f"RULE:[2:$1-$2](.*-admin)s/-admin$/-the-boss/,RULE:[1:$1@$0](b.*@{REALM})s/@.*///U,RULE:[1:$1](slash)s/h/@/"


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


class Exchange:
    """One with a broker, by hand. `said` is what it was told: (error, message, whether there was a token)."""

    def __init__(self, port, cache=None, version=1, **options):
        self.there, self.version, self.said = Conversation(port), version, []
        self.there.socket.settimeout(30)
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


@pytest.fixture(scope="module")
def broker(realm, authority, tmp_path_factory):
    broker = started(brokers.under_test().kind, tmp_path_factory.mktemp("broker"), properties(realm, authority))
    broker.admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    yield broker
    died = not broker.alive()
    log = broker.log_file.read_text(errors="replace")
    broker.close()
    assert not died, log
