"""What cannot be taken over is refused with the reason, and not a byte of it is changed."""

import shutil
import socket
import time

import contents
import pytest
from harness import broker as brokers
from harness import offline

SETTINGS = {"log.segment.bytes": str(4 << 20)}


@pytest.fixture(scope="module")
def stopped(start_broker):
    """Apache Kafka's directories, stopped cleanly; tests work on copies."""
    broker = start_broker(kind="kafka", properties=SETTINGS, log_dirs=2)
    contents.create(broker)
    contents.write(broker, "before")
    broker.stop()
    return broker


@pytest.fixture
def copy(stopped, tmp_path):
    return offline.copied(stopped, tmp_path / "copy", SETTINGS)


def refused(broker, *reasons):
    """Start, look and dry run all refuse, with the same reason."""
    before = contents.files(broker.log_dirs)
    for ran in (offline.serve(broker), *(offline.storage(broker, *what) for what in (["info"], ["adopt", "--dry-run"], ["release"]))):
        assert ran.returncode == 1, ran.stdout + ran.stderr
        for reason in reasons:
            assert reason in ran.stderr, ran.stderr
        assert contents.files(broker.log_dirs) == before, f"after {ran.args}"


def metadata_log(broker):
    [path] = sorted((broker.log_dirs[0] / "__cluster_metadata-0").glob("*.log"))
    return path


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_copy_is_good(copy):
    said = offline.storage(copy, "info")
    assert said.returncode == 0, said.stderr
    assert "can take these directories over" in said.stdout


def test_a_format_version_that_is_not_known(copy):
    change(copy.log_dirs[1] / "meta.properties", "version=1", "version=2")
    refused(copy, "data1", "version=2")


def test_a_quorum_state_that_is_not_known(copy):
    change(copy.log_dirs[0] / "__cluster_metadata-0" / "quorum-state", '"data_version":0', '"data_version":7')
    refused(copy, "quorum-state", "version 7")


def test_a_damaged_metadata_log(copy):
    log = metadata_log(copy)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0x10
    log.write_bytes(data)
    refused(copy, "damaged", log.name)


def test_a_damaged_metadata_log_after_a_crash(copy):
    """The marker is gone, so that the end of the log may be torn; but another leader has written since."""
    offline.restarted("kafka", copy, SETTINGS).kill()
    log = metadata_log(copy)
    data = bytearray(log.read_bytes())
    data[100] ^= 0x10
    log.write_bytes(data)
    refused(copy, "damaged", "a later leader wrote behind it")


def test_a_metadata_log_that_is_missing(copy):
    shutil.rmtree(copy.log_dirs[0] / "__cluster_metadata-0")
    refused(copy, "the cluster's metadata is missing")


def test_another_order_of_directories(copy):
    copy.properties["log.dirs"] = ",".join(map(str, reversed(copy.log_dirs)))
    refused(copy, "there is a metadata log in", str(copy.log_dirs[0]))


def test_a_directory_that_nobody_understands(copy):
    (copy.log_dirs[1] / "backup").mkdir()
    refused(copy, "backup")


def test_a_checkpoint_that_nobody_understands(copy):
    (copy.log_dirs[1] / "recovery-point-offset-checkpoint").write_text("1\n0\n")
    refused(copy, "recovery-point-offset-checkpoint")


def test_another_node(copy):
    copy.properties["node.id"] = "2"
    copy.properties["controller.quorum.voters"] = copy.properties["controller.quorum.voters"].replace("1@", "2@")
    refused(copy, "belongs to node 1")


def test_two_voters(tmp_path):
    ids = ("uZ2Aw1SUSbSHRvRTVBGBYA", "xZ2Aw1SUSbSHRvRTVBGBYg")
    ports = brokers.free_ports(2)
    voters = ",".join(f"{n}@127.0.0.1:{port}:{id}" for n, port, id in zip((1, 2), ports, ids, strict=True))
    made = offline.formatted("kafka", tmp_path, {"controller.quorum.bootstrap.servers": f"127.0.0.1:{ports[0]}"}, "--initial-controllers", voters)
    refused(made, "the voters 1, 2", "node 1 is one of several")


def test_a_broker_of_a_cluster(tmp_path):
    """A real one: a controller beside it, and a topic on it."""
    controller_port, broker_port = brokers.free_ports(2)
    common = {"controller.quorum.voters": f"9@127.0.0.1:{controller_port}"}
    controller = offline.formatted(
        "kafka",
        tmp_path / "controller",
        {**common, "process.roles": "controller", "node.id": "9", "listeners": f"CONTROLLER://127.0.0.1:{controller_port}"},
    )
    broker = offline.formatted(
        "kafka", tmp_path / "broker", {**common, "process.roles": "broker", "listeners": f"PLAINTEXT://127.0.0.1:{broker_port}"}
    )
    broker.port = broker_port
    running = offline.spawned(controller)
    try:
        _wait_for(controller_port)
        broker.start()
        contents.create(broker)
        broker.stop()
    finally:
        running.kill()
        running.wait()
        if broker.alive():
            broker.kill()
    listeners = f"PLAINTEXT://127.0.0.1:{broker_port},CONTROLLER://127.0.0.1:{broker.controller_port}"
    broker.properties |= {
        "process.roles": "broker,controller",
        "listeners": listeners,
        "controller.quorum.voters": f"1@127.0.0.1:{broker.controller_port}",
    }
    refused(broker, "the voters 9", "node 1 is not one of them")


def _wait_for(port):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens at port {port}")
