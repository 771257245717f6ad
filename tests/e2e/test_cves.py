"""Faults that brokers have had, and that no other test here is about: docs/operating/security-cves.md says where the others are."""

import ssl

import pytest
from differential import access, answers, questions
from harness import broker as brokers
from harness import wire
from harness.certificates import PASSWORD, Authority
from harness.sasl import CLOSED, Conversation

HOST = "127.9.9.7"


@pytest.fixture
def guarded(start_broker):
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:root",
        "allow.everyone.if.no.acl.found": "true",
    }
    return start_broker(properties=properties)


def test_a_fetch_of_a_replica_needs_more_than_a_consumers(guarded):
    """CVE-2018-1288: a consumer that says that it is a replica is asked for ClusterAction, which reading a topic does not give."""
    admin, client = answers.Broker(guarded), answers.Broker(guarded, HOST)
    mine = [access.creation("CLUSTER", access.CLUSTER, "ALL", "127.0.0.1", principal="User:ANONYMOUS")]
    theirs = [access.creation("TOPIC", "read", "READ", HOST), access.creation("TOPIC", "read", "ALL", "127.0.0.1")]
    admin.ask(questions.create("read"))
    admin.ask(questions.Question("CreateAcls", 3, "before", {"Creations": mine + theirs}))
    partition = {"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1 << 20, "CurrentLeaderEpoch": -1}
    fetch = {"MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20, "Topics": [{"Topic": "read", "Partitions": [partition]}]}

    def error(replica):
        told = client.ask(questions.Question("Fetch", 11, "as it is", {"ReplicaId": replica, **fetch}))
        return told["Responses"][0]["Partitions"][0]["ErrorCode"]

    assert (error(-1), error(1), error(7)) == (0, 29, 29)
    for each in (admin, client):
        each.close()


def test_only_the_trust_store_vouches_for_clients(tmp_path):
    """Strimzi's CVE-2026-27133 and CVE-2026-27134: who signed the broker's own certificate is not who clients are believed by."""
    brokers_ca, clients_ca = Authority(tmp_path, "brokers-ca"), Authority(tmp_path, "clients-ca")
    brokers_ca.issue("broker", "/CN=localhost/O=Tests")
    brokers_ca.issue("stranger", "/CN=stranger/O=Tests")
    clients_ca.issue("client", "/CN=client/O=Tests")
    properties = {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        "ssl.keystore.type": "PKCS12",
        # With its authority behind it.
        "ssl.keystore.location": brokers_ca.java("broker", "PKCS12"),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": clients_ca.certificate,
        "ssl.client.auth": "required",
    }
    broker = brokers.under_test()(tmp_path / "broker", properties)
    port = brokers.free_ports(1)[0]
    broker.properties["listeners"] += f",TLS://127.0.0.1:{port}"
    broker.start()

    def asks(name):
        context = ssl.create_default_context(cafile=brokers_ca.certificate)
        context.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
        try:
            with Conversation(port, lambda raw: context.wrap_socket(raw, server_hostname="localhost")) as there:
                return there.ask(wire.api_versions(0)) is not CLOSED
        except ssl.SSLError:
            return False

    try:
        assert asks("client")
        assert not asks("stranger")
    finally:
        broker.close()
