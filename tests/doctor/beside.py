"""`aplomb doctor watch` beside a broker: beside a run of the lab, or beside a broker whose machine, quota or client is made slow here."""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "e2e")]

from harness import broker as brokers  # noqa: E402
from harness import tools, wire  # noqa: E402

# What the doctor says of an incident: its own name, but where a version, or a run in which nothing meets, leaves nothing to be said.
NONE = ()
# Of Apache Kafka 4.4.0.
TRUTH = {
    "calm": NONE,
    "freeze-xfs": NONE,
    "roll": NONE,
    # It hurts in some runs, and then by the pages that the deletion reads.
    "munmap": ("munmap", "page-fault"),
}
# Aplomb's requests wait for none of that; a directory that is lost is lost to every broker.
LOST = ("disk-full", "eio", "kill-9-recovery")
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


def is_right(incident, kind, causes):
    """Whether causes, the best first, are what the lab has done. On a machine that others use, processors and clients may be named before."""
    causes = [cause for cause in causes if cause not in NO_DISK]
    if kind == "aplomb":
        return not causes or (incident in LOST and causes[0] == incident)
    truth = TRUTH.get(incident, (incident,))
    if incident == "munmap" and not causes:
        return True
    return causes[0] in truth if causes else not truth


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
    assert seen, (folder / f"{incident}.{kind}.log").read_text()
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
def kafka(folder, properties=None):
    """Apache Kafka on a disk that is left alone, with a topic."""
    broker = brokers.Kafka(Path(folder) / "kafka", properties)
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
def busy_processors():
    """Everything that runs has less of each processor than it wants."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.nice(-10)) for _ in range(8 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


# Of control groups, version 1 and 2.
GROUPS_1, GROUPS_2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


def has_groups_of_processors():
    if (GROUPS_1 / "cgroup.procs").exists():
        return os.access(GROUPS_1, os.W_OK)
    control = GROUPS_2 / "cgroup.subtree_control"
    return control.exists() and os.access(GROUPS_2, os.W_OK) and "cpu" in control.read_text().split()


@contextlib.contextmanager
def quota_of_processors(pid, share):
    """The process in a control group of its own, which may use so much of one processor; nothing happens where there is no such group to be had."""
    name, period = f"aplomb-doctor-{pid}", 100_000
    if not has_groups_of_processors():
        yield
        return
    if (GROUPS_1 / "cgroup.procs").exists():
        group, limit, value = GROUPS_1 / name, "cpu.cfs_quota_us", str(int(share * period))
    else:
        group, limit, value = GROUPS_2 / name, "cpu.max", f"{int(share * period)} {period}"
    group.mkdir()
    try:
        (group / limit).write_text(value)
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        for each in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (group.parent / "cgroup.procs").write_text(each)
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


@contextlib.contextmanager
def paused_consumer(broker):
    """A consumer that asks for 50 MB and takes nothing of it."""
    most = 50 << 20
    partitions = b"".join(struct.pack(">iqi", partition, 0, most) for partition in range(4))
    topics = struct.pack(">i", 1) + wire.string("load") + struct.pack(">i", 4) + partitions
    fetch = wire.header(1, 4) + struct.pack(">iiiib", -1, 500, 1, most, 0) + topics
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", broker.port))
        client.sendall(wire.frame(fetch))
        yield


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

