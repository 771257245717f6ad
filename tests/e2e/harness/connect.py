"""Workers of Kafka Connect in distributed mode, by their REST interface, and MirrorMaker 2: both unmodified."""

import json
import subprocess
import time
import urllib.error
import urllib.request

from harness import places
from harness.broker import free_ports

PATIENCE = 60


class _Program:
    """A main class with a file of settings; it can be killed and started again."""

    main = None

    def __init__(self, directory, settings):
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._log = directory / "log"
        self._config = directory / "properties"
        self._config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._process = None

    def start(self):
        """Starts it, and does not wait."""
        log = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        command = [*places.java("connect", log), self.main, str(self._config)]
        with open(self._log, "ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out, cwd=self._directory)
        return self

    def check(self):
        """It is there."""
        assert self._process.poll() is None, f"{self.main} ended with {self._process.returncode}:\n{self.log_tail()}"

    def stop(self):
        """A clean stop by SIGTERM."""
        self._process.terminate()
        self._process.wait(PATIENCE)

    def kill(self):
        """kill -9, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def log_tail(self, lines=40):
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])


class MirrorMaker(_Program):
    """MirrorMaker 2 as a process of its own, which mirrors two clusters into each other, and each record once."""

    main = "org.apache.kafka.connect.mirror.MirrorMaker"

    def __init__(self, brokers, directory, topics):
        """`brokers`: by the names of their clusters."""
        [port] = free_ports(1)
        one, other = brokers
        replicated = ("", "checkpoints.topic.", "heartbeats.topic.", "offset-syncs.topic.", "config.storage.", "offset.storage.", "status.storage.")
        super().__init__(
            directory,
            {
                "clusters": ",".join(brokers),
                **{f"{name}.bootstrap.servers": broker.bootstrap for name, broker in brokers.items()},
                **{f"{way}.enabled": "true" for way in (f"{one}->{other}", f"{other}->{one}")},
                "topics": topics,
                **{f"{prefix}replication.factor": "1" for prefix in replicated},
                **{f"{name}.exactly.once.source.support": "enabled" for name in brokers},
                "dedicated.mode.enable.internal.rest": "true",
                "listeners": f"http://127.0.0.1:{port}",
                "sync.group.offsets.enabled": "true",
                "offset.lag.max": "0",
                **{
                    f"{what}.interval.seconds": "1"
                    for what in ("refresh.topics", "refresh.groups", "sync.topic.configs", "sync.group.offsets", "emit.checkpoints", "emit.heartbeats")
                },
                "offset.flush.interval.ms": "500",
                "scheduled.rebalance.max.delay.ms": "1000",
                "session.timeout.ms": "6000",
                "heartbeat.interval.ms": "500",
                "metadata.max.age.ms": "1000",
                "reconnect.backoff.max.ms": "500",
            },
        )


class Worker(_Program):
    """One worker, which has the same port whenever it is started."""

    main = "org.apache.kafka.connect.cli.ConnectDistributed"

    def __init__(self, broker, group, directory, **more):
        [self.port] = free_ports(1)
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "listeners": f"http://127.0.0.1:{self.port}",
            "rest.advertised.host.name": "127.0.0.1",
            "plugin.discovery": "service_load",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            **{f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")},
            **{f"{kind}.storage.replication.factor": 1 for kind in ("config", "offset", "status")},
            "offset.flush.interval.ms": 500,
            # Of workers, and of the group of a sink's tasks.
            **{f"{prefix}session.timeout.ms": 3000 for prefix in ("", "consumer.")},
            **{f"{prefix}heartbeat.interval.ms": 300 for prefix in ("", "consumer.")},
            "scheduled.rebalance.max.delay.ms": 1000,
            "metadata.max.age.ms": 1000,
            "reconnect.backoff.max.ms": 500,
            **{key.replace("_", "."): value for key, value in more.items()},
        }
        super().__init__(directory, settings)

    @property
    def id(self):
        return f"127.0.0.1:{self.port}"

    def call(self, method, path, body=None):
        """The answer's status and content; (None, reason) when there is none."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.id}{path}", data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode(errors="replace")
        except OSError as failure:
            return None, str(failure)

    def until(self, method, path, body=None, answers=lambda content: True, what=None):
        """Asks until the answer is the wanted one; while workers agree on who does what, they refuse."""
        deadline = time.monotonic() + PATIENCE
        while True:
            status, content = self.call(method, path, body)
            if status is not None and status < 300 and answers(content):
                return content
            self.check()
            assert time.monotonic() < deadline, f"{what or path}, which is not so: {status} {content}\n{self.log_tail()}"
            time.sleep(0.1)

    def get(self, path, **options):
        return self.until("GET", path, **options)


def runs_on(status):
    """The workers of a connector and its tasks, if all of them run; otherwise none."""
    parts = [status["connector"], *status["tasks"]]
    running = status["tasks"] and all(part["state"] == "RUNNING" for part in parts)
    return {part["worker_id"] for part in parts} if running else set()
