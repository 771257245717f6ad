"""What slow requests have waited for: causes are made to happen, and have to be what `/slow` and `aplomb doctor slow` say. Reads of a
disk go on while its file system is frozen: that of old records is a story of the broker's own tests (`stories/waits.rs`)."""

import json
import socket
import subprocess
import threading
import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from conftest import produce
from harness import wire
from harness.broker import binary, free_ports
from harness.pages import get, one, samples
from rig import raw

# From when on a request is slow here, and how long one is held up: far longer than one takes on a busy machine.
LIMIT, HELD = 0.4, 1.5
MiB = 1 << 20
TOTAL = "aplomb_slow_requests_total"


def start(start_broker, **properties):
    (port,) = free_ports(1)
    page = f"127.0.0.1:{port}"
    settings = {name.replace("_", "."): value for name, value in properties.items()}
    limits = {"aplomb.metrics.listener": page, "aplomb.slow.request.ms": str(int(LIMIT * 1000))}
    broker = start_broker(kind="aplomb", properties={**limits, **settings})
    broker.page = page
    broker.admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    return broker


def create(broker, topic, **config):
    config = {name.replace("_", "."): value for name, value in config.items()}
    broker.admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(30)


def report(page):
    status, text = get(page, "/slow")
    assert status == 200, text
    return json.loads(text)


def slow(page, api, cause=None, patience=15):
    """The newest slow request of an API, and of a cause if that is said, as soon as there is one."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        told = report(page)
        found = [one for one in told["requests"] if one["api"] == api and cause in (None, one["cause"])]
        if found:
            return found[0]
        time.sleep(0.1)
    raise AssertionError(f"no slow {api} by {cause}: {told}")


def thaw_later(disk):
    timer = threading.Timer(HELD, disk.thaw)
    timer.start()
    return timer


@pytest.fixture
def frozen_later(tmp_path):
    """A file system of its own that can be frozen."""
    from rig import disks

    disk = disks.Disk("ext4", 256)
    yield disk
    disk.thaw()
    disk.close()


@pytest.mark.root
def test_a_frozen_disk_is_the_cause_of_what_waits_for_it_and_it_has_its_age(start_broker, frozen_later):
    disk, data = frozen_later, str(frozen_later.path / "data")
    broker = start(start_broker, log_dirs=data, aplomb_tail_bytes=str(8 * MiB))
    create(broker, "durable", flush_messages="1")
    create(broker, "full")
    produce(broker, "durable", 1, 1)
    before = samples(broker.page)
    assert sum(value for (name, _), value in before.items() if name == TOTAL) == len(report(broker.page)["requests"])

    # An acknowledgement that was promised after the sync.
    disk.freeze()
    thaw = thaw_later(disk)
    produce(broker, "durable", 1, 1, client_id="patient")
    thaw.join()
    told = slow(broker.page, "Produce", "disk")
    assert told["client"] == "patient" and told["directory"] == data and told["peer"] == "127.0.0.1", told
    assert told["total_ms"] > LIMIT * 1000 and told["cause_ms"] > 0.8 * told["total_ms"], told
    assert told["stages_ms"]["remote"] > 0.8 * told["total_ms"] and told["idle_ms"] == 0, told
    assert LIMIT * 1000 / 2 < told["disk_age_ms"] < 60_000, told
    assert abs(told["at"] / 1000 - time.time()) < 30, told

    # The tail's share is full: batches wait for room.
    disk.freeze()
    thaw = thaw_later(disk)
    produce(broker, "full", 3000, 1, client_id="many", linger_ms=0, batch_size=20_000, message_max_bytes=1_000_000, value=b"x" * 8000)
    thaw.join()
    told = slow(broker.page, "Produce", "memory")
    assert told["client"] == "many" and told["directory"] == data, told

    # A decision of the controller.
    disk.freeze()
    thaw = thaw_later(disk)
    create(broker, "decided")
    thaw.join()
    assert slow(broker.page, "CreateTopics")["cause"] == "controller"

    counts, page = report(broker.page)["counts"], samples(broker.page)
    assert {cause: one(page, TOTAL, cause=cause) for cause in counts} == counts
    broker.close()


def test_a_long_poll_that_finds_nothing_is_not_slow(start_broker):
    broker = start(start_broker)
    create(broker, "quiet")
    with wire.Connection(broker.port) as consumer:
        consumer.ask(raw.fetch_request("quiet", 0, wait=int(HELD * 1000)))
    time.sleep(0.5)
    assert [one for one in report(broker.page)["requests"] if one["api"] == "Fetch"] == []
    broker.close()


def test_a_client_over_its_quota_is_kept_waiting_by_that(start_broker, tools):
    broker = start(start_broker)
    create(broker, "orders")
    client = ("--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "clients", "--entity-name", "hurried")
    tools.ok("kafka-configs", *client, "--add-config", "producer_byte_rate=500")
    produce(broker, "orders", 600, 1, client_id="hurried", linger_ms=50)
    told = slow(broker.page, "Produce", "quota")
    assert told["client"] == "hurried" and told["throttle_ms"] > LIMIT * 1000 > told["total_ms"], told
    broker.close()


def test_a_client_that_does_not_take_its_reply_is_the_cause_itself(start_broker):
    broker = start(start_broker)
    create(broker, "large")
    produce(broker, "large", 30, 1, message_max_bytes=1_000_000, value=b"x" * 900_000)
    with socket.socket() as consumer:
        consumer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        consumer.connect(("127.0.0.1", broker.port))
        consumer.sendall(wire.frame(raw.fetch_request("large", 0, max_bytes=27_000_000)))
        time.sleep(HELD)
        consumer.settimeout(20)
        left = 4 + int.from_bytes(consumer.recv(4, socket.MSG_WAITALL), "big") - 4
        assert left > 20_000_000
        while left > 0:
            left -= len(consumer.recv(min(left, MiB)))
    told = slow(broker.page, "Fetch")
    assert (told["cause"], told["client"]) == ("peer", "raw"), told
    assert told["stages_ms"]["response_send"] > LIMIT * 1000, told
    assert "directory" not in told, told
    broker.close()


@pytest.mark.root
def test_the_doctor_shows_what_the_broker_says(start_broker, frozen_later):
    disk = frozen_later
    broker = start(start_broker, log_dirs=str(disk.path / "data"))
    create(broker, "durable", flush_messages="1")
    doctor = [binary(), "doctor", "slow", "--address", broker.page]
    disk.freeze()
    thaw = thaw_later(disk)
    produce(broker, "durable", 1, 1, client_id="patient")
    thaw.join()
    slow(broker.page, "Produce", "disk")

    text = subprocess.run(doctor, check=True, capture_output=True, text=True).stdout
    assert f"waited for: disk {disk.path}/data, whose oldest command had waited" in text, text
    assert "client patient from 127.0.0.1, connection" in text and "remote" in text, text
    said = subprocess.run([*doctor, "--format", "json"], check=True, capture_output=True, text=True).stdout
    assert json.loads(said) == report(broker.page)
    broker.close()
    gone = subprocess.run(doctor, capture_output=True, text=True)
    assert gone.returncode == 1 and broker.page in gone.stderr and len(gone.stderr.splitlines()) == 1, gone
