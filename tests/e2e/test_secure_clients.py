"""Other clients than Java and librdkafka by TLS and SASL: each library, each mechanism, in plain text and in TLS, with a certificate and
without; what is wrong is an error that they show. And what openssl and scanners say of a listener with TLS."""

import json
import os
import shutil
import subprocess
import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from harness import broker as brokers
from harness import oauth, sasl
from harness.certificates import PASSWORD, Authority
from harness.oauth import Issuer
from harness.secure_clients import COMMANDS, EVERYTHING, run

NAMES = ("OPEN", "MUTUAL", "BARE", "SEALED", "TOKEN", "TOKENS")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
USERS = {"PLAIN": ("alice", "wonder,=land"), "SCRAM-SHA-256": ("carol=,", "rab,bit"), "SCRAM-SHA-512": ("dave", "bowman")}
# kafka-python sends names as they are, and commas end them.
PLAIN_NAME = ("kafka-python", "SCRAM-SHA-256")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    authority.issue("broker", "/CN=localhost/O=Tests")
    authority.issue("client", "/CN=client/O=Tests")
    return authority


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    issuer = Issuer(tmp_path_factory.mktemp("issuer"))
    issuer.key("es256", "ES256")
    # A JVM fetches nothing that is not named so.
    os.environ["JAVA_TOOL_OPTIONS"] = f"-D{oauth.ALLOWED}={issuer.keys_url}"
    yield issuer
    del os.environ["JAVA_TOOL_OPTIONS"]
    issuer.close()


@pytest.fixture(scope="module")
def broker(authority, issuer, tmp_path_factory):
    protocols = zip(NAMES, ("SSL", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "SASL_PLAINTEXT", "SASL_SSL"), strict=True)
    properties = {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT," + ",".join(map(":".join, protocols)),
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": authority.java("broker", "PKCS12"),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": authority.trust("PKCS12"),
        "ssl.truststore.password": PASSWORD,
        "listener.name.mutual.ssl.client.auth": "required",
        **issuer.properties("token"),
        **issuer.properties("tokens"),
    }
    for name in ("bare", "sealed"):
        prefix = f"listener.name.{name}"
        user, password = USERS["PLAIN"]
        properties[f"{prefix}.plain.sasl.jaas.config"] = f'{sasl.PLAIN_MODULE} required user_{user}="{password}";'
        for mechanism in MECHANISMS[1:]:
            properties[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = f"{sasl.SCRAM_MODULE} required;"
    broker = brokers.KINDS[brokers.under_test().kind](tmp_path_factory.mktemp("secure"), properties)
    broker.ports = dict(zip(NAMES, brokers.free_ports(len(NAMES)), strict=True))
    broker.properties["listeners"] += "".join(f",{name}://localhost:{port}" for name, port in broker.ports.items())
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    kinds = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
    changes = [
        UserScramCredentialUpsertion(USERS[name][0], ScramCredentialInfo(kind, 4096), USERS[name][1].encode()) for name, kind in kinds.items()
    ]
    changes.append(UserScramCredentialUpsertion("carol", ScramCredentialInfo(kinds[PLAIN_NAME[1]], 4096), b"rab,bit"))
    for future in admin.alter_user_scram_credentials(changes).values():
        future.result(30)
    broker.admin = admin
    yield broker
    died = not broker.alive()
    log = broker.log_file.read_text(errors="replace")
    broker.close()
    assert not died, log
    assert not any(password in log for _, password in USERS.values())


def created(broker, *parts):
    topic = "-".join(parts).lower()
    for future in broker.admin.create_topics([NewTopic(topic, 1, 1)]).values():
        future.result(30)
    return topic


@pytest.mark.parametrize("listener", ["OPEN", "MUTUAL"])
@pytest.mark.parametrize("library", COMMANDS)
def test_a_client_comes_in_by_tls(broker, authority, library, listener):
    here = authority.directory
    shown = {"cert": here / "client.pem", "key": here / "client.key"} if listener == "MUTUAL" else {}
    assert run(broker, library, listener, created(broker, library, listener), ca=authority.certificate, **shown) == EVERYTHING


@pytest.mark.parametrize("listener", ["BARE", "SEALED"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("library", COMMANDS)
def test_a_client_comes_in_by_sasl(broker, authority, library, mechanism, listener):
    user, password = USERS[mechanism]
    user = "carol" if (library, mechanism) == PLAIN_NAME else user
    ca = authority.certificate if listener == "SEALED" else None
    topic = created(broker, library, mechanism, listener)
    assert run(broker, library, listener, topic, ca=ca, mechanism=mechanism, user=user, password=password) == EVERYTHING


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("library", COMMANDS)
def test_a_wrong_password_is_an_error_that_the_client_shows(broker, library, mechanism):
    topic = created(broker, "wrong", library, mechanism)
    told = run(broker, library, "BARE", topic, mechanism=mechanism, user=USERS[mechanism][0], password="wrong")
    assert "error" in told, told


@pytest.mark.parametrize("listener", ["TOKEN", "TOKENS"])
@pytest.mark.parametrize("library", COMMANDS)
def test_a_client_comes_in_by_a_token_of_an_issuer(broker, authority, issuer, library, listener):
    ca = authority.certificate if listener == "TOKENS" else None
    topic = created(broker, library, listener)
    assert run(broker, library, listener, topic, ca=ca, mechanism="OAUTHBEARER", token=issuer.token()) == EVERYTHING


@pytest.mark.parametrize("library", COMMANDS)
def test_a_token_that_has_expired_is_an_error_that_the_client_shows(broker, issuer, library):
    now = int(time.time())
    token = issuer.token(iat=now - 600, exp=now - 300)
    told = run(broker, library, "TOKEN", created(broker, "expired", library), mechanism="OAUTHBEARER", token=token)
    assert "error" in told, told


@pytest.mark.parametrize("library", COMMANDS)
def test_who_shows_no_certificate_where_one_is_asked_for_does_not_get_in(broker, authority, library):
    assert "error" in run(broker, library, "MUTUAL", created(broker, "bare", library), ca=authority.certificate)


def openssl(broker, *arguments, listener="OPEN"):
    at = f"localhost:{broker.ports[listener]}"
    done = subprocess.run(["openssl", "s_client", "-connect", at, *arguments], input="", capture_output=True, text=True, timeout=30)
    return done.stdout + done.stderr


def test_openssl_shakes_hands(broker, authority):
    for version in ("-tls1_2", "-tls1_3"):
        said = openssl(broker, version, "-CAfile", authority.certificate, "-verify_hostname", "localhost", "-verify_return_error")
        assert "Verify return code: 0 (ok)" in said, said
        assert "Compression: NONE" in said or "Compression: " not in said
    assert "Secure Renegotiation IS supported" in openssl(broker, "-tls1_2")


@pytest.mark.aplomb
def test_openssl_finds_nothing_old(broker):
    """Apache Kafka still takes CBC suites in TLS 1.2."""
    for arguments in (
        ["-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"],
        ["-tls1", "-cipher", "DEFAULT:@SECLEVEL=0"],
        ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA"],
        ["-tls1_2", "-cipher", "kRSA:DHE:PSK:aNULL:eNULL:@SECLEVEL=0"],
    ):
        said = openssl(broker, *arguments)
        assert "Cipher is (NONE)" in said or "no peer certificate available" in said, said


@pytest.mark.aplomb
@pytest.mark.slow
def test_a_scanner_finds_nothing(broker, authority, tmp_path):
    """What it says of the certificate is about the tests' own authority."""
    scanner = shutil.which("testssl") or shutil.which("testssl.sh")
    if scanner is None:
        pytest.skip("testssl.sh is not installed (Debian: testssl.sh)")
    report = tmp_path / "report.json"
    options = ["--quiet", "--color=0", "--warnings=off", "--fast", "-p", "-s", "-f", "-U", "--jsonfile", report]
    subprocess.run(
        [scanner, *map(str, options), f"localhost:{broker.ports['OPEN']}"], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL
    )
    findings = json.loads(report.read_text())
    assert len(findings) > 20, findings
    # DEBUG and WARN are about what it could not try.
    found = [f"{one['id']}: {one['severity']} {one['finding']}" for one in findings if one["severity"] in ("LOW", "MEDIUM", "HIGH", "CRITICAL", "FATAL")]
    assert not found, found
