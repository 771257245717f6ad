"""Apache Kafka's own system test of exactly-once Kafka Streams (`StreamsEosTest`), each of its programs as a process."""

import subprocess
import time

from harness import places

MAIN = "org.apache.kafka.streams.tests.StreamsEosTest"
GROUP = "EosTest"
# What it is about, and by which names; all have as many partitions.
TOPICS = ("data", "echo", "min", "sum", "repartition", "max", "cnt")
# It would create these with three replicas, whatever it is told, and uses those that are there.
CHANGELOGS = tuple(f"{GROUP}-KSTREAM-AGGREGATE-STATE-STORE-{number:010}-changelog" for number in (3, 7, 14, 18))


class Program:
    """One of `run` (writes records until it is stopped), `process-complex` (the application) and `verify-complex`."""

    def __init__(self, broker, directory, command, **properties):
        directory.mkdir(parents=True, exist_ok=True)
        said = {
            "bootstrap.servers": broker.bootstrap, "processing.guarantee": "exactly_once_v2",
            "state.dir": directory / "state", "group.protocol": "classic", **properties,
        }  # fmt: skip
        config = directory / "streams.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in said.items()))
        self._log = directory / f"{command}.{time.monotonic_ns()}.log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen([*places.java("eos"), MAIN, str(config), command], stdout=log, stderr=log)

    def said(self):
        return self._log.read_text(errors="replace")

    def is_running(self):
        """Whether the application has its tasks and works on them."""
        states = [line for line in self.said().splitlines() if line.startswith("StateChange: ")]
        return bool(states) and states[-1].endswith("-> RUNNING")

    def stop(self, patience=60):
        """Ends it as an operator would."""
        self._process.terminate()
        self.end(patience)

    def end(self, patience=60):
        """Waits until it has ended by itself."""
        self._process.wait(patience)

    def kill(self):
        self._process.kill()
        self._process.wait()
