"""`aplomb lab run` for tests: which incidents there are, runs of them two at a time, and what is left of a run afterwards."""

import contextlib
import errno
import json
import re
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness import broker

# A short run sleeps most of its time.
LANES = 2
# Two incidents that change something for the whole machine are not run at once.
MACHINE = threading.Lock()
STARTS = 5


def command(*arguments):
    return [broker.binary(), "lab", *map(str, arguments)]


def incidents():
    """What `aplomb lab list --json` says, by name."""
    done = subprocess.run(command("list", "--json"), capture_output=True, text=True, check=True)
    return {each["name"]: each for each in json.loads(done.stdout)}


@dataclass
class Run:
    """What has become of a run."""

    code: int
    said: str
    record: dict
    page: Path
    left: list

    @property
    def broker(self):
        """The part of the record that is about its only broker."""
        (only,) = self.record["brokers"]
        return only

    @property
    def disk_was_made_slow(self):
        """Whether it was told to delay something or to answer nothing."""
        return any(command.startswith(("aplomb lab disk delay", "aplomb lab disk freeze")) for command in self.broker["commands"])

    @property
    def slowest_of_the_disk(self):
        """Milliseconds that the slowest request to the disk took during the disturbance."""
        bars = (bar for operation in self.broker["device"].values() for bar in operation["during"])
        return max((bar["up_to_us"] / 1000 for bar in bars if bar["count"]), default=0)


class Lanes:
    """Short runs in the background, some at a time. Those that are still under way at the end are ended by Ctrl-C."""

    def __init__(self, folder):
        self.folder = folder
        self.pool = ThreadPoolExecutor(LANES)
        self.processes = {}
        self.results = {}

    def start(self, incident, kind):
        self.results[incident["name"], kind] = self.pool.submit(self._run, incident, kind)

    def result(self, name, kind):
        return self.results[name, kind].result()

    def again(self, incident, kind):
        """Runs it once more, at once and beside the others."""
        return self._run(incident, kind)

    def close(self):
        self.pool.shutdown(wait=False, cancel_futures=True)
        for process in list(self.processes.values()):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
        self.pool.shutdown()

    def _run(self, incident, kind):
        name = incident["name"]
        with MACHINE if incident["changes_the_machine"] else contextlib.nullcontext():
            out = self.folder / kind
            words = ("run", name, "--short", "--broker", kind, "--out", out, "--seed", 1)
            process = started(command(*words))
            self.processes[name, kind] = process
            said, _ = process.communicate()
            del self.processes[name, kind]
            left = traces(process.pid)
        record = out / f"{name}.json"
        known = json.loads(record.read_text()) if record.exists() else {}
        return Run(process.returncode, said, known, out / f"{name}.html", left)


def started(words):
    """The process. Other runs take memory from the whole machine, and a kernel that cannot get at a page of the program just then says "bad address"."""
    for attempt in range(STARTS):
        try:
            return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except OSError as refused:
            if refused.errno != errno.EFAULT or attempt == STARTS - 1:
                raise
            time.sleep(1)


def traces(pid):
    """What is left of a lab process: mounts, loop devices with a file of its disks, folders, brokers."""
    mine = re.compile(rf"(aplomb-lab|lab)-{pid}-")
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if mine.search(line)]
    loops = [each for each in Path("/sys/block").glob("loop*/loop/backing_file") if _names(each, mine)]
    groups = Path("/sys/fs/cgroup")
    places = [Path("/run/aplomb-lab"), Path("/tmp"), Path("/dev/shm"), groups, groups / "memory", groups / "cpu"]
    files = [each for place in places if place.is_dir() for each in place.iterdir() if mine.search(each.name)]
    processes = [each for each in Path("/proc").glob("[0-9]*/cmdline") if _names(each, mine)]
    return [*mounts, *map(str, [*loops, *files, *processes])]


def _names(path, pattern):
    try:
        return bool(pattern.search(path.read_text(errors="replace")))
    except OSError:
        return False


def eventually_nothing(pid, seconds=60):
    """What is still left after a while; nothing, if all is well."""
    deadline = time.monotonic() + seconds
    while traces(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return traces(pid)
