"""How many connections one listener may have, and how fast they come: `listener.name.X.max.connections` and `…max.connection.creation.rate`,
from the file and changed at run time, on both brokers."""

import signal
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from harness import broker as brokers
from harness import wire
from harness.clients import Admin

PROPERTIES = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PUBLIC:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.name.public.max.connections": "2",
}
AT_ONCE, AFTER_A_WHILE = 0.5, 20


@pytest.fixture(scope="module", params=["aplomb", "kafka"])
def broker(request, tmp_path_factory):
    broker = brokers.KINDS[request.param](tmp_path_factory.mktemp("listeners"), PROPERTIES)
    [broker.public_port] = brokers.free_ports(1)
    broker.properties["listeners"] += f",PUBLIC://127.0.0.1:{broker.public_port}"
    broker.start()
    yield broker
    broker.close()


def opened(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(wire.frame(wire.api_versions(0)))
    return connection


def is_served(connection, within):
    connection.settimeout(within)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return False


def change(admin, **settings):
    changes = [[f"listener.name.public.{name.replace('_', '.')}", "DELETE" if value is None else "SET", value] for name, value in settings.items()]
    admin.call("alter-configs", type="BROKER", name="1", changes=changes)


def test_a_listener_has_as_many_connections_as_it_may_and_others_do_not_notice(broker, java):
    two = [opened(broker.public_port) for _ in range(2)]
    assert all(is_served(connection, AFTER_A_WHILE) for connection in two)
    third = opened(broker.public_port)
    assert not is_served(third, AT_ONCE)
    with wire.Connection(broker.port) as other:
        other.ask(wire.api_versions(0))
    two.pop().close()
    assert is_served(third, AFTER_A_WHILE)

    fourth = opened(broker.public_port)
    assert not is_served(fourth, AT_ONCE)
    change(Admin(java, broker), max_connections="10")
    assert is_served(fourth, AFTER_A_WHILE)
    for connection in (*two, third, fourth):
        connection.close()
    change(Admin(java, broker), max_connections=None)


def test_a_listener_takes_them_as_fast_as_it_may_and_others_do_not_notice(broker, java):
    admin = Admin(java, broker)
    change(admin, max_connections="1000", max_connection_creation_rate="2")

    def took(port):
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(wire.frame(wire.api_versions(0)))
            assert is_served(connection, AFTER_A_WHILE)
        return time.monotonic() - began

    deadline = time.monotonic() + 60
    # Eleven windows of a second bring twenty-two at once; a change counts when the acceptor has heard of it.
    while max(took(broker.public_port) for _ in range(30)) < 0.3:
        assert time.monotonic() < deadline, "its connections are not held back"
    assert max(took(broker.port) for _ in range(30)) < 0.3
    change(admin, max_connections=None, max_connection_creation_rate=None)


def test_a_crowd_that_comes_while_nobody_accepts_has_places_to_wait(broker):
    if broker.kind == "kafka":
        pytest.skip("it has 50 places by default: whoever finds none tries again after a second, and that is what this is about")
    crowd = min(1_000, int(Path("/proc/sys/net/core/somaxconn").read_text()))
    with ExitStack() as stack:
        broker.process.send_signal(signal.SIGSTOP)
        stack.callback(broker.process.send_signal, signal.SIGCONT)
        connections = [stack.enter_context(opened(broker.port)) for _ in range(crowd)]
        broker.process.send_signal(signal.SIGCONT)
        assert all(is_served(connection, AFTER_A_WHILE) for connection in connections)
