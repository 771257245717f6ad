"""A broker under test: Aplomb, or Apache Kafka as a single KRaft node, with directories and ports of its own. It can be stopped,
killed and started again on the same directories and ports, and its last log lines go into the report of a failed test."""

import contextlib
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from harness import places, wire

START_TIMEOUT = 60
STOP_TIMEOUT = 60
# Below those that connections get (net.ipv4.ip_local_port_range).
PORTS = range(10_000, 32_000)


class BrokerDied(Exception):
    """The process ended while it should run, or did not become ready; the message has the end of its log."""


def free_ports(count):
    """Ports that are free, and are not given out again for a long while: suites that run at the same time take turns, and connections
    get theirs from above these."""
    places.WORK.mkdir(parents=True, exist_ok=True)
    with (places.WORK / "ports").open("a+") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        turn.seek(0)
        port = int(turn.read() or random.choice(PORTS))
        found = []
        while len(found) < count:
            port = port + 1 if port + 1 in PORTS else PORTS.start
            if _is_free(port):
                found.append(port)
        turn.truncate(0)
        turn.write(str(port))
    return found


def _is_free(port):
    with socket.socket() as each:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            each.bind(("127.0.0.1", port))
            return True
    return False


class Broker:
    """Common to both kinds: properties, start, readiness, stop."""

    kind = None
    clean_exits = (0,)
    start_timeout = START_TIMEOUT
    stop_timeout = STOP_TIMEOUT
    # How much the process may grow under hostile input; what it needs for that is bounded, not nothing.
    memory_slack = 128 << 20

    def __init__(self, directory, properties=None, log_dirs=1):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port, self.controller_port = free_ports(2)
        self.log_dirs = [self.directory / f"data{i}" for i in range(log_dirs)]
        self.log_file = self.directory / "broker.log"
        self.properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
            "log.dirs": ",".join(map(str, self.log_dirs)),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            **(properties or {}),
        }
        self.process = None
        self.closed = False

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        """Starts the process and waits until it lists itself to clients."""
        config = self.directory / "server.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in self.properties.items()))
        self._prepare(config)
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(self._command(config), stdout=log, stderr=log, cwd=self.directory)
        self._wait_until_ready()
        return self

    def take_over(self, other):
        """Serves the stopped other's directories at its addresses, whatever kind it is."""
        self.log_dirs = other.log_dirs
        self.port, self.controller_port = other.port, other.controller_port
        for key in ("listeners", "controller.quorum.voters", "controller.quorum.bootstrap.servers", "log.dirs"):
            self.properties.pop(key, None)
            if key in other.properties:
                self.properties[key] = other.properties[key]
        return self.start()

    def stop(self):
        """A clean stop by SIGTERM."""
        if not self.alive():
            raise BrokerDied(f"the broker was already gone ({self.process.returncode}):\n{self.log_tail()}")
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(self.stop_timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BrokerDied(f"no clean stop within {self.stop_timeout} s:\n{self.log_tail()}") from None
        if self.process.returncode not in self.clean_exits:
            raise BrokerDied(f"SIGTERM ended the broker with {self.process.returncode}:\n{self.log_tail()}")

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def close(self):
        """Ends the process, if it still runs, and removes its directories."""
        if self.alive():
            self.kill()
        for directory in self.log_dirs:
            shutil.rmtree(directory, ignore_errors=True)
        self.closed = True

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def resident_bytes(self):
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise BrokerDied(f"no memory figure for the broker:\n{self.log_tail()}")

    def log_tail(self, lines=60):
        if not self.log_file.exists():
            return ""
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])

    def partition_directories(self):
        """The directories of all partitions, the metadata log among them."""
        return sorted(path for directory in self.log_dirs for path in directory.iterdir() if path.is_dir())

    def _wait_until_ready(self):
        deadline = time.monotonic() + self.start_timeout
        while time.monotonic() < deadline:
            if not self.alive():
                raise BrokerDied(f"the broker ended at start ({self.process.returncode}):\n{self.log_tail()}")
            try:
                with wire.Connection(self.port, timeout=5) as connection:
                    error, _, _ = wire.read_api_versions(connection.ask(wire.api_versions(0)), 0)
                    brokers, _ = wire.read_metadata(connection.ask(wire.metadata([])))
                if error == 0 and brokers:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise BrokerDied(f"the broker was not ready within {self.start_timeout} s:\n{self.log_tail()}")

    def _prepare(self, config):
        """What has to happen before the process starts."""

    def _command(self, config):
        """What starts the process."""
        raise NotImplementedError


class Aplomb(Broker):
    """`aplomb serve`; the binary is target/release/aplomb unless APLOMB_BIN names another."""

    kind = "aplomb"

    def __init__(self, directory, properties=None, log_dirs=1):
        # A memory file system; the tail outlives the process there, and a test's directories are removed without it.
        self.tail_dir = Path(tempfile.mkdtemp(prefix="aplomb-e2e-", dir="/dev/shm"))
        ours = {"aplomb.guard": "enforce", "aplomb.tail.bytes": str(64 << 20), "aplomb.tail.dir": str(self.tail_dir)}
        # So that requests cross from one shard to another on small machines, too.
        ours["aplomb.shards"] = "2"
        super().__init__(directory, {**ours, **(properties or {})}, log_dirs)

    def close(self):
        super().close()
        shutil.rmtree(self.tail_dir, ignore_errors=True)

    def _command(self, config):
        return [binary(), "serve", "--config", str(config)]


class Kafka(Broker):
    """Apache Kafka from its Maven jars."""

    kind = "kafka"
    # The class path of its release.
    release = "oracle"
    # A JVM that stops on SIGTERM says so, after its shutdown hooks have run.
    clean_exits = (0, 128 + signal.SIGTERM)
    # The heap grows to its limit whether it must or not.
    memory_slack = 640 << 20

    def __init__(self, directory, properties=None, log_dirs=1, features=()):
        """`features` are levels of a new cluster that differ from the release's, as "name=level"."""
        self.features = features
        theirs = {key: value for key, value in (properties or {}).items() if not key.startswith("aplomb.")}
        # Retention starts 30 s after the broker otherwise, and a killed broker is waited for as long as its session lasts.
        quick = {"log.initial.task.delay.ms": "500", "broker.session.timeout.ms": "5000", "broker.heartbeat.interval.ms": "500"}
        super().__init__(directory, {**quick, **theirs}, log_dirs)

    def _prepare(self, config):
        if (self.log_dirs[0] / "meta.properties").exists():
            return
        self.format(config)

    def format(self, config, *arguments):
        """`kafka-storage format`."""
        command = [*places.java(self.release), "kafka.tools.StorageTool", "format", "-t", "aplombEndToEndTests000", "-c", str(config), *arguments]
        for feature in self.features:
            command += ["--feature", feature]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise BrokerDied(f"kafka-storage format: {done.stdout}{done.stderr}")

    def _command(self, config):
        log = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
        return [*places.java(self.release, *log), "kafka.Kafka", str(config)]


KINDS = {"aplomb": Aplomb, "kafka": Kafka}


def binary():
    return os.environ.get("APLOMB_BIN", str(places.CHECKOUT / "target" / "release" / "aplomb"))


def under_test():
    """The class that APLOMB_E2E_BROKER names."""
    name = os.environ.get("APLOMB_E2E_BROKER", "aplomb")
    if name not in KINDS:
        raise ValueError(f"APLOMB_E2E_BROKER is {name!r}; it can be {' or '.join(KINDS)}")
    return KINDS[name]
