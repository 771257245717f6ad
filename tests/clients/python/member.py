"""What the Python programs share as members of a group: when they end, what they have read and not
committed, and the lines that they print, each at once."""

import sys
import time
from pathlib import Path

import suite

# Members learn of a rebalance from a heartbeat's answer, so tests take as long as these are apart.
HEARTBEAT_MS = 300


class Member:
    def __init__(self, options):
        self.topics = options["--topic"].split(",")
        self.commits = options.get("--commit", "sync")
        self.session_ms = options.number("--session", 10_000)
        self.reset = options.get("--reset", "earliest")
        self._until = Path(options["--until"])
        self._deadline = time.monotonic() + options.number("--timeout", 120)
        self._uncommitted = {}

    def goes_on(self):
        """Whether the file that ends the membership is not there yet."""
        if time.monotonic() > self._deadline:
            raise TimeoutError("the file that ends the membership was not made in time")
        return not self._until.exists()

    def record(self, topic, partition, offset, timestamp, key, value, headers=()):
        def text(data):
            return data.decode() if isinstance(data, bytes) else data

        self._uncommitted[topic, partition] = offset + 1
        line = {"topic": topic, "partition": partition, "offset": offset, "timestamp": timestamp, "key": text(key)}
        say({**line, "value_sha": suite.sha256(value), "headers": [[name, text(data)] for name, data in headers or []]})

    def uncommitted(self):
        """{(topic, partition): next offset} for all that this program has to commit by itself."""
        return {} if self.commits == "auto" else dict(self._uncommitted)

    def committed(self, offsets):
        for partition, offset in offsets.items():
            if self._uncommitted.get(partition) == offset:
                del self._uncommitted[partition]
        say({"committed": sorted([*partition, offset] for partition, offset in offsets.items())})

    def assigned(self, partitions, **more):
        say({"assigned": sorted(map(list, partitions)), "at": now(), **more})

    def revoked(self, partitions):
        self._gone("revoked", partitions)

    def lost(self, partitions):
        self._gone("lost", partitions)

    def _gone(self, how, partitions):
        partitions = list(partitions)
        for partition in partitions:
            self._uncommitted.pop(partition, None)
        say({how: sorted(map(list, partitions)), "at": now()})


def now():
    """Milliseconds, so that what several members say can be put in order."""
    return int(time.time() * 1000)


def say(line):
    suite.emit(line)
    sys.stdout.flush()


def error(name, message):
    """A failure after which the member goes on."""
    say({"error": name, "message": str(message)})
