"""A program without memory waits for the disk to take its dirty pages, and the disk's daemon needs memory to take them: both go on."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from slow_disks import MiB

pytestmark = pytest.mark.root

CGROUPS = Path("/sys/fs/cgroup")
LIMIT = 48 * MiB

# Enters the group, writes many times its memory, syncs, and reads it all again.
PROGRAM = """
import os, sys
group, path, mebibytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(group, "w") as procs:
    procs.write(str(os.getpid()))
block = b"x" * (1 << 20)
with open(path, "wb") as file:
    for _ in range(mebibytes):
        file.write(block)
    file.flush()
    os.fsync(file.fileno())
with open(path, "rb") as file:
    while read := file.read(1 << 20):
        assert read == block
"""


class Group:
    """A memory cgroup, of either version; nothing if this machine has none that we may use."""

    def __init__(self, name):
        first = CGROUPS / "memory"
        self.second = not first.is_dir()
        self.place = (CGROUPS if self.second else first) / name
        self.place.mkdir()
        limit = "memory.max" if self.second else "memory.limit_in_bytes"
        (self.place / limit).write_text(str(LIMIT))

    @property
    def procs(self):
        return self.place / "cgroup.procs"

    def times_at_the_limit(self):
        if not self.second:
            return int((self.place / "memory.failcnt").read_text())
        events = dict(line.split() for line in (self.place / "memory.events").read_text().splitlines())
        return int(events["max"])


@pytest.fixture
def group():
    place = f"aplomb-lab-test-{os.getpid()}"
    try:
        made = Group(place)
    except OSError as error:
        for each in (CGROUPS / "memory" / place, CGROUPS / place):
            with contextlib.suppress(OSError):
                each.rmdir()
        pytest.skip(f"no memory cgroup can be made here: {error}")
    yield made
    made.place.rmdir()


@pytest.mark.parametrize("filesystem", ("xfs", "ext4"))
def test_a_writer_short_of_memory_and_its_disk_both_go_on(disk, group, filesystem):
    made = disk(filesystem)
    made.do("delay", "--write", "20ms", "--flush", "20ms")
    arguments = [group.procs, made.mount / "file", 4 * LIMIT // MiB]
    subprocess.run([sys.executable, "-c", PROGRAM, *map(str, arguments)], check=True, timeout=100)
    assert group.times_at_the_limit() > 0
    assert made.answered("write")(20) > 0
