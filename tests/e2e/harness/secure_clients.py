"""Programs of other clients than Java and librdkafka that come in by TLS and SASL, write records and read them from the start."""

import json
import shutil
import subprocess
import sys

import pytest
from harness import places

PYTHON = places.CLIENTS / "python" / "secure.py"
COMMANDS = {
    "franz-go": lambda: [str(places.prepared(places.WORK / "bin" / "secure-franz-go"))],
    "sarama": lambda: [str(places.prepared(places.WORK / "bin" / "secure-sarama"))],
    "kafkajs": lambda: ["node", str(places.CLIENTS / "kafkajs" / "secure.js")],
    "kafka-python": lambda: [sys.executable, str(PYTHON), "kafka-python"],
    "aiokafka": lambda: [sys.executable, str(PYTHON), "aiokafka"],
}
NEEDS = {"franz-go": "go", "sarama": "go", "kafkajs": "node"}
EVERYTHING = {"values": [f"value-{n}" for n in range(10)]}


def run(broker, library, listener, topic, **options):
    if shutil.which(NEEDS.get(library, "python3")) is None:
        pytest.skip(f"no {NEEDS[library]} here")
    arguments = [f"--{name}={value}" for name, value in options.items() if value is not None]
    at = [f"--bootstrap=localhost:{broker.ports[listener]}", f"--topic={topic}", "--count=10"]
    done = subprocess.run([*COMMANDS[library](), *at, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])
