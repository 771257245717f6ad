"""How far a start is, and what a lost log directory looks like."""

import re
import threading
import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from harness.broker import free_ports
from harness.pages import get, one, samples

PARTITIONS = 2000


def states_of_a_start(broker, page):
    """Starts a broker; all that its page says until it is ready."""
    said = []

    def watch():
        deadline = time.monotonic() + 60
        while (not said or said[-1] != (200, "ready\n")) and time.monotonic() < deadline:
            try:
                said.append(get(page, "/readyz"))
            except OSError:
                time.sleep(0.001)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    broker.start()
    watcher.join()
    return said


def test_readiness_tells_how_far_a_start_after_a_crash_is(start_broker):
    (port,) = free_ports(1)
    page = f"127.0.0.1:{port}"
    broker = start_broker(kind="aplomb", properties={"aplomb.metrics.listener": page})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic("many", PARTITIONS, 1)])["many"].result(60)

    known = r"starting|restoring: reading back what an earlier process left|recovering: \d+ of %d partitions" % PARTITIONS
    states = set()
    # A load takes a moment that a look at the page can miss on a busy machine.
    for _ in range(20):
        broker.kill()
        said = states_of_a_start(broker, page)
        assert said[-1] == (200, "ready\n")
        assert all(status == 503 for status, _ in said[:-1])
        states |= {text.strip() for _, text in said[:-1]}
        assert all(re.fullmatch(known, state) for state in states), states
        if any(state.startswith("recovering: ") for state in states):
            break
    else:
        pytest.fail(f"no start has said how far it is: {states}")
    found = samples(page)
    assert one(found, "aplomb_recovery_partitions_loaded") == one(found, "aplomb_recovery_partitions") == PARTITIONS
    assert one(found, "kafka_server_kafkaserver_brokerstate") == 3
    assert one(found, "kafka_server_replicamanager_partitioncount") == PARTITIONS
    broker.close()


@pytest.mark.root
def test_a_lost_log_directory_is_counted(start_broker, tmp_path):
    from conftest import produce
    from rig import disks

    disk = disks.Disk("ext4", 64)
    try:
        (port,) = free_ports(1)
        page = f"127.0.0.1:{port}"
        healthy = tmp_path / "healthy"
        properties = {"aplomb.metrics.listener": page, "log.dirs": f"{healthy},{disk.path / 'data'}"}
        broker = start_broker(kind="aplomb", properties=properties)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("spread", 4, 1)])["spread"].result(30)
        produce(broker, "spread", 8, 4)
        before = samples(page)
        assert one(before, "kafka_log_logmanager_offlinelogdirectorycount") == 0
        assert one(before, "kafka_server_replicamanager_offlinereplicacount") == 0
        disk.fail()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                produce(broker, "spread", 4, 4)
            except AssertionError:
                break
            time.sleep(0.2)
        after = samples(page)
        offline = one(after, "kafka_server_replicamanager_offlinereplicacount")
        assert one(after, "kafka_log_logmanager_offlinelogdirectorycount") == 1
        assert one(after, "kafka_log_logmanager_logdirectoryoffline", logDirectory=str(disk.path / "data")) == 1
        assert 0 < offline < 4
        assert one(after, "kafka_controller_kafkacontroller_offlinepartitionscount") == offline
        assert one(after, "kafka_server_replicamanager_leadercount") == 4 - offline
        broker.kill()
        broker.close()
    finally:
        disk.close()
