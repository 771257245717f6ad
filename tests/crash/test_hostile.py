"""Many clients that mean no good, all at once: the broker lives, healthy clients are served meanwhile, memory and sockets come back."""

import contextlib
import random
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harness import wire
from rig import silence
from rig.book import Book
from rig.raw import batch, fetch_request, produce_request

pytestmark = pytest.mark.timeout(240)

MiB = 1 << 20
PARTITIONS = range(4)
# What the broker may take for what clients send and are sent, and for reading ahead.
BUDGETS = {"aplomb.frames.max.bytes": 128 * MiB, "aplomb.fetch.memory.bytes": 32 * MiB}


def private_bytes(broker):
    """Resident memory without what is shared, which is where the tail is."""
    lines = Path(f"/proc/{broker.pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "RssFile:")))


def open_sockets(broker):
    count = 0
    for descriptor in Path(f"/proc/{broker.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += str(descriptor.readlink()).startswith("socket:")
    return count


class Peak:
    """The most memory the broker had while this was open, looked at often."""

    def __init__(self, broker):
        self.bytes = private_bytes(broker)
        self._broker = broker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self):
        while not self._stop.wait(0.05):
            if self._broker.alive():
                self.bytes = max(self.bytes, private_bytes(self._broker))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._stop.set()
        self._thread.join()


@pytest.fixture
def siege(prepare, admin_of, loads):
    """A broker with healthy producers; on the way out they must have been served all the time, memory must have stayed within
    bounds, and the sockets of the others must be closed."""
    broker = prepare({name: str(size) for name, size in BUDGETS.items()}).start()
    admin_of(broker).create("healthy", partitions=len(PARTITIONS), retention_ms=-1)
    admin_of(broker).create("target", partitions=1, retention_ms=-1, max_message_bytes=4 * MiB)
    producers = loads(broker, "healthy", PARTITIONS, rate=200, size=200)
    time.sleep(1)
    sockets, memory, begin = open_sockets(broker), private_bytes(broker), int(time.time() * 1000)
    with Peak(broker) as peak:
        yield broker
        end = int(time.time() * 1000)
    assert broker.alive()
    allowed = memory + sum(BUDGETS.values()) + broker.memory_slack
    assert peak.bytes < allowed, f"memory went from {memory >> 20} to {peak.bytes >> 20} MiB, {allowed >> 20} are allowed"
    for producer in producers:
        producer.wait_for_acks()
        silence.check(f"the healthy {producer.name} producer", [(ack.at, ack.partition) for ack in producer.acks], PARTITIONS, begin, end)
    deadline = time.monotonic() + 30
    while open_sockets(broker) > sockets + 2:
        assert time.monotonic() < deadline, f"{open_sockets(broker)} sockets are open; before there were {sockets}"
        time.sleep(0.2)
    for producer in producers:
        producer.stop()
    Book("healthy", PARTITIONS, producers).close(broker)


def requests(rng):
    """Whole requests of several kinds to be spoiled."""
    return [
        wire.metadata(["some", "topics"]),
        wire.api_versions(rng.randrange(5)),
        produce_request("target", 0, batch(rng.randbytes(rng.randrange(2000)))),
        fetch_request("target", 0, rng.randrange(100)),
    ]


def spoil(rng, payload):
    """The bytes to send instead of a good frame."""
    how = rng.randrange(6)
    if how == 0:
        return rng.randbytes(rng.randrange(1, 4000))
    if how == 1:
        return wire.frame(rng.randbytes(rng.randrange(8, 500)))
    if how == 2:
        return wire.frame(payload[: rng.randrange(len(payload))])
    if how == 3:
        return wire.frame(payload)[: rng.randrange(1, len(payload))]
    changed = bytearray(payload)
    if how == 4:
        for _ in range(rng.randrange(1, 8)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return wire.frame(bytes(changed))
    at = rng.randrange(max(1, len(changed) - 4))
    changed[at : at + 4] = struct.pack(">i", rng.choice((-1, -(1 << 31), (1 << 31) - 1, 1 << 24, 1 << 20)))
    return wire.frame(bytes(changed))


def attack(port, seed, rounds):
    """Opens connections one after the other and says something wrong on each."""
    rng = random.Random(seed)
    for _ in range(rounds):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.settimeout(0.05)
            for _ in range(rng.randrange(1, 4)):
                connection.sendall(spoil(rng, rng.choice(requests(rng))))
            if rng.randrange(3):
                connection.recv(4096)


def test_thousands_of_wrong_frames(siege, moments):
    with ThreadPoolExecutor(16) as pool:
        seed = moments.randrange(1 << 30)
        for done in [pool.submit(attack, siege.port, seed + number, 250) for number in range(16)]:
            done.result()


@pytest.mark.aplomb
def test_hundreds_that_send_a_byte_now_and_then(siege):
    """Each announces fifty megabytes and sends a byte every half second. Apache Kafka takes the memory at once, and runs out of it."""
    slow = [socket.create_connection(("127.0.0.1", siege.port), timeout=5) for _ in range(400)]
    try:
        for connection in slow:
            connection.sendall(struct.pack(">i", 50 * MiB))
        for _ in range(16):
            for connection in slow:
                with contextlib.suppress(OSError):
                    connection.sendall(b"\x00")
            time.sleep(0.5)
    finally:
        for connection in slow:
            connection.close()


def send_until_it_blocks(connection, data, patience=3):
    """Sends on until the broker has not taken a byte for a while, or has closed; returns how much it took."""
    connection.settimeout(patience)
    taken = 0
    view = memoryview(data)
    with contextlib.suppress(OSError):
        while taken < len(data):
            taken += connection.send(view[taken : taken + 65536])
    return taken


def fill_target(broker, megabytes):
    records = batch(random.Random(1).randbytes(MiB))
    with wire.Connection(broker.port, timeout=60) as connection:
        for _ in range(megabytes):
            connection.ask(produce_request("target", 0, records, timeout=30_000))


def test_consumers_that_ask_for_much_and_read_nothing(siege):
    """Forty connections ask two hundred times each for ten megabytes: eighty gigabytes, if the broker were to hold them."""
    fill_target(siege, 40)
    asking = b"".join(wire.frame(fetch_request("target", 0, offset, 10 * MiB)) for offset in range(20)) * 10
    deaf = [wire.Connection(siege.port) for _ in range(40)]
    try:
        with ThreadPoolExecutor(len(deaf)) as pool:
            list(pool.map(lambda each: send_until_it_blocks(each.socket, asking), deaf))
        time.sleep(5)
    finally:
        for each in deaf:
            each.socket.close()


def test_producers_that_send_much_and_read_nothing(siege):
    """Four connections pipeline a hundred and fifty megabytes each; what was taken is answered when they read at last."""
    frame = wire.frame(produce_request("target", 0, batch(random.Random(2).randbytes(MiB)), timeout=30_000))
    deaf = [wire.Connection(siege.port, timeout=60) for _ in range(4)]
    try:
        with ThreadPoolExecutor(len(deaf)) as pool:
            taken = list(pool.map(lambda each: send_until_it_blocks(each.socket, frame * 150, patience=10), deaf))
        for each, size in zip(deaf, taken, strict=True):
            each.socket.settimeout(60)
            for _ in range(size // len(frame)):
                each.receive()
    finally:
        for each in deaf:
            each.socket.close()


def test_connections_that_come_and_go(siege):
    """Three thousand that connect and leave, half of them with a reset."""

    def visit(number):
        for _ in range(250):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", siege.port), timeout=5) as connection:
                if number % 2:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(wire.frame(wire.api_versions(3)))

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(visit, range(12)))
