"""Settings that change while a broker runs, by tools, clients and bare requests; and where settings come from at start."""

import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from harness import wire
from harness.broker import binary, free_ports
from harness.clients import Admin

SHIPPED = Path(__file__).parent / "shipped"
ALTER_CONFIGS = 33
TOPIC, BROKER, LOGGER = 2, 4, 8
INVALID_REQUEST, INVALID_CONFIG = 42, 40


@pytest.fixture(scope="module")
def both(broker, start_broker):
    """(the broker under test, Apache Kafka)."""
    kafka = start_broker(kind="kafka")
    yield broker, kafka
    kafka.close()


def eventually(question, expected, seconds=20):
    """Apache Kafka answers a change when it is decided, and shows it a moment later."""
    deadline = time.monotonic() + seconds
    while (seen := question()) != expected and time.monotonic() < deadline:
        time.sleep(0.1)
    assert seen == expected


BROKERS = ("kafka-configs", "--entity-type", "brokers")
THIS = (*BROKERS, "--entity-name", "1")
ALL = (*BROKERS, "--entity-default")
LOGGERS = ("kafka-configs", "--entity-type", "broker-loggers", "--entity-name", "1")
METRICS = ("kafka-configs", "--entity-type", "client-metrics", "--entity-name", "sub")
FEATURES = "kafka-features"
SAID_ALIKE = [
    (*THIS, "--alter", "--add-config", "log.retention.ms=5000,max.connections=100"),
    (*THIS, "--describe"),
    (*ALL, "--alter", "--add-config", "log.retention.ms=6000,log.cleaner.threads=2"),
    (*ALL, "--describe"),
    (*THIS, "--describe"),
    (*THIS, "--alter", "--add-config", "max.connections.per.ip.overrides=[127.0.0.9:3,127.0.0.8:4]"),
    (*THIS, "--alter", "--delete-config", "max.connections.per.ip.overrides,log.retention.ms,max.connections"),
    (*THIS, "--alter", "--delete-config", "log.retention.ms"),
    (*ALL, "--alter", "--delete-config", "log.retention.ms,log.cleaner.threads"),
    (*ALL, "--describe"),
    (*THIS, "--alter", "--add-config", "node.id=2"),
    (*THIS, "--alter", "--add-config", "log.segment.bytes=1"),
    (*ALL, "--alter", "--add-config", "cordoned.log.dirs=/x"),
    (*BROKERS, "--entity-name", "7", "--alter", "--add-config", "log.retention.ms=1"),
    (*BROKERS, "--entity-name", "one", "--describe"),
    (*LOGGERS, "--alter", "--add-config", "no.such.logger=DEBUG"),
    (*METRICS, "--alter", "--add-config", "interval.ms=1000,metrics=[org.apache.kafka.producer.,b],match=[client_id=a.*]"),
    (*METRICS, "--describe"),
    ("kafka-client-metrics", "--list"),
    ("kafka-client-metrics", "--describe", "--name", "sub"),
    (*METRICS, "--alter", "--add-config", "interval.ms=99"),
    (*METRICS, "--alter", "--add-config", "match=[colour=red]"),
    ("kafka-client-metrics", "--alter", "--name", "other", "--metrics", "x", "--interval", "2000"),
    ("kafka-client-metrics", "--describe"),
    ("kafka-client-metrics", "--delete", "--name", "other"),
    (*METRICS, "--alter", "--delete-config", "interval.ms,metrics,match"),
    ("kafka-client-metrics", "--list"),
    (FEATURES, "upgrade", "--feature", "metadata.version=33"),
    (FEATURES, "downgrade", "--feature", "metadata.version=32"),
    (FEATURES, "downgrade", "--unsafe", "--feature", "metadata.version=29"),
    (FEATURES, "downgrade", "--feature", "kraft.version=0"),
    (FEATURES, "upgrade", "--feature", "kraft.version=2"),
    (FEATURES, "upgrade", "--dry-run", "--feature", "kraft.version=1"),
    (FEATURES, "describe"),
    (FEATURES, "upgrade", "--feature", "kraft.version=1"),
    (FEATURES, "describe"),
    (FEATURES, "upgrade", "--feature", "kraft.version=1"),
    (FEATURES, "downgrade", "--feature", "kraft.version=0"),
    (FEATURES, "upgrade", "--feature", "no.such.feature=1"),
    (FEATURES, "describe"),
]


def test_tools_change_settings_alike(both, tools):
    """What the tools say and how they end is the same on both brokers, step by step."""
    for tool, *arguments in SAID_ALIKE:
        for attempt in range(20):
            texts = [said(tools, broker, tool, arguments) for broker in both]
            if texts[0] == texts[1] or "describe" not in " ".join(arguments) and "--list" not in arguments:
                break
            time.sleep(0.2)
        assert texts[0] == texts[1], f"{tool} {' '.join(arguments)}, attempt {attempt}"


def said(tools, broker, tool, arguments):
    place = ("--bootstrap-server", broker.bootstrap)
    ran = tools.run(tool, *place, *arguments)
    text = re.sub(r"Epoch: \d+", "Epoch: N", ran.stdout)
    lines = [line for line in text.splitlines() if not re.match(r"Feature: (?!metadata|kraft)", line)]
    return ran.exit, sorted(lines)


def test_resources_with_settings_are_listed(both, java):
    names = ["listed-a", "listed-b"]
    seen = []
    for broker in both:
        admin = Admin(java, broker)
        for name in names:
            admin.create(name)
        admin.call("alter-configs", type="CLIENT_METRICS", name="listed", changes=[["metrics", "SET", "*"]])
        eventually(lambda: "CLIENT_METRICS listed" in admin.call("list-config-resources"), True)  # noqa: B023
        of_all = [line for line in admin.call("list-config-resources") if "TOPIC" not in line or "listed" in line]
        seen.append((of_all, admin.call("list-config-resources", types=["BROKER"]), admin.answer("list-config-resources", types=["UNKNOWN"]).get("error")))
        admin.call("alter-configs", type="CLIENT_METRICS", name="listed", changes=[["metrics", "DELETE", None]])
    assert seen[0] == seen[1]
    assert seen[0][0] == ["BROKER 1", "BROKER_LOGGER 1", "CLIENT_METRICS listed", "TOPIC listed-a", "TOPIC listed-b"]


def alter_configs(version, kind, name, settings, validate=False):
    """An AlterConfigs request, which newer Java clients have no call for."""
    flexible = version >= 2
    text = (lambda value: wire.compact_string(value)) if flexible else wire.string
    count = (lambda number: wire.unsigned_varint(number + 1)) if flexible else (lambda number: struct.pack(">i", number))
    end = b"\x00" if flexible else b""
    pairs = b"".join(text(key) + text(value) + end for key, value in settings.items())
    body = count(1) + struct.pack(">b", kind) + text(name) + count(len(settings)) + pairs + end
    return wire.header(ALTER_CONFIGS, version, flexible=flexible) + body + bytes([validate]) + end


def error_of(broker, *request, **options):
    version = request[0]
    with wire.Connection(broker.port) as connection:
        answer = connection.ask(alter_configs(*request, **options))
    # The correlation id, in version 2 an empty set of tags, the throttle time, and how many resources there are.
    at = 4 + 1 + 4 + 1 if version >= 2 else 4 + 4 + 4
    return struct.unpack(">h", answer[at : at + 2])[0]


@pytest.mark.parametrize("version", (0, 1, 2))
def test_all_settings_are_replaced_at_once(both, java, version):
    topic = f"replaced-{version}"
    for broker in both:
        admin = Admin(java, broker)
        admin.create(topic, retention_ms=1000, segment_ms=2000)

        def overrides(admin=admin):
            found = admin.call("describe-configs", type="TOPIC", name=topic)
            return {key: line["value"] for key, line in found.items() if line["source"] == "DYNAMIC_TOPIC_CONFIG"}

        eventually(overrides, {"retention.ms": "1000", "segment.ms": "2000"})
        wanted = {"segment.ms": "3000", "cleanup.policy": "compact"}
        assert error_of(broker, version, TOPIC, topic, {"segment.ms": "0"}) == INVALID_CONFIG
        assert error_of(broker, version, TOPIC, topic, wanted, validate=True) == 0
        assert overrides() == {"retention.ms": "1000", "segment.ms": "2000"}
        assert error_of(broker, version, TOPIC, topic, wanted) == 0
        eventually(overrides, wanted)
        assert error_of(broker, version, LOGGER, "1", {}) == INVALID_REQUEST
        assert error_of(broker, version, BROKER, "7", {}) == INVALID_REQUEST
        assert error_of(broker, version, TOPIC, "absent-" + topic, {}) == 3


def test_the_message_limit_changes_at_once(both, java):
    for broker in both:
        admin = Admin(java, broker)
        admin.create("limited")
        large = {"topic": "limited", "partition": 0, "count": 1, "size": 200_000}

        def refused(broker=broker, large=large):
            return [line.get("error") for line in java.attempt(broker, **large)]

        assert refused() == [None]
        admin.call("alter-configs", type="BROKER", name="", changes=[["message.max.bytes", "SET", "100000"]])
        eventually(refused, ["RecordTooLargeException"])
        admin.call("alter-configs", type="BROKER", name="", changes=[["message.max.bytes", "DELETE", None]])
        eventually(refused, [None])


def test_the_limit_of_connections_changes_at_once(both, java):
    for broker in both:
        admin = Admin(java, broker)

        def is_served(broker=broker):
            try:
                with wire.Connection(broker.port) as connection:
                    return len(connection.ask(wire.api_versions(0))) > 0
            except (ConnectionError, OSError):
                return False

        assert is_served()
        change = ["max.connections.per.ip.overrides", "SET", "127.0.0.1:3"]
        held = [wire.Connection(broker.port) for _ in range(3)]
        try:
            assert all(connection.ask(wire.api_versions(0)) for connection in held)
            admin.call("alter-configs", type="BROKER", name="1", changes=[change])
            eventually(is_served, False)
        finally:
            for connection in held:
                connection.socket.close()
        eventually(is_served, True)
        admin.call("alter-configs", type="BROKER", name="1", changes=[[change[0], "DELETE", None]])


@pytest.mark.aplomb
def test_what_was_changed_is_still_in_force_after_a_restart(start_broker, java):
    broker = start_broker(log_dirs=2)
    admin = Admin(java, broker)
    first, second = map(str, broker.log_dirs)
    admin.call("alter-configs", type="BROKER", name="1", changes=[["cordoned.log.dirs", "SET", first], ["max.connections", "SET", "50"]])
    admin.create("before", partitions=3)
    broker.stop()
    broker.start()
    admin.create("after", partitions=3)
    settings = admin.call("describe-configs", type="BROKER", name="1")
    assert settings["max.connections"]["value"] == "50"
    assert settings["cordoned.log.dirs"]["source"] == "DYNAMIC_BROKER_CONFIG"
    for name in ("before", "after"):
        # Directories are made a moment after the answer.
        eventually(lambda: [len(list(Path(each).glob(f"{name}-*"))) for each in (first, second)], [0, 3])  # noqa: B023
    broker.close()


@pytest.mark.aplomb
def test_the_environment_is_read_as_in_the_image(start_broker, java, monkeypatch):
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "3")
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx1g")
    monkeypatch.setenv("KAFKA_SERVICE_PORT", "9092")
    monkeypatch.setenv("CLUSTER_ID", "5L6g3nShT-eMCtK--X86sw")
    broker = start_broker(properties={"num.partitions": "2"})
    assert Admin(java, broker).call("create-topic", name="from-the-environment")["partitions"] == 3
    assert "KAFKA_SERVICE_PORT is ignored" in broker.log_file.read_text()
    assert "KAFKA_HEAP_OPTS" not in broker.log_file.read_text()
    assert Admin(java, broker).call("describe-cluster")["id"] == "5L6g3nShT-eMCtK--X86sw"
    broker.stop()
    assert "CLUSTER_ID" not in broker.log_file.read_text()
    monkeypatch.setenv("CLUSTER_ID", "another")
    broker.start()
    assert Admin(java, broker).call("describe-cluster")["id"] == "5L6g3nShT-eMCtK--X86sw"
    assert "CLUSTER_ID=another is ignored" in broker.log_file.read_text()
    broker.close()


@pytest.mark.aplomb
@pytest.mark.parametrize("name", ("broker", "controller"))
def test_a_shipped_file_of_another_role_is_refused_with_the_reason(name):
    ran = subprocess.run([binary(), "serve", str(SHIPPED / f"{name}.properties")], capture_output=True, text=True, timeout=30)
    assert ran.returncode == 1
    assert f"process.roles={name} cannot be used: accepted is broker,controller" in ran.stderr


@pytest.mark.aplomb
def test_the_shipped_file_starts_a_broker(tmp_path):
    """Only where it listens and writes is moved, out of the way of other tests."""
    ports = free_ports(2)
    settings = {
        "listeners": f"PLAINTEXT://:{ports[0]},CONTROLLER://:{ports[1]}",
        "advertised.listeners": f"PLAINTEXT://localhost:{ports[0]},CONTROLLER://localhost:{ports[1]}",
        "log.dirs": str(tmp_path / "logs"),
        "aplomb.tail.bytes": str(32 << 20),
        "aplomb.guard": "enforce",
    }
    overrides = [part for key, value in settings.items() for part in ("--override", f"{key}={value}")]
    command = [binary(), "serve", str(SHIPPED / "server.properties"), *overrides]
    with open(tmp_path / "log", "wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            eventually(lambda: "ready at" in (tmp_path / "log").read_text(), True)
        finally:
            process.terminate()
    assert process.returncode == 0
    shutil.rmtree(tmp_path / "logs")
