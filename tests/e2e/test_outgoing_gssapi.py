"""Aplomb as a client that shows tickets of Kerberos: `aplomb bench` with a `--command-config`, against Aplomb and against Apache Kafka, with
tickets of a cache and of a keytab; and who has none."""

import json
import os
import subprocess

import pytest
from confluent_kafka import Producer
from harness import broker as brokers
from harness import kerberos
from harness.gssapi import authority, properties, realm, started  # noqa: F401: fixtures among them
from harness.kerberos import MODULE, REALM, SERVICE

if kerberos.missing():
    message = f"skipped, since this machine has no {', '.join(kerberos.missing())} (packages krb5-kdc, krb5-admin-server, krb5-user)"
    pytest.skip(message, allow_module_level=True)

pytestmark = pytest.mark.aplomb


@pytest.fixture(scope="module", params=["aplomb", "kafka"])
def peer(request, realm, authority, tmp_path_factory):
    broker = started(request.param, tmp_path_factory.mktemp(request.param), properties(realm, authority))
    # Apache Kafka has no producer ids to give in its first moments.
    first = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    first.produce("first", "word")
    assert first.flush(30) == 0
    yield broker
    broker.close()


@pytest.fixture
def bench(peer, authority, tmp_path):
    """The command at a listener, with these options of the JAAS line."""

    def run(listener, options, *more, service=SERVICE, seconds=1, **environment):
        protocol, tls = "SASL_PLAINTEXT", ""
        if listener == "SECURE":
            protocol, tls = "SASL_SSL", f"ssl.truststore.type=PEM\nssl.truststore.location={authority.certificate}\n"
        file = tmp_path / "client.properties"
        line = f"{MODULE} required {options};"
        file.write_text(f"security.protocol={protocol}\n{tls}sasl.mechanism=GSSAPI\nsasl.kerberos.service.name={service}\nsasl.jaas.config={line}\n")
        load = ["--rate", "200", "-d", f"{seconds}s", "--warm-up", "0s", "--drain", "20s", "--partitions", "2", "-q", "--json", "-"]
        at = ["-b", f"localhost:{peer.ports[listener]}", "-t", "tickets", "--command-config", file]
        command = [brokers.binary(), "bench", "produce", *at, *load, *more]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=90, env={**os.environ, **environment})

    return run


def is_in(done):
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert (done.returncode, report["errors"]) == (0, {}), (report["errors"], done.stderr)
    assert report["configuration"]["sasl_mechanism"] == "GSSAPI"
    return report


def of_keytab(realm, name="alice"):
    return f'useKeyTab=true storeKey=true keyTab="{realm.principal(name)}" principal="{name}@{REALM}"'


@pytest.mark.parametrize("listener", ["OPEN", "SECURE"])
def test_with_a_keytab(bench, realm, listener):
    assert is_in(bench(listener, of_keytab(realm)))["totals"]["acknowledged"] == 200


def test_with_a_cache_of_tickets(bench, realm):
    cache = realm.ticket("alice")
    is_in(bench("OPEN", f'useTicketCache=true ticketCache="{cache}"'))
    is_in(bench("OPEN", "useTicketCache=true", KRB5CCNAME=f"FILE:{cache}"))
    is_in(bench("OPEN", f'useTicketCache=true principal="alice@{REALM}"', KRB5CCNAME=f"FILE:{cache}"))
    # With nothing in it the keytab counts, if there is one.
    is_in(bench("OPEN", f'useTicketCache=true ticketCache="/nowhere" {of_keytab(realm)}'))


def test_logins_are_renewed(bench, realm):
    """The listener's sessions last three seconds."""
    is_in(bench("SHORT", of_keytab(realm), seconds=8))


def test_who_has_no_ticket_is_told_why(bench, realm):
    realm.principal("ghost")
    realm.admin("delprinc -force ghost")
    realm.principal("other/localhost")
    # A ticket for another service of the host's, whose keys the broker does not have.
    for options, service, why in (
        ("useTicketCache=true", SERVICE, "no ticket can be shown to it: "),
        (of_keytab(realm, "ghost"), SERVICE, "not found in Kerberos database"),
        (of_keytab(realm), "nobody", "not found in Kerberos database"),
        (of_keytab(realm), "other", "uthentication failed"),
    ):
        done = bench("OPEN", options, service=service)
        assert done.returncode == 1 and why in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
