"""What people do first with a new broker, with the newest release of each client: it works without a
stumble, a wrong address ends in an error of the client's own, and a restart is survived by whoever is
connected. Which release that was is told, since it is not pinned."""

import time
from dataclasses import dataclass

import pytest
from harness import broker as brokers
from harness import places
from harness.lines import LineProcess

PROPERTIES = {"auto.create.topics.enable": "false"}
# What each step finds. A restart: records read before it, after it, and the last one's offset.
WANTED = {
    "list": [], "cluster": 1, "create": ["first"], "describe": 3, "configs": "delete", "produce": 20, "consume": 20,
    "restart": [40, 20, 59], "delete": [],
}  # fmt: skip
FIRST = places.CLIENTS / "first"
# What a client waits for at most, by its own defaults or by what its program sets.
PATIENCE = 90
# Seconds between a stop and a start: clients try meanwhile, and find that nothing listens.
AWAY = 1


@dataclass(frozen=True)
class Program:
    """A client's program, and what the client says of an address at which nothing listens."""

    # What tests/setup.sh makes, and its log beside it.
    made: str
    log: str
    command: list
    nowhere: str
    # Steps that the client has no call for.
    lacks: tuple = ()

    def start(self, errors, *addresses):
        if not (places.WORK / self.made).exists():
            log = places.WORK / f"{self.log}.setup.log"
            why = log.read_text(errors="replace").strip().splitlines()[-1:] if log.exists() else ["its toolchain is not on this machine"]
            pytest.skip(f"tests/setup.sh could not make it, see {log.relative_to(places.CHECKOUT)}: {' '.join(why)}")
        command = self.command() if callable(self.command) else self.command
        return LineProcess([*map(str, command), *addresses], errors)


def python(name, nowhere):
    return Program("newest/bin/python", "first-python", [places.WORK / "newest" / "bin" / "python", FIRST / f"{name}_first.py"], nowhere)


def go(name, nowhere):
    return Program(f"first-bin/{name}", "first-go", [places.WORK / "first-bin" / name], nowhere)


def node(name, package, nowhere):
    home = places.WORK / "first-node"
    return Program(f"first-node/node_modules/{package}", "first-node", ["node", FIRST / "node" / f"{name}_first.js", home], nowhere)


PROGRAMS = {
    "confluent-kafka": python("confluent_kafka", "_TRANSPORT"),
    "kafka-python": python("kafka_python", "KafkaTimeoutError: Unable to bootstrap"),
    "aiokafka": python("aiokafka", "KafkaConnectionError"),
    "java": Program("first-java.cp", "first-java", lambda: [*places.java("first-java"), "aplomb.first.Main"], "TimeoutException"),
    "franz-go": go("franz-go", "unable to dial"),
    "sarama": go("sarama", "client has run out of available brokers"),
    "kafka-go": go("kafka-go", "connection refused"),
    "kafkajs": node("kafkajs", "kafkajs", "KafkaJS"),
    "platformatic": node("platformatic", "@platformatic/kafka", "metadata failed 3 times"),
    "rskafka": Program(
        "first-rust/target/debug/first", "first-rust", [places.WORK / "first-rust" / "target" / "debug" / "first"], "deadline",
        lacks=("cluster", "configs"),
    ),
}  # fmt: skip


@pytest.fixture
def broker(start_broker):
    """One for each client, which finds it empty."""
    started = start_broker(properties=PROPERTIES)
    yield started
    started.close()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_minute(broker, name, tmp_path, record_property):
    program = PROGRAMS[name]
    [nothing] = brokers.free_ports(1)
    client = program.start(tmp_path / "errors", broker.bootstrap, f"127.0.0.1:{nothing}")
    said = {}
    try:
        while "release" not in (line := client.receive(PATIENCE)):
            if "restart" in line:
                broker.stop()
                time.sleep(AWAY)
                broker.start()
                client.send("the broker is back")
            else:
                said[line["step"]] = line["said"]
    finally:
        client.close()
    record_property("release", line["release"])
    assert "UNKNOWN_" in str(said.pop("missing"))
    nowhere = said.pop("nowhere")
    assert set(nowhere) == {"error"} and program.nowhere in nowhere["error"], nowhere
    assert said == {step: found for step, found in WANTED.items() if step not in program.lacks}, line["release"]
    assert broker.alive()
