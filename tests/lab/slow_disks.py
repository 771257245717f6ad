"""`aplomb lab disk` for tests: commands, what a disk says of itself, and what is left of it afterwards."""

import json
import mmap
import os
import subprocess
import threading
import time
from pathlib import Path

from harness import broker

RUNTIME = Path("/run/aplomb-lab")
PAGE = 4096
MiB = 1 << 20


def command(*arguments):
    return [broker.binary(), *map(str, arguments)]


def aplomb(*arguments, expect=0):
    """Runs `aplomb`; returns what it says, on the standard error if it was to fail."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == expect, f"exit code {done.returncode}: {done.stdout}{done.stderr}"
    return done.stderr if expect else done.stdout


def eventually(what, seconds=30):
    """Waits until `what()` is true, and says whether it became so."""
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class SlowDisk:
    """A disk made by hand. Size 400 MiB: XFS takes nothing below 300."""

    def __init__(self, name, filesystem="xfs", *options, size="400M"):
        self.name = name
        aplomb("lab", "disk", "create", name, "--size", size, "--filesystem", filesystem, *options)
        status = self.status()
        self.mount, self.device, self.daemon = Path(status["mount"]), status["device"], status["daemon"]

    def do(self, what, *arguments):
        return aplomb("lab", "disk", what, self.name, *arguments)

    def status(self):
        return json.loads(self.do("status", "--json"))

    def answered(self, operation):
        """How many requests of a kind were answered, and how many of them took at least so long: `answered("read")(milliseconds)`."""
        buckets = self.status()["service_times"][operation]["buckets"]
        return lambda milliseconds=0: sum(each["count"] for each in buckets if each["up_to_us"] >= milliseconds * 1000)

    def at_once(self, operation):
        return self.status()["at_once"][operation]

    def under_way(self):
        """How many requests are in the device, of whatever kind: a filesystem reads before it writes what it has not seen yet."""
        return sum(each["now"] for each in self.status()["at_once"].values())

    def all_answered(self):
        return {operation: self.answered(operation)() for operation in ("read", "write", "flush")}

    def traces(self):
        return traces(self.name, self.daemon)


def traces(name, daemon=None):
    """All that is left of a disk in the tables of the kernel, among files and processes."""
    left = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"{RUNTIME / name}/" in line]
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if str(RUNTIME / name) in backing.read_text():
                left.append(str(backing))
        except OSError:
            pass
    left += [str(each) for each in (RUNTIME / name, RUNTIME / f"{name}.lock") if each.exists()]
    if daemon is not None and process_lives(daemon):
        left.append(f"process {daemon}")
    return left


def process_lives(pid):
    """A process that is ended and not waited for yet does not live, but for threads that have not ended yet."""
    try:
        first = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return first != "Z" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def in_parallel(count, act):
    """Does `act(number)` in as many threads, and raises what one of them raised."""
    failures = []

    def body(number):
        try:
            act(number)
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def read_pages(path, pages):
    """Reads so many pages, far from each other, past the page cache, all at the same time."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        in_parallel(pages, lambda number: os.preadv(file, [mmap.mmap(-1, PAGE)], number * 64 * PAGE))
    finally:
        os.close(file)


def write_pages(path, pages):
    """Writes so many pages of an existing file, far from each other, past the page cache, all at the same time."""
    file = os.open(path, os.O_WRONLY | os.O_DIRECT)
    try:
        in_parallel(pages, lambda number: os.pwritev(file, [mmap.mmap(-1, PAGE)], number * 64 * PAGE))
    finally:
        os.close(file)


def write_and_sync(path, data=b"written"):
    """As a program does that wants to keep something."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
