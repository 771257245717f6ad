"""`aplomb doctor watch` beside a broker: beside a run of the lab, which knows what is true of it, or beside a broker that a tool stops here."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "e2e")]

from harness import broker as brokers  # noqa: E402
from harness import tools  # noqa: E402

# No cause that blames a disk.
NO_DISK = {
    "cpu-starvation",
    "cpu-quota",
    "long-gc",
    "vm-operation",
    "client-quota",
    "slow-consumer",
    "network",
    "swap",
    "clock-step",
    "memory-compaction",
}


@dataclass
class Seen:
    """What the doctor said, and what it cost."""

    answer: dict
    recording: dict
    record: Path

    @property
    def causes(self):
        return [cause["name"] for cause in self.answer["causes"]]

    @property
    def cost(self):
        """Share of one processor."""
        return self.recording["sight"]["cost_cpu_ms"] / self.recording["clock"]["length_ms"]

    @property
    def look_ms(self):
        return self.recording["sight"]["look_interval_ms"]


class Watch:
    """The doctor beside a process, until that ends or it is told to stop."""

    def __init__(self, pid, folder, *options):
        self.record = Path(folder) / f"watch-{pid}.json"
        command = [brokers.binary(), "doctor", "watch", "--pid", pid, "--format", "json", "--record", self.record, *options]
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, timeout=60):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        return self.wait(timeout)

    def wait(self, timeout=60):
        said, error = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0, error
        return Seen(json.loads(said), json.loads(self.record.read_text()), self.record)


class NotHere(Exception):
    """The lab does not run this incident here, or not with this broker."""


@functools.cache
def incidents(version="4.4.0"):
    """What the lab has, by name, with what is true of Apache Kafka of this version and of Aplomb."""
    words = [brokers.binary(), "lab", "list", "--json", "--kafka-version", version]
    listed = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True)
    return {each["name"]: each for each in json.loads(listed.stdout)}


def truth(incident, kind, version="4.4.0"):
    """The names that the first cause may have, none of them if nothing is to be named, and whether none is as true; None: not for this broker."""
    return incidents(version)[incident]["truth"][kind]


def is_true(truth, causes):
    """Whether the first of these causes, or that there is none, is what the lab has done."""
    return causes[0] in truth["causes"] if causes else truth["or_none"]


def is_right(incident, kind, causes):
    """The same, where others use the machine: processors and clients may be named before."""
    what = truth(incident, kind)
    return is_true(what, [cause for cause in causes if cause in what["causes"] or cause not in NO_DISK])


def is_no_disk(causes):
    """Whether no disk is blamed: on a machine that others use, processors may be."""
    return set(causes) <= NO_DISK


def beside_the_lab(incident, kind, folder, *options):
    """Runs an incident, watches each process of the broker, and gives what was seen of the last."""
    folder = Path(folder)
    command = [brokers.binary(), "lab", "run", incident, "--broker", kind, "--groups", "none", "--out", folder, *options]
    with open(folder / f"{incident}.{kind}.log", "w") as log:
        lab = subprocess.Popen([*map(str, command)], stdout=log, stderr=subprocess.STDOUT)
    watches = {}
    try:
        while lab.poll() is None:
            for pid in children(lab.pid):
                if pid not in watches and is_broker(pid, kind):
                    watches[pid] = Watch(pid, folder)
            time.sleep(0.1)
    finally:
        if lab.poll() is None:
            lab.send_signal(signal.SIGINT)
            lab.wait()
    seen = [watch.wait() for watch in watches.values()]
    said = (folder / f"{incident}.{kind}.log").read_text()
    if "cannot be run here" in said or "is not for" in said:
        raise NotHere(said.strip())
    assert seen, said
    return seen[-1]


def children(pid):
    """All processes below this one."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(") ")[2].split()[1])
    found, before = {pid}, set()
    while found != before:
        before = set(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found - {pid}


def is_broker(pid, kind):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"kafka.Kafka" in words if kind == "kafka" else b"serve" in words


@contextlib.contextmanager
def kafka(folder):
    """Apache Kafka on a disk that is left alone, with a topic."""
    broker = brokers.Kafka(Path(folder) / "kafka")
    tool = tools.Tools(Path(folder) / "tools.log")
    try:
        broker.start()
        tool.ok("kafka-topics", "--bootstrap-server", broker.bootstrap, "--create", "--topic", "load", "--partitions", "4")
        yield broker, tool
    finally:
        tool.close()
        broker.close()


@contextlib.contextmanager
def produced(broker, rate, size=1024):
    """Records at a rate for as long as the block lasts."""
    words = ["bench", "produce", "-b", broker.bootstrap, "-t", "load", "--partitions", 4, "-r", rate, "-d", "300s", "--record-size", size, "--quiet"]
    process = subprocess.Popen([brokers.binary(), *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def histograms(pid):
    """A tool asks the JVM for a histogram of its classes, again and again."""
    stop = threading.Event()
    jcmd = Path(os.readlink(f"/proc/{pid}/exe")).with_name("jcmd")

    def ask():
        while not stop.wait(0.3):
            subprocess.run([str(jcmd), str(pid), "GC.class_histogram"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()

