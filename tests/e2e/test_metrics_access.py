"""Who may look at the pages: by HTTPS, with a password, with a certificate; and what a broker says at start that shows them to everyone."""

import base64
import contextlib
import http.client
import shutil
import socket
import ssl
import time
import urllib.error
import urllib.request

import pytest
from harness import broker as brokers
from harness.certificates import PASSWORD, Authority

pytestmark = pytest.mark.aplomb
LOGIN = {"aplomb.metrics.user": "prom", "aplomb.metrics.password": "only:looking"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    authority.issue("pages", "/CN=localhost/O=Pages")
    authority.issue("other", "/CN=localhost/O=Other")
    authority.issue("visitor", "/CN=prometheus/O=Tests")
    return authority


def key(authority, name="pages", kind="PEM"):
    ssl_ = "aplomb.metrics.ssl"
    if kind == "PEM":
        return {f"{ssl_}.keystore.type": "PEM", f"{ssl_}.keystore.location": authority.directory / f"{name}.both.pem"}
    store = authority.java(name, kind)
    return {f"{ssl_}.keystore.type": kind, f"{ssl_}.keystore.location": store, f"{ssl_}.keystore.password": PASSWORD}


@contextlib.contextmanager
def started(directory, properties, host="127.0.0.1"):
    broker = brokers.under_test()(directory, properties)
    broker.pages_port = brokers.free_ports(1)[0]
    broker.properties["aplomb.metrics.listener"] = f"{host}:{broker.pages_port}"
    broker.start()
    broker.said = lambda: broker.log_file.read_text(errors="replace")
    try:
        yield broker
    finally:
        broker.close()
    log = broker.said()
    assert "only:looking" not in log and PASSWORD not in log


def get(broker, path, scheme="https", context=None, login=None):
    request = urllib.request.Request(f"{scheme}://localhost:{broker.pages_port}{path}")
    if login:
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("WWW-Authenticate", "")


def trusting(authority, *shown):
    context = ssl.create_default_context(cafile=authority.certificate)
    if shown:
        context.load_cert_chain(*shown)
    return context


@pytest.mark.parametrize("kind", ["PEM", "JKS", "PKCS12"])
def test_the_pages_are_shown_by_https_to_who_knows_the_password(authority, tmp_path, kind):
    with started(tmp_path, key(authority, kind=kind) | LOGIN) as broker:
        context = trusting(authority)
        for path in ("/metrics", "/", "/slow", "/console/data", "/nothing"):
            for login in (None, "prom:", "prom:only:lookin", "prom:only:looking ", "x:only:looking"):
                status, asks = get(broker, path, context=context, login=login)
                assert (status, asks) == (401, 'Basic realm="aplomb", charset="UTF-8"'), (path, login)
        status, page = get(broker, "/metrics", context=context, login="prom:only:looking")
        assert status == 200 and "kafka_server_kafkaserver_brokerstate 3" in page
        assert "</html>" in get(broker, "/", context=context, login="prom:only:looking")[1]
        assert get(broker, "/readyz", context=context) == (200, "ready\n")
        assert f"numbers are at https://127.0.0.1:{broker.pages_port}/metrics" in broker.said()
        assert "open to everyone" not in broker.said()
        with pytest.raises((OSError, http.client.HTTPException)):
            get(broker, "/readyz", scheme="http")
        with pytest.raises(OSError):
            get(broker, "/readyz", context=ssl.create_default_context())


def test_the_pages_are_shown_to_who_has_a_certificate(authority, tmp_path):
    here, ssl_ = authority.directory, "aplomb.metrics.ssl"
    trust = {f"{ssl_}.truststore.type": "PEM", f"{ssl_}.truststore.location": authority.certificate, f"{ssl_}.client.auth": "required"}
    stranger = Authority(tmp_path, "strangers")
    stranger.issue("forged", "/CN=prometheus/O=Tests")
    with started(tmp_path / "broker", key(authority) | trust, host="0.0.0.0") as broker:
        context = trusting(authority, here / "visitor.pem", here / "visitor.key")
        assert get(broker, "/metrics", context=context)[0] == 200
        for context in (trusting(authority), trusting(authority, tmp_path / "forged.pem", tmp_path / "forged.key")):
            with pytest.raises(OSError):
                get(broker, "/readyz", context=context)
        assert "open to everyone" not in broker.said()


def test_a_new_certificate_is_shown_without_a_restart(authority, tmp_path):
    live = authority.directory / "live.both.pem"
    shutil.copy(authority.directory / "pages.both.pem", live)
    with started(tmp_path, key(authority, "live")) as broker:

        def organisation():
            with socket.create_connection(("localhost", broker.pages_port), 10) as raw:
                with trusting(authority).wrap_socket(raw, server_hostname="localhost") as secured:
                    return dict(pair for part in secured.getpeercert()["subject"] for pair in part)["organizationName"]

        assert organisation() == "Pages"
        fresh = authority.directory / "fresh.pem"
        shutil.copy(authority.directory / "other.both.pem", fresh)
        fresh.rename(live)
        until = time.monotonic() + 20
        while organisation() != "Other":
            assert time.monotonic() < until
            time.sleep(0.2)


def test_half_handshakes_and_slow_hellos_are_not_noticed_by_a_visitor(authority, tmp_path):
    with started(tmp_path, key(authority)) as broker:
        context = trusting(authority)
        half = []
        for _ in range(300):
            raw = socket.create_connection(("127.0.0.1", broker.pages_port), 10)
            raw.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            half.append(raw)
        for _ in range(5):
            assert get(broker, "/readyz", context=context) == (200, "ready\n")
        # Each has two seconds to ask.
        half[-1].settimeout(10)
        assert half[-1].recv(1) == b""
        for raw in half:
            raw.close()


@pytest.mark.parametrize(
    ("properties", "host", "says"),
    [
        ({}, "127.0.0.1", None),
        ({}, "0.0.0.0", "are open to everyone who reaches 0.0.0.0:"),
        (LOGIN, "0.0.0.0", "passwords travel to 0.0.0.0:"),
        (LOGIN, "127.0.0.1", None),
    ],
)
def test_a_broker_that_shows_itself_to_everyone_says_so(tmp_path, properties, host, says):
    with started(tmp_path, properties, host) as broker:
        assert get(broker, "/metrics", scheme="http", login="prom:only:looking")[0] == 200
        warnings = [line for line in broker.said().splitlines() if "WARN" in line and ("open to everyone" in line or "passwords travel" in line)]
        assert len(warnings) == (1 if says else 0) and all(says in line for line in warnings), warnings
