"""Thousands who never say who they are: half a hello, a byte a second, half a message of SASL. Memory stays bounded, and who belongs
notices nothing. APLOMB_STRANGERS says how many; the step "full" of tests/run.sh has ten thousand."""

import contextlib
import os
import resource
import select
import socket
import ssl
import struct
import time

import pytest
from harness import broker as brokers
from harness import sasl, wire
from harness.certificates import PASSWORD, Authority
from harness.sasl import CLOSED, Conversation, authenticate, authenticated, handshake

pytestmark = pytest.mark.aplomb
COUNT = int(os.environ.get("APLOMB_STRANGERS", "2500"))
# Of what each of them holds there is room for some.
FRAMES = COUNT * (10 << 10)
# A quarter of the memory for frames, twice at the most, and what the allocator and the kernel's tables have of it.
MOST = (64 << 20) + FRAMES // 2 + COUNT * (8 << 10)
HELLO = b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03" + bytes(12_000)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    authority.issue("broker", "/CN=localhost/O=Tests")
    return authority


@pytest.fixture
def broker(authority, tmp_path):
    properties = {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL,BARE:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.tls.ssl.keystore.type": "PEM",
        "listener.name.tls.ssl.keystore.location": authority.directory / "broker.both.pem",
        "listener.name.bare.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.bare.plain.sasl.jaas.config": f'{sasl.PLAIN_MODULE} required user_alice="{PASSWORD}";',
        "aplomb.frames.max.bytes": FRAMES,
        "socket.request.max.bytes": FRAMES,
        "aplomb.authentication.timeout.ms": "60000",
    }
    broker = brokers.under_test()(tmp_path, properties)
    broker.ports = dict(zip(("TLS", "BARE"), brokers.free_ports(2), strict=True))
    broker.properties["listeners"] += "".join(f",{name}://127.0.0.1:{port}" for name, port in broker.ports.items())
    broker.start()
    yield broker
    died = not broker.alive()
    broker.close()
    assert not died, broker.log_file.read_text(errors="replace")


def lots_of_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < COUNT + 2000:
        pytest.skip(f"{hard} descriptors are all that a process may have here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


# Who they are: the listener, what they send at once, and what some of them send each second after that.
KINDS = {
    "half-hellos": ("TLS", HELLO, b""),
    "slow-hellos": ("TLS", HELLO[:11], b"\x00"),
    "silent": ("TLS", b"", b""),
    "announced": ("BARE", struct.pack(">i", 512 << 10), b""),
    "half-messages": ("BARE", struct.pack(">i", 512 << 10) + bytes(30_000), b"\x00"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_strangers_cost_a_bounded_amount(broker, authority, kind):
    lots_of_descriptors()
    listener, first, then = KINDS[kind]
    context = ssl.create_default_context(cafile=authority.certificate)
    before = broker.resident_bytes()
    grown, slowest = 0, 0
    with Conversation(broker.port) as inside, contextlib.ExitStack() as theirs:

        def look():
            nonlocal grown, slowest
            began = time.monotonic()
            assert inside.ask(wire.metadata([])) is not CLOSED
            slowest = max(slowest, time.monotonic() - began)
            grown = max(grown, broker.resident_bytes() - before)

        def newcomers():
            with Conversation(broker.ports["TLS"], lambda raw: context.wrap_socket(raw, server_hostname="localhost")) as there:
                assert there.ask(wire.metadata([])) is not CLOSED
            with Conversation(broker.ports["BARE"]) as there:
                assert there.log_in("alice", PASSWORD)[0] == 0

        strangers = []
        for n in range(COUNT):
            raw = theirs.enter_context(socket.create_connection(("127.0.0.1", broker.ports[listener]), timeout=20))
            raw.setblocking(False)
            with contextlib.suppress(OSError):
                raw.send(first)
            strangers.append(raw)
            if n % 250 == 0:
                look()
                newcomers()
        until = time.monotonic() + 4
        while time.monotonic() < until:
            for raw in strangers if then else ():
                with contextlib.suppress(OSError):
                    raw.send(then)
            look()
            newcomers()
            time.sleep(0.5)
        poll = select.poll()
        for raw in strangers:
            poll.register(raw, select.POLLRDHUP | select.POLLIN)
        closed = len(poll.poll(0))
    print(f"{kind}: {grown >> 20} MiB more, slowest answer {slowest * 1000:.0f} ms, {closed} of {COUNT} closed")
    assert grown < MOST
    assert closed > COUNT // 4, "those that hold what is bounded had to go"
    assert "memory for those that have not is used up" in broker.log_file.read_text(errors="replace")


def test_one_who_is_slow_is_left_alone_while_there_is_room(broker):
    """A byte at a time, and in at last."""
    frame = wire.frame(handshake("PLAIN"))
    with Conversation(broker.ports["BARE"]) as there:
        for n in range(len(frame)):
            there.socket.sendall(frame[n : n + 1])
            time.sleep(0.05)
        assert there.answer() is not CLOSED
        assert authenticated(there.ask(authenticate(sasl.plain("alice", PASSWORD))))[0] == 0
