"""Aplomb as a client: `aplomb bench` and `aplomb doctor slow` with a `--command-config`, against Aplomb and against Apache Kafka, by TLS
and by each mechanism; what is wrong is a sentence and an exit code; and servers that answer nothing, in drops, too much, or for another."""

import base64
import contextlib
import json
import socket
import struct
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from harness import broker as brokers
from harness import oauth, sasl, tokens, wire
from harness.certificates import PASSWORD, Authority, openssl

pytestmark = pytest.mark.aplomb
PROTOCOLS = {"OPEN": "SSL", "MUTUAL": "SSL", "OTHER": "SSL", "BARE": "SASL_PLAINTEXT", "SEALED": "SASL_SSL", "BRIEF": "SASL_SSL", "TOKENS": "SASL_SSL"}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
USERS = {"PLAIN": ("alice", "wonder,=land"), "SCRAM-SHA-256": ("carol=,", "rab,bit"), "SCRAM-SHA-512": ("dave", "bowman")}
KINDS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
UNSECURED = "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
# Logins are renewed after 85 to 95 % of this: what is left has to be longer than a request takes on a machine that has much to do.
RENEWED_MS = 10_000


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    authority.issue("broker", "/CN=localhost/O=Tests")
    authority.issue("client", "/CN=client/O=Tests")
    here = authority.directory
    # For another host: the name in it is not that of the address.
    authority.issue("other", "/CN=elsewhere/O=Tests")
    (here / "other.ext").write_text("subjectAltName=DNS:elsewhere.example\nbasicConstraints=CA:FALSE\n")
    openssl(
        "x509", "-req", "-in", "other.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile", "other.ext",
        "-out", "other.pem", cwd=here,
    )  # fmt: skip
    (here / "other.both.pem").write_text((here / "other.key").read_text() + (here / "other.pem").read_text())
    Authority(here, "stranger")
    # keytool takes its time.
    authority.trusts = {"PEM": authority.certificate, **{kind: authority.trust(kind) for kind in ("JKS", "PKCS12")}}
    authority.stores = {
        "PEM": dict(ssl_keystore_type="PEM", ssl_keystore_location=here / "client.both.pem"),
        "SEALED": dict(ssl_keystore_type="PEM", ssl_keystore_location=authority.under_password("client"), ssl_key_password=PASSWORD),
        "JKS": dict(ssl_keystore_type="JKS", ssl_keystore_location=authority.java("client", "JKS"), ssl_keystore_password=PASSWORD),
        "PKCS12": dict(ssl_keystore_type="PKCS12", ssl_keystore_location=authority.pkcs12("client"), ssl_keystore_password=PASSWORD),
    }
    return authority


def properties(authority):
    pairs = {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT," + ",".join(map(":".join, PROTOCOLS.items())),
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": authority.pkcs12("broker"),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": authority.trusts["PKCS12"],
        "ssl.truststore.password": PASSWORD,
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.other.ssl.keystore.type": "PKCS12",
        "listener.name.other.ssl.keystore.location": authority.pkcs12("other"),
        "listener.name.other.ssl.keystore.password": PASSWORD,
        "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.tokens.oauthbearer.sasl.server.callback.handler.class": UNSECURED,
        "listener.name.tokens.oauthbearer.sasl.jaas.config": f"{oauth.MODULE} required unsecuredLoginStringClaim_sub='broker';",
        "delegation.token.secret.key": "a secret of all brokers",
    }
    for name in ("bare", "sealed", "brief"):
        user, password = USERS["PLAIN"]
        pairs[f"listener.name.{name}.plain.sasl.jaas.config"] = f'{sasl.PLAIN_MODULE} required user_{user}="{password}";'
        for mechanism in MECHANISMS[1:]:
            pairs[f"listener.name.{name}.{mechanism.lower()}.sasl.jaas.config"] = f"{sasl.SCRAM_MODULE} required;"
            if name == "brief":
                pairs[f"listener.name.brief.{mechanism.lower()}.connections.max.reauth.ms"] = str(RENEWED_MS)
    return pairs


@pytest.fixture(scope="module", params=["aplomb", "kafka"])
def peer(request, authority, tmp_path_factory):
    peer = brokers.KINDS[request.param](tmp_path_factory.mktemp(request.param), properties(authority))
    peer.ports = dict(zip(PROTOCOLS, brokers.free_ports(len(PROTOCOLS)), strict=True))
    peer.properties["listeners"] += "".join(f",{name}://localhost:{port}" for name, port in peer.ports.items())
    peer.start()
    admin = AdminClient({"bootstrap.servers": peer.bootstrap})
    changes = [UserScramCredentialUpsertion(USERS[name][0], ScramCredentialInfo(kind, 4096), USERS[name][1].encode()) for name, kind in KINDS.items()]
    for future in admin.alter_user_scram_credentials(changes).values():
        future.result(30)
    # Coordinators are loaded.
    aplomb("bench", "produce", "-b", peer.bootstrap, "-t", "first", "--rate", 10, "-d", "1s", "--warm-up", "0s", "-q")
    yield peer
    died = not peer.alive()
    log = peer.log_tail()
    peer.close()
    assert not died, log


class Settings:
    """Writes a client's settings."""

    def __init__(self, authority, directory):
        self.authority, self.directory, self.count = authority, directory, 0

    def __call__(self, **pairs):
        self.count += 1
        file = self.directory / f"client-{self.count}.properties"
        lines = {key.replace("_", "."): value for key, value in pairs.items() if value is not None}
        file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        return file

    def tls(self, kind="PEM", **more):
        password = None if kind == "PEM" else PASSWORD
        trusted = dict(ssl_truststore_type=kind, ssl_truststore_location=self.authority.trusts[kind], ssl_truststore_password=password)
        return dict(security_protocol="SSL") | trusted | more

    def sasl(self, protocol, mechanism, user=None, password=None, more=""):
        known = USERS.get(mechanism, (None, None))
        user, password = user or known[0], password or known[1]
        module = sasl.PLAIN_MODULE if mechanism == "PLAIN" else sasl.SCRAM_MODULE
        line = f'{module} required username="{user}" password="{password}"{more};'
        tls = self.tls() if protocol == "SASL_SSL" else {}
        return tls | dict(security_protocol=protocol, sasl_mechanism=mechanism, sasl_jaas_config=line)

    def token(self, file):
        place = dict(sasl_login_callback_handler_class=HANDLER, sasl_oauthbearer_token_endpoint_url=f"file://{file}")
        return self.tls() | dict(security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", sasl_jaas_config=f"{oauth.MODULE} required;") | place


@pytest.fixture
def settings(authority, tmp_path):
    return Settings(authority, tmp_path)


def aplomb(*arguments, timeout=60):
    done = subprocess.run([brokers.binary(), *map(str, arguments)], capture_output=True, text=True, timeout=timeout)
    for secret in (PASSWORD, *(password for _, password in USERS.values()), "PRIVATE KEY", "eyJ"):
        assert secret not in done.stdout + done.stderr
    return done


def bench(port, file, *more, workload="produce", topic="outgoing", seconds=1, host="localhost"):
    load = ["--rate", 200, "-d", f"{seconds}s", "--warm-up", "0s", "--drain", "20s", "--partitions", 2] if workload != "group" else []
    return aplomb("bench", workload, "-b", f"{host}:{port}", "-t", topic, "-q", "--json", "-", "--command-config", file, *load, *more)


def comes_in(port, file, *more, **options):
    done = bench(port, file, *more, **options)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert (done.returncode, report["errors"]) == (0, {}), (report["errors"], report["totals"], report["rows"])
    return report


def is_kept_out(port, file, why, *more, **options):
    began = time.monotonic()
    done = bench(port, file, *more, **options)
    assert done.returncode == 1 and why in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and time.monotonic() - began < 15, done.stderr


@pytest.mark.parametrize("kind", ["PEM", "JKS", "PKCS12"])
def test_by_tls_with_each_form_of_a_trust_store(peer, settings, kind):
    report = comes_in(peer.ports["OPEN"], settings(**settings.tls(kind)), workload="end-to-end", topic=f"by-tls-{kind.lower()}")
    assert report["totals"]["acknowledged"] == report["totals"]["received"] == 200
    assert report["configuration"]["tls"] is True


@pytest.mark.parametrize("versions", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("kind", ["PEM", "SEALED", "JKS", "PKCS12"])
def test_with_a_certificate_from_each_form_of_a_key_store(peer, authority, settings, kind, versions):
    shown = authority.stores[kind] | dict(ssl_enabled_protocols=versions)
    comes_in(peer.ports["MUTUAL"], settings(**settings.tls(**shown)))


@pytest.mark.parametrize("listener", ["BARE", "SEALED"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_by_each_mechanism(peer, settings, mechanism, listener):
    file = settings(**settings.sasl(PROTOCOLS[listener], mechanism))
    report = comes_in(peer.ports[listener], file, workload="end-to-end", topic=f"by-{mechanism.lower()}-{listener.lower()}")
    assert report["configuration"]["sasl_mechanism"] == mechanism
    comes_in(peer.ports[listener], file, "--acks", "0")


@pytest.mark.parametrize("mechanism", MECHANISMS[1:])
def test_by_a_delegation_token(peer, settings, mechanism):
    with tokens.User(peer.ports["BARE"], *USERS["PLAIN"]) as alice:
        token = alice.create()
    hmac = base64.b64encode(token["Hmac"] if isinstance(token["Hmac"], bytes) else bytes.fromhex(token["Hmac"])).decode()
    holder = settings(**settings.sasl("SASL_SSL", mechanism, token["TokenId"], hmac, ' tokenauth="true"'))
    # Apache Kafka answers before its listeners know the token.
    until = time.monotonic() + 20
    while "invalid credentials" in bench(peer.ports["SEALED"], holder).stderr and time.monotonic() < until:
        time.sleep(0.5)
    comes_in(peer.ports["SEALED"], holder)
    without = settings.sasl("SASL_SSL", mechanism, token["TokenId"], hmac)
    is_kept_out(peer.ports["SEALED"], settings(**without), "has failed: Authentication failed during authentication due to invalid credentials")


def test_groups_come_in(peer, settings):
    file = settings(**settings.sasl("SASL_SSL", "SCRAM-SHA-512"))
    quick = ["--groups", 2, "--members", 2, "--warm-up", "0s", "--duration", "3s", "--heartbeat-interval", "200ms", "--commit-interval", "200ms"]
    done = bench(peer.ports["SEALED"], file, *quick, workload="group", topic="of-groups")
    assert done.returncode == 0, done.stdout + done.stderr


def token(sub, lasts):
    now = time.time()
    return oauth.unsecured({"sub": sub, "iat": now - 1, "exp": now + lasts})


def test_by_a_token_that_is_in_a_file(peer, settings, tmp_path):
    file = tmp_path / "token"
    file.write_text(token("app", 300) + "\n")
    comes_in(peer.ports["TOKENS"], settings(**settings.token(file)))
    file.write_text(token("app", -300))
    is_kept_out(peer.ports["TOKENS"], settings(**settings.token(file)), "the token was refused: {\"status\":\"invalid_token\"}")
    file.write_text("no token, but words")
    is_kept_out(peer.ports["TOKENS"], settings(**settings.token(file)), "there is no token in it")


def test_a_login_is_renewed_before_it_is_over(peer, settings):
    file = settings(**settings.sasl("SASL_SSL", "SCRAM-SHA-256"))
    report = comes_in(peer.ports["BRIEF"], file, workload="end-to-end", seconds=2.2 * RENEWED_MS / 1000, topic="brief")
    assert report["totals"]["acknowledged"] == report["totals"]["received"] == 2.2 * RENEWED_MS / 5


def test_a_token_is_read_anew_when_its_file_has_changed(peer, settings, tmp_path):
    file, next_file = tmp_path / "token", tmp_path / "next"
    file.write_text(token("app", 15))

    def replace():
        time.sleep(2)
        next_file.write_text(token("app", 300))
        next_file.rename(file)

    thread = threading.Thread(target=replace)
    thread.start()
    comes_in(peer.ports["TOKENS"], settings(**settings.token(file)), seconds=20)
    thread.join()


def test_a_wrong_secret_is_a_sentence(peer, settings):
    for mechanism in MECHANISMS:
        wrong = settings(**settings.sasl("SASL_SSL", mechanism, password="not-it-at-all"))
        why = "Authentication failed: Invalid username or password" if mechanism == "PLAIN" else f"invalid credentials with SASL mechanism {mechanism}"
        is_kept_out(peer.ports["SEALED"], wrong, why)
    nobody = settings(**settings.sasl("SASL_PLAINTEXT", "SCRAM-SHA-512", user="nobody"))
    is_kept_out(peer.ports["BARE"], nobody, f"the login at the broker at localhost:{peer.ports['BARE']} has failed: ")
    other = settings(**settings.sasl("SASL_SSL", "PLAIN"))
    is_kept_out(peer.ports["TOKENS"], other, "it does not take PLAIN (sasl.mechanism), but OAUTHBEARER")


def test_a_certificate_that_is_not_to_be_trusted_is_a_sentence(peer, authority, settings):
    stranger = settings(**settings.tls(ssl_truststore_location=authority.directory / "stranger.pem"))
    is_kept_out(peer.ports["OPEN"], stranger, "its certificate is not signed by an authority that is trusted (ssl.truststore.location)")
    is_kept_out(peer.ports["OTHER"], settings(**settings.tls()), "its certificate is not for localhost, but for ")
    lax = settings.tls() | {"ssl_endpoint_identification_algorithm": ""}
    comes_in(peer.ports["OTHER"], settings(**lax))
    is_kept_out(peer.ports["MUTUAL"], settings(**settings.tls()), "(ssl.keystore.location)")
    system = settings(security_protocol="SSL")
    is_kept_out(peer.ports["OPEN"], system, "")


def test_what_does_not_speak_as_it_is_asked_is_a_sentence(peer, settings):
    is_kept_out(peer.ports["BARE"], settings(**settings.tls()), "", "--request-timeout", "5s")
    is_kept_out(peer.ports["OPEN"], settings(security_protocol="PLAINTEXT"), "", "--request-timeout", "5s")


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        (dict(security_protocol="TLS"), "line 1: security.protocol=TLS cannot be used: accepted is PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (dict(security_protcol="SSL"), "security.protcol: there is no such key"),
        (dict(security_protocol="SSL", ssl_truststore_location="/nowhere.p12"), "/nowhere.p12 (ssl.truststore.location) cannot be read"),
        (dict(security_protocol="SASL_SSL", sasl_mechanism="GSSAPI"), "accepted is a line for GSSAPI"),
        (dict(security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN", sasl_jaas_config=f"{sasl.PLAIN_MODULE} required password=hush"), "semicolon"),
    ],
)
def test_settings_that_cannot_be_used_are_a_sentence_before_anything_is_sent(settings, pairs, why):
    done = bench(1, settings(**pairs))
    assert done.returncode == 1 and why in done.stderr and "hush" not in done.stderr, done.stderr


@contextlib.contextmanager
def server(serve):
    """Takes connections, each by a thread of its own."""
    heard, threads = [], []

    def accept():
        with contextlib.suppress(OSError):
            while True:
                there, _ = listener.accept()
                threads.append(threading.Thread(target=one, args=(there,), daemon=True))
                threads[-1].start()

    def over():
        """What was heard, when all connections have ended."""
        for thread in threads:
            thread.join(20)
        return heard

    def one(there):
        with there, contextlib.suppress(OSError):
            there.settimeout(20)
            serve(there, heard)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield SimpleNamespace(port=listener.getsockname()[1], over=over)


def request(there, heard):
    """One request, as a server reads it: its number and what follows the client's name."""
    head = there.recv(4, socket.MSG_WAITALL)
    body = there.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL)
    heard.append(body)
    name = struct.unpack(">h", body[8:10])[0]
    return body[4:8], body[10 + name :]


def taken(there, heard, mechanism):
    number, _ = request(there, heard)
    there.sendall(wire.frame(number + struct.pack(">hi", 0, 1) + wire.string(mechanism)))


def said(there, number, text):
    there.sendall(wire.frame(number + struct.pack(">hhi", 0, -1, len(text)) + text + struct.pack(">q", 0)))


def silent(there, heard):
    there.recv(1 << 16)
    time.sleep(20)


def dribbling(there, heard):
    there.recv(1 << 16)
    there.sendall(struct.pack(">i", 60_000))
    for _ in range(200):
        there.sendall(b"x")
        time.sleep(0.1)


def huge(there, heard):
    there.recv(1 << 16)
    there.sendall(struct.pack(">i", (1 << 31) - 1) + b"x" * 1000)
    time.sleep(5)


def endless(there, heard):
    there.recv(1 << 16)
    while True:
        there.sendall(b"\x17\x03\x03\x40\x00" + b"x" * 0x4000)


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("serve", [silent, dribbling, huge, endless])
def test_a_server_that_wastes_time_or_memory_gets_little_of_both(settings, protocol, serve):
    pairs = settings.tls() if "SSL" in protocol else {}
    if "SASL" in protocol:
        pairs = settings.sasl(protocol, "SCRAM-SHA-256")
    with server(serve) as listener:
        began = time.monotonic()
        done = bench(listener.port, settings(**(pairs | {"security_protocol": protocol})), "--request-timeout", "2s", host="127.0.0.1")
        assert done.returncode == 1 and time.monotonic() - began < 8, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        if serve is silent:
            assert "it has not answered within 2s" in done.stderr


def test_a_huge_answer_in_a_login_is_refused_by_its_length(settings):
    with server(huge) as listener:
        file = settings(**settings.sasl("SASL_PLAINTEXT", "PLAIN"))
        is_kept_out(listener.port, file, "a frame of 2147483647 bytes was announced; the limit is 65536", host="127.0.0.1")


def test_a_server_that_offers_less_does_not_get_the_password(settings):
    def serve(there, heard):
        number, _ = request(there, heard)
        there.sendall(wire.frame(number + struct.pack(">hi", 33, 1) + wire.string("PLAIN")))
        heard.append(there.recv(1 << 16))

    with server(serve) as listener:
        file = settings(**settings.sasl("SASL_PLAINTEXT", "SCRAM-SHA-256"))
        is_kept_out(listener.port, file, "it does not take SCRAM-SHA-256 (sasl.mechanism), but PLAIN", host="127.0.0.1")
        asked, rest = listener.over()
        assert rest == b"" and USERS["SCRAM-SHA-256"][1].encode() not in asked


@pytest.mark.parametrize(
    ("challenge", "final", "why"),
    [
        ("r={nonce}more,s=c2FsdA==,i=4096", "v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "it does not know the password itself"),
        ("r={nonce}more,s=c2FsdA==,i=4096", "", "the final message of its SCRAM is not one"),
        ("r={nonce}more,s=c2FsdA==,i=4096", "e=other-error", "has failed: other-error"),
        ("r=another,s=c2FsdA==,i=4096", None, "its nonce does not go on from ours"),
        ("r={nonce},s=c2FsdA==,i=4096", None, "its nonce does not go on from ours"),
        ("r={nonce}more,s=c2FsdA==,i=1", None, "it wants 1 iterations of SCRAM; from 4096 to 262144 are done"),
        ("r={nonce}more,s=c2FsdA==,i=2000000000", None, "it wants 2000000000 iterations of SCRAM"),
        ("m=ext,r={nonce}more,s=c2FsdA==,i=4096", None, "the first message of its SCRAM is not one"),
    ],
)
def test_a_server_that_passes_for_the_broker_is_found_out(settings, challenge, final, why):
    def serve(there, heard):
        taken(there, heard, "SCRAM-SHA-256")
        number, body = request(there, heard)
        nonce = body[4:].decode().split("r=")[1]
        said(there, number, challenge.format(nonce=nonce).encode())
        if final is not None:
            number, _ = request(there, heard)
            said(there, number, final.encode())
        heard.append(there.recv(1 << 16))

    with server(serve) as listener:
        file = settings(**settings.sasl("SASL_PLAINTEXT", "SCRAM-SHA-256"))
        is_kept_out(listener.port, file, why, host="127.0.0.1")
        assert listener.over()[-1] == b"", "nothing is said to it any more"


@pytest.fixture(scope="module")
def pages(authority, tmp_path_factory):
    """An Aplomb whose pages ask for a certificate and a password."""
    port = brokers.free_ports(1)[0]
    ssl_ = "aplomb.metrics.ssl"
    settings = {
        "aplomb.metrics.listener": f"127.0.0.1:{port}",
        "aplomb.metrics.user": USERS["PLAIN"][0],
        "aplomb.metrics.password": USERS["PLAIN"][1],
        f"{ssl_}.keystore.type": "PEM",
        f"{ssl_}.keystore.location": authority.directory / "broker.both.pem",
        f"{ssl_}.truststore.type": "PEM",
        f"{ssl_}.truststore.location": authority.certificate,
        f"{ssl_}.client.auth": "required",
    }
    broker = brokers.KINDS["aplomb"](tmp_path_factory.mktemp("pages"), settings).start()
    broker.pages = f"localhost:{port}"
    yield broker
    broker.close()


def test_the_doctor_asks_for_slow_requests_by_https_with_a_password_and_a_certificate(pages, authority, settings):
    doctor = lambda *more: aplomb("doctor", "slow", "--address", pages.pages, *more)
    shown = authority.stores["PEM"]
    right = settings.sasl("SASL_SSL", "PLAIN") | shown
    done = doctor("--command-config", settings(**right), "--format", "json")
    assert done.returncode == 0 and "requests" in json.loads(done.stdout), done.stderr
    assert doctor("--command-config", settings(**right)).stdout.startswith("no slow requests")
    for wrong, why in [
        (settings.sasl("SASL_SSL", "PLAIN", password="not-it-at-all") | shown, "wants another name and password (aplomb.metrics.user)"),
        (settings.tls(**shown), "wants another name and password (aplomb.metrics.user)"),
        (settings.sasl("SASL_SSL", "PLAIN"), "(ssl.keystore.location)"),
        (right | dict(ssl_truststore_location=authority.directory / "stranger.pem"), "(ssl.truststore.location)"),
        (settings.sasl("SASL_SSL", "SCRAM-SHA-256") | shown, "those of PLAIN"),
    ]:
        done = doctor("--command-config", settings(**wrong))
        assert done.returncode == 1 and why in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    done = doctor()
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
