"""Producers that go on whatever happens to their broker, and readers that check every byte, as child processes."""

import json
import subprocess
import time
from dataclasses import dataclass, field

from harness import places
from harness.lines import LineProcess

WORK = places.CHECKOUT / ".work" / "crash"
FRANZ_GO = WORK / "bin" / "franz-go"
CLIENTS = ("java", "franz-go")


class LoadFailed(Exception):
    """A client program ended when it should not have, or made no progress."""


def _command(client):
    if client == "franz-go":
        return [str(FRANZ_GO), "load"]
    dependencies = places.prepared(places.WORK / "clients-java.cp").read_text().strip()
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    jvm = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", quiet]
    return [*jvm, "-cp", f"{WORK / 'classes'}:{dependencies}", "aplomb.crash.Load"]


def _options(**given):
    return [text for name, value in given.items() if value is not None for text in (f"--{name}", str(value))]


def numbers(partitions):
    """Partitions as the clients take them."""
    partitions = list(partitions)
    if partitions == list(range(len(partitions))) and len(partitions) > 1:
        return f"0-{len(partitions) - 1}"
    return ",".join(map(str, partitions))


@dataclass(frozen=True)
class Ack:
    """One record that the broker has confirmed; `at` is when, in milliseconds of the machine's clock."""

    at: int
    partition: int
    seq: int
    offset: int


class Load:
    """One idempotent producer with acks=all over some partitions of a topic. `rate` is records a second, 0 as many as go."""

    def __init__(self, client, broker, topic, partitions, directory, rate=0, size=200, name=None, **options):
        self.name = name or client
        self.partitions = list(partitions)
        self.acks = []
        self.sent = None
        self._log = directory / f"{topic}-{self.name}.acks"
        self._log.unlink(missing_ok=True)
        self._read = 0
        self._rest = ""
        self._errors = directory / f"{topic}-{self.name}.err"
        command = _command(client) + _options(
            bootstrap=broker.bootstrap, topic=topic, partitions=numbers(partitions), id=self.name, rate=rate, size=size, log=self._log, **options
        )
        with open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)

    def news(self):
        """The acknowledgements since the last call; a record that was given up fails the test."""
        if not self._log.exists():
            return []
        with open(self._log) as log:
            log.seek(self._read)
            text = self._rest + log.read()
            self._read = log.tell()
        *whole, self._rest = text.split("\n")
        lines = [json.loads(line) for line in whole]
        failed = [line for line in lines if "error" in line]
        assert failed == [], f"{self.name} gave up {len(failed)} records, the first: {failed[0]}"
        news = [Ack(line["at"], line["partition"], line["seq"], line["offset"]) for line in lines]
        self.acks += news
        return news

    def wait_for_acks(self, patience=60, count=1):
        """Waits until the broker has confirmed so many more records, counted from now."""
        self.news()
        wanted, deadline = len(self.acks) + count, time.monotonic() + patience
        while len(self.acks) < wanted:
            if self._process.poll() is not None:
                raise LoadFailed(f"{self.name} ended with {self._process.returncode}: {self._error_tail()}")
            if time.monotonic() > deadline:
                raise LoadFailed(f"{self.name} got {len(self.acks) - wanted + count} of {count} acknowledgements in {patience} s: {self._error_tail()}")
            time.sleep(0.02)
            self.news()

    def wait_until_known(self, patience=60):
        """Waits for an acknowledgement in every partition. Only then can a restarted broker tell that what it gets first is not what
        came next: of a producer that a log does not know, any sequence number is a beginning."""
        deadline = time.monotonic() + patience
        while {ack.partition for ack in self.acks} != set(self.partitions):
            self.wait_for_acks(max(0.1, deadline - time.monotonic()))

    def stop(self, patience=90):
        """Ends the load when everything sent is confirmed; says how many records each partition was sent."""
        self._process.stdin.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise LoadFailed(f"{self.name} still waits for acknowledgements after {patience} s: {self._error_tail()}") from None
        if self._process.returncode != 0:
            raise LoadFailed(f"{self.name} ended with {self._process.returncode}: {self._error_tail()}")
        self.sent = {int(partition): count for partition, count in json.load(self._process.stdout)["sent"].items()}
        self.news()
        return self.sent

    def kill(self):
        self._process.kill()
        self._process.wait()

    def _error_tail(self):
        return self._errors.read_text(errors="replace")[-2000:]


@dataclass
class Reading:
    """What a reader found: for each partition (offset, producer, seq), and from where to where it read."""

    records: dict = field(default_factory=dict)
    starts: dict = field(default_factory=dict)
    ends: dict = field(default_factory=dict)


def read(broker, topic, partitions, start=None, patience=60):
    """Reads partitions by assignment, from the given offsets on, or from the start, to the end as it is now."""
    start = ",".join(f"{partition}:{offset}" for partition, offset in (start or {}).items())
    options = _options(bootstrap=broker.bootstrap, topic=topic, partitions=numbers(partitions), timeout=patience) + ["--from", start]
    done = subprocess.run([str(FRANZ_GO), "read", *options], capture_output=True, text=True, timeout=patience + 30)
    assert done.returncode == 0, f"reading {topic} failed: {done.stderr[-2000:]}"
    *records, last = done.stdout.splitlines()
    reading = Reading({partition: [] for partition in partitions})
    for text in records:
        line = json.loads(text)
        reading.records[line["partition"]].append((line["offset"], line["id"], line["seq"]))
    ends = json.loads(last)
    reading.starts = {int(partition): offset for partition, offset in ends["starts"].items()}
    reading.ends = {int(partition): offset for partition, offset in ends["ends"].items()}
    return reading


class Follower:
    """A consumer that reads the end of some partitions as it grows; `arrivals` are (milliseconds, partition, offset, producer, seq)."""

    def __init__(self, broker, topic, partitions, directory):
        self.arrivals = []
        command = [str(FRANZ_GO), "follow", *_options(bootstrap=broker.bootstrap, topic=topic, partitions=numbers(partitions))]
        self._process = LineProcess(command, directory / f"{topic}-follower.err")
        assert self._process.receive(60) == {"positioned": True}

    def stop(self, until=None, patience=30):
        """Ends it, when the offsets `until` have been reached if any are given, and returns what arrived."""
        missing = dict(until or {})
        deadline = time.monotonic() + patience
        while missing:
            self._take(max(0.1, deadline - time.monotonic()), missing)
        self._process.close()
        return self.arrivals

    def _take(self, timeout, missing):
        line = self._process.receive(timeout)
        self.arrivals.append((line["at"], line["partition"], line["offset"], line["id"], line["seq"]))
        if line["offset"] + 1 >= missing.get(line["partition"], float("inf")):
            del missing[line["partition"]]

    def close(self):
        self._process.close()


def existing_topics(broker):
    """{name: (id, partitions)} of the topics that the broker knows; each partition must have a leader."""
    done = subprocess.run([str(FRANZ_GO), "topics", "--bootstrap", broker.bootstrap], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"no list of topics: {done.stderr[-2000:]}"
    topics = [json.loads(line) for line in done.stdout.splitlines()]
    assert [topic for topic in topics if topic["leaderless"]] == []
    return {topic["topic"]: (topic["id"], topic["partitions"]) for topic in topics}


def placement(admin, topic, count, directories):
    """The partitions of a topic in each of the log directories, once all of them are there."""
    deadline = time.monotonic() + 20
    while True:
        found = {place["path"]: place["replicas"] for place in admin.call("describe-log-dirs")}
        placed = [[number for number in range(count) if f"{topic}-{number}" in found[str(directory)]] for directory in directories]
        if sum(map(len, placed)) == count:
            return placed
        assert time.monotonic() < deadline, f"of {count} partitions these are placed: {placed}"
        time.sleep(0.2)
