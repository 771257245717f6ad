"""What people do first with a new broker, with the newest release of each client: it works without a stumble. Which release that was
is told, since it is not pinned."""

import json
import subprocess

import pytest
from harness import places

PROPERTIES = {"auto.create.topics.enable": "false"}
PROGRAMS = ("confluent_kafka", "kafka_python", "aiokafka")
WANTED = {
    "list": [], "cluster": 1, "create": ["first"], "describe": 3, "configs": "delete", "produce": 20, "consume": 20, "delete": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def newest():
    """A Python with the newest release of each client."""
    python = places.WORK / "newest" / "bin" / "python"
    if not python.exists():
        pytest.skip("tests/setup.sh could not install the newest clients: the package index was not there")
    return python


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_first_minute(broker, newest, program, record_property):
    script = places.CLIENTS / "first" / f"{program}_first.py"
    done = subprocess.run([newest, script, broker.bootstrap], capture_output=True, text=True, timeout=240, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines and "release" in lines[-1], done.stderr
    record_property("release", lines[-1]["release"])
    print(lines[-1]["release"])
    said = {line["step"]: line["said"] for line in lines if "step" in line}
    assert "UNKNOWN_" in str(said.pop("missing"))
    assert said == WANTED, lines[-1]["release"]
