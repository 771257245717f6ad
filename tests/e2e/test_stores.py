"""Stores of keys and certificates that are set while the broker runs, for one listener (`kafka-configs --alter --entity-type brokers`):
what is taken and what is refused is as with Apache Kafka, which is asked the same."""

import contextlib
import os
import shutil
import socket
import ssl
import threading
import time

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from harness import broker as brokers
from harness import wire
from harness.certificates import PASSWORD, Authority, keytool
from harness.sasl import CLOSED, Conversation

INVALID_REQUEST, TIMED_OUT = 42, 7
NAMES = ["OUT", "PEM"]
OUT = "listener.name.out.ssl"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    for name in ("old", "new"):
        authority.issue(name, "/CN=localhost/O=Tests")
        authority.pkcs12(name)
    authority.issue("other", "/CN=elsewhere/O=Tests")
    authority.pkcs12("other")
    authority.issue("nameless", "/CN=localhost/O=Tests", names="DNS:localhost")
    authority.pkcs12("nameless")
    (authority.directory / "sealed").mkdir()
    keytool(
        "-importkeystore", "-srckeystore", "new.p12", "-srcstoretype", "PKCS12", "-srcstorepass", PASSWORD,
        "-destkeystore", "sealed/new.p12", "-deststoretype", "PKCS12", "-deststorepass", "another-secret", "-noprompt", cwd=authority.directory,
    )  # fmt: skip
    return authority


def properties(authority):
    here = authority.directory
    return {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OUT:SSL,PEM:SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        f"{OUT}.keystore.type": "PKCS12",
        f"{OUT}.keystore.location": here / "old.p12",
        f"{OUT}.keystore.password": PASSWORD,
        "listener.name.pem.ssl.keystore.type": "PEM",
        "listener.name.pem.ssl.keystore.location": here / "old.both.pem",
    }


def start(make, authority, directory):
    broker = make(directory, properties(authority))
    broker.ports = dict(zip(NAMES, brokers.free_ports(len(NAMES)), strict=True))
    broker.properties["listeners"] += "".join(f",{name}://127.0.0.1:{port}" for name, port in broker.ports.items())
    return broker.start()


@contextlib.contextmanager
def running(make, authority, directory):
    broker = start(make, authority, directory)
    yield broker
    died, log = not broker.alive(), broker.log_file.read_text(errors="replace")
    broker.close()
    assert not died, log
    assert broker.kind == "kafka" or PASSWORD not in log and "another-secret" not in log and "PRIVATE KEY" not in log


@pytest.fixture(scope="module")
def broker(authority, tmp_path_factory):
    with running(brokers.under_test(), authority, tmp_path_factory.mktemp("stores")) as broker:
        yield broker


@pytest.fixture(scope="module")
def oracle(authority, tmp_path_factory):
    with running(brokers.KINDS["kafka"], authority, tmp_path_factory.mktemp("oracle")) as broker:
        yield broker


def alter(broker, changes, validate_only=False):
    """The code and the message of a change; a value of None takes a setting away."""
    entries = [
        ConfigEntry(key, None if value is None else str(value), incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET)
        for key, value in changes.items()
    ]
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (future,) = admin.incremental_alter_configs([resource], validate_only=validate_only, request_timeout=30).values()
    try:
        future.result(30)
    except KafkaException as error:
        return error.args[0].code(), error.args[0].str()
    return 0, None


def context_for(authority):
    context = ssl.create_default_context(cafile=authority.certificate)
    context.check_hostname = False
    return context


def serial(broker, authority, name="OUT"):
    """Of the certificate that a new connection is shown."""
    with socket.create_connection(("127.0.0.1", broker.ports[name]), timeout=10) as raw:
        with context_for(authority).wrap_socket(raw) as there:
            return there.getpeercert()["serialNumber"]


def serial_of(authority, name):
    return ssl._ssl._test_decode_cert(str(authority.directory / f"{name}.pem"))["serialNumber"]


def shows(broker, authority, name, listener="OUT"):
    """Whether new connections come to be shown this certificate."""
    wanted, until = serial_of(authority, name), time.monotonic() + 20
    while serial(broker, authority, listener) != wanted and time.monotonic() < until:
        time.sleep(0.1)
    return serial(broker, authority, listener) == wanted


def described(broker, key):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (future,) = admin.describe_configs([ConfigResource(ResourceType.BROKER, "1")]).values()
    entry = future.result(30).get(key)
    return entry and (entry.value, entry.source, entry.is_sensitive)


def test_a_listener_gets_another_store_and_gives_it_back(broker, authority):
    here = authority.directory
    assert shows(broker, authority, "old")
    with Conversation(broker.ports["OUT"], context_for(authority).wrap_socket) as before:
        assert before.ask(wire.metadata([])) is not CLOSED
        assert alter(broker, {f"{OUT}.keystore.location": here / "new.p12"}) == (0, None)
        assert shows(broker, authority, "new")
        # Another password, another type: all that belongs together in one change.
        sealed = {f"{OUT}.keystore.location": here / "sealed" / "new.p12", f"{OUT}.keystore.password": "another-secret"}
        assert alter(broker, sealed) == (0, None)
        assert alter(broker, {f"{OUT}.keystore.location": here / "old.both.pem"})[0] == INVALID_REQUEST, "it is no PKCS12"
        assert before.ask(wire.metadata([])) is not CLOSED, "connections that there are stay"
    assert described(broker, f"{OUT}.keystore.location") == (str(here / "sealed" / "new.p12"), 2, False)
    assert described(broker, f"{OUT}.keystore.password") == (None, 2, True)
    broker.stop()
    broker.start()
    assert shows(broker, authority, "new"), "it counts after a restart, too"
    assert alter(broker, {key: None for key in sealed}) == (0, None)
    assert shows(broker, authority, "old")
    assert serial(broker, authority, "PEM") == serial_of(authority, "old")


def test_by_the_tool(broker, authority, tools):
    at = ("--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "brokers", "--entity-name", "1")
    name = "listener.name.pem.ssl.keystore.location"
    tools.ok("kafka-configs", *at, "--add-config", f"{name}={authority.directory / 'new.both.pem'}")
    assert shows(broker, authority, "new", "PEM")
    tools.ok("kafka-configs", *at, "--delete-config", name)
    assert shows(broker, authority, "old", "PEM")


REFUSED = {
    "no file": lambda here: {f"{OUT}.keystore.location": here / "none.p12"},
    "a wrong password": lambda here: {f"{OUT}.keystore.password": "wrong"},
    "no type": lambda here: {f"{OUT}.keystore.type": "WALLET"},
    "no key": lambda here: {f"{OUT}.keystore.location": here / "ca.pem"},
    "another owner": lambda here: {f"{OUT}.keystore.location": here / "other.p12"},
    "fewer names": lambda here: {f"{OUT}.keystore.location": here / "nameless.p12"},
    "a trust store where none was": lambda here: {f"{OUT}.truststore.type": "PEM", f"{OUT}.truststore.location": here / "ca.pem"},
    "a password for PEM": lambda here: {"listener.name.pem.ssl.keystore.password": "x"},
    "not for one listener": lambda here: {"ssl.keystore.location": here / "new.p12"},
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_used_is_refused_and_changes_nothing(broker, oracle, authority, what):
    answers = {}
    for each in (broker, oracle):
        code, message = alter(each, REFUSED[what](authority.directory))
        answers[each.kind] = code
        print(f"{each.kind}: {code} {message}")
        assert PASSWORD not in message and "wrong" not in message.replace("the password is wrong", "")
        assert serial(each, authority) == serial_of(authority, "old")
    assert set(answers.values()) == {INVALID_REQUEST}, answers


def test_not_for_all_brokers(broker, oracle, authority, tools):
    change = f"{OUT}.keystore.location={authority.directory / 'new.p12'}"
    for each in (broker, oracle):
        at = ("--bootstrap-server", each.bootstrap, "--entity-type", "brokers", "--entity-default")
        ran = tools.run("kafka-configs", *at, "--alter", "--add-config", change)
        said = f"Cannot update these configs at default cluster level, broker id must be specified: [{OUT}.keystore.location]"
        assert ran.exit != 0 and said in ran.output, ran.output


def test_asking_only_whether_it_could_be_changes_nothing(broker, authority):
    here = authority.directory
    assert alter(broker, {f"{OUT}.keystore.location": here / "new.p12"}, validate_only=True) == (0, None)
    assert alter(broker, {f"{OUT}.keystore.location": here / "none.p12"}, validate_only=True)[0] == INVALID_REQUEST
    time.sleep(1)
    assert serial(broker, authority) == serial_of(authority, "old")
    assert described(broker, f"{OUT}.keystore.location") == (str(here / "old.p12"), 4, False)


def test_another_owner_where_that_is_allowed(authority, tmp_path):
    broker = brokers.under_test()(tmp_path, {**properties(authority), f"{OUT}.allow.dn.changes": "true"})
    broker.ports = dict(zip(NAMES, brokers.free_ports(len(NAMES)), strict=True))
    broker.properties["listeners"] += "".join(f",{name}://127.0.0.1:{port}" for name, port in broker.ports.items())
    broker.start()
    try:
        assert alter(broker, {f"{OUT}.keystore.location": authority.directory / "other.p12"}) == (0, None)
        assert shows(broker, authority, "other")
        assert alter(broker, {f"{OUT}.keystore.location": authority.directory / "nameless.p12"})[0] == INVALID_REQUEST
    finally:
        broker.close()


@pytest.mark.aplomb
def test_a_file_that_never_answers_costs_who_asked_for_it_ten_seconds_and_nobody_else(broker, authority, tmp_path):
    """A pipe that nobody writes into keeps who opens it for ever, as a disk that stands still does."""
    pipe = tmp_path / "frozen.p12"
    os.mkfifo(pipe)
    answers, began = [], time.monotonic()

    def ask():
        answers.append((*alter(broker, {f"{OUT}.keystore.location": pipe}), time.monotonic() - began))

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for each in asking:
        each.start()
    time.sleep(1)
    slowest = 0
    with wire.Connection(broker.port, timeout=5) as connection:
        while any(each.is_alive() for each in asking):
            asked = time.monotonic()
            connection.ask(wire.metadata([]))
            slowest = max(slowest, time.monotonic() - asked)
            if len(answers) == 0 and not slowest > 5:
                # Stores on other disks are taken meanwhile, and other settings too.
                assert alter(broker, {"listener.name.pem.ssl.keystore.location": authority.directory / "new.both.pem"}) == (0, None)
                assert alter(broker, {"listener.name.pem.ssl.keystore.location": None}) == (0, None)
                assert alter(broker, {"log.retention.ms": "86400000"}) == (0, None)
            time.sleep(0.05)
    print(f"the slowest of others' requests {slowest * 1000:.1f} ms; answered {answers}")
    assert [code for code, *_ in answers] == [TIMED_OUT] * 3 and all(9 < took < 20 for *_, took in answers), answers
    assert slowest < 1
    assert serial(broker, authority) == serial_of(authority, "old")
    # It answers at last: nothing comes of what was given up.
    with open(pipe, "wb") as writer:
        writer.write((authority.directory / "new.p12").read_bytes())
    time.sleep(1)
    assert serial(broker, authority) == serial_of(authority, "old")


@pytest.mark.aplomb
def test_a_store_that_stands_still_keeps_its_listener_as_it_was_and_no_other(broker, authority, tmp_path):
    """The same, of a store that was put in the place of one in use."""
    here = authority.directory
    live = {name: tmp_path / f"{name}.pem" for name in NAMES}
    locations = {name: f"listener.name.{name.lower()}.ssl.keystore" for name in NAMES}
    for name, store in live.items():
        shutil.copy(here / "old.both.pem", store)
        password = {f"{locations[name]}.password": ""} if name == "OUT" else {}
        assert alter(broker, {f"{locations[name]}.type": "PEM", f"{locations[name]}.location": store, **password}) == (0, None)
    os.mkfifo(tmp_path / "pipe")
    os.replace(tmp_path / "pipe", live["OUT"])
    time.sleep(3)
    shutil.copy(here / "new.both.pem", tmp_path / "new")
    os.replace(tmp_path / "new", live["PEM"])
    assert shows(broker, authority, "new", "PEM")
    assert serial(broker, authority, "OUT") == serial_of(authority, "old")
    with open(live["OUT"], "wb") as writer:
        writer.write((here / "new.both.pem").read_bytes())
    assert shows(broker, authority, "new", "OUT"), "it answers at last"
