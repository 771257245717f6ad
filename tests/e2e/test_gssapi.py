"""GSSAPI: tickets of a real KDC; who gets in, with which client; a KDC that is gone, a keytab that changes or does not answer, exchanges
that are not gone on with; and what a broker does not start with."""

import contextlib
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
from confluent_kafka.admin import NewTopic
from harness import broker as brokers
from harness import kerberos, places, secure_clients
from harness.gssapi import Exchange, authority, broker, outcome, properties, realm, started  # noqa: F401: fixtures among them
from harness.kerberos import REALM, Initiator, Realm
from harness.sasl import CLOSED, authenticate
from harness.tools import Tools, main_class

if kerberos.missing():
    message = f"skipped, since this machine has no {', '.join(kerberos.missing())} (packages krb5-kdc, krb5-admin-server, krb5-user)"
    pytest.skip(message, allow_module_level=True)



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
@pytest.mark.parametrize("library", ["franz-go", "sarama"])
def test_clients_of_go_get_in(broker, realm, authority, library, listener):
    topic = created(broker, f"{library}-{listener.lower()}")
    who = {"mechanism": "GSSAPI", "user": "alice", "keytab": realm.principal("alice"), "realm": REALM}
    told = secure_clients.run(broker, library, listener, topic, ca=authority.certificate if listener == "SECURE" else None, **who)
    assert told == secure_clients.EVERYTHING


def test_a_principal_that_the_kdc_does_not_know_gets_nowhere(broker, realm):
    realm.principal("ghost")
    realm.admin("delprinc -force ghost")
    said = kcat(broker, realm, "OPEN", "ghost", "-L", "-m", "5")
    assert said.returncode != 0 and "not found in Kerberos database" in said.stderr, said.stderr


@pytest.mark.aplomb
def test_an_answer_is_told_and_not_looked_for(broker, realm):
    """Where it is not told a shard looks for it after 50 ms, and no answer comes sooner."""
    took = []
    for _ in range(21):
        with Exchange(broker.ports["OPEN"], realm.ticket("alice")) as exchange:
            exchange.begin()
            token, began = exchange.initiator.step(), time.monotonic()
            assert exchange.say(token)
            took.append(time.monotonic() - began)
    assert min(took) < 0.05, took


@pytest.mark.aplomb
def test_why_a_ticket_does_not_count_is_in_the_log(broker, realm):
    realm.principal("other/localhost")
    outcome(broker, realm, service="other@localhost")
    text = "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI (its ticket does not count: "
    end = time.monotonic() + 10
    while f"closed a connection of 127.0.0.1: {text}" not in broker.log_file.read_text():
        assert time.monotonic() < end, broker.log_tail()
        time.sleep(0.1)


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
def test_a_keytab_whose_disk_does_not_answer_keeps_no_request_waiting(broker, realm):
    """A pipe stands for it: opening one waits until there is something to be read."""
    keytab, waits, said = realm.keytab("kafka/localhost"), [], []
    away = keytab.with_suffix(".away")
    cache = realm.ticket("alice")
    with Exchange(broker.ports["OPEN"], cache) as there:
        there.log_in()
        os.replace(keytab, away)
        os.mkfifo(keytab)
        try:
            thread, began = threading.Thread(target=lambda: said.append(outcome(broker, realm))), time.monotonic()
            thread.start()
            while thread.is_alive():
                at = time.monotonic()
                assert there.is_in()
                waits.append(time.monotonic() - at)
                time.sleep(0.01)
            took = time.monotonic() - began
        finally:
            os.close(os.open(keytab, os.O_WRONLY | os.O_NONBLOCK))
            os.replace(away, keytab)
    assert said == [([CLOSED], False)] and 9.5 < took < 20, (said, took)
    assert len(waits) > 100 and max(waits) < 1, max(waits)
    assert "its ticket could not be looked at within 10 s" in broker.log_file.read_text()
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
