"""A slow disk does what it is told: requests wait side by side, a freeze holds them, failures reach the filesystem, and room ends."""

import errno
import json
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from harness.broker import binary
from slow_disks import MiB, aplomb, eventually, in_parallel, read_pages, traces, write_and_sync, write_pages

pytestmark = pytest.mark.root

BOTH = pytest.mark.parametrize("filesystem", ("xfs", "ext4"))


def mounted(disk):
    for line in Path("/proc/self/mounts").read_text().splitlines():
        device, at, kind, *_ = line.split()
        if at == str(disk.mount):
            return device, kind
    return None


@BOTH
def test_a_disk_has_the_kernels_own_filesystem_and_is_gone_when_it_is_destroyed(disk, filesystem):
    made = disk(filesystem)
    assert mounted(made) == (made.device, filesystem)
    write_and_sync(made.mount / "file", b"x" * MiB)
    assert (made.mount / "file").read_bytes() == b"x" * MiB
    assert made.traces()
    made.do("destroy")
    assert made.traces() == []


def test_delayed_reads_wait_side_by_side(disk):
    made = disk()
    made.do("delay", "--read", "100ms")
    read_pages(made.device, 64)
    slow = made.answered("read")
    assert slow(100) >= 64
    # Most at once: some threads begin late. One after the other would be 1.
    assert made.at_once("read")["most"] >= 32


def test_delayed_writes_wait_side_by_side_and_reads_beside_them_do_not_wait(disk):
    made = disk()
    write_and_sync(made.mount / "file", b"x" * (64 * 64 * 4096))
    made.do("delay", "--write", "100ms", "--read", "0")
    read_before = made.answered("read")()
    write_pages(made.mount / "file", 64)
    read_pages(made.mount / "file", 64)
    assert made.at_once("write")["most"] >= 32
    assert made.answered("write")(100) >= 64
    reads = made.answered("read")
    assert reads() - read_before >= 64
    assert reads(100) == 0


def test_flushes_are_delayed_and_with_write_through_there_are_none(disk):
    flushed, through = disk(), disk("xfs", "--cache", "write-through")
    # Making the loop device costs one.
    before = through.answered("flush")()
    for each in (flushed, through):
        each.do("delay", "--flush", "50ms")
        write_and_sync(each.mount / "file")
    assert flushed.answered("flush")(50) >= 1
    assert through.answered("flush")() == before


def test_a_device_carries_no_more_in_a_second_than_it_is_told(disk):
    made = disk("xfs", "--bandwidth", "16M")
    began = time.monotonic()
    write_and_sync(made.mount / "file", b"x" * (32 * MiB))
    # A millisecond may be ahead of time.
    assert time.monotonic() - began >= 1.99
    assert "carries 16.0 MiB/s at most" in made.do("status")
    assert made.status()["bandwidth"] == 16 * MiB


def test_what_a_device_has_still_to_carry_is_not_waited_for_when_it_ends(disk):
    made = disk("xfs", "--bandwidth", "1M")
    # All of it is in the page cache, and two minutes of the device.
    (made.mount / "file").write_bytes(b"x" * (128 * MiB))
    began = time.monotonic()
    made.do("destroy")
    assert time.monotonic() - began < 60
    assert made.traces() == []


def test_only_every_nth_request_is_delayed(disk):
    made = disk()
    made.do("delay", "--read", "60ms/4")
    before = made.answered("read")()
    read_pages(made.device, 40)
    reads = made.answered("read")
    assert reads() - before == 40
    assert reads(60) == 10


@BOTH
def test_a_freeze_holds_and_a_thaw_lets_go(disk, filesystem):
    made = disk(filesystem)
    made.do("freeze")
    written = threading.Thread(target=write_and_sync, args=(made.mount / "file",))
    written.start()
    assert eventually(lambda: made.under_way() > 0)
    answered = made.all_answered()
    written.join(0.5)
    assert written.is_alive()
    assert made.all_answered() == answered
    assert made.status()["frozen_ms"] >= 500

    made.do("thaw")
    written.join(30)
    assert not written.is_alive()
    assert made.status()["frozen_ms"] is None
    assert any(made.answered(operation)(500) for operation in answered)
    assert (made.mount / "file").read_bytes() == b"written"


def test_a_schedule_comes_true_without_anybody_there(disk, tmp_path):
    made = disk()
    made.do("schedule", "--at", "100ms", "freeze", "--at", "300ms", "read=20ms", "--at", "600ms", "thaw")
    assert [list(step["change"])[0] if isinstance(step["change"], dict) else step["change"] for step in made.status()["to_come"]] == [
        "freeze",
        "delay",
        "thaw",
    ]
    assert eventually(lambda: made.status()["frozen_ms"] is not None)
    write_and_sync(made.mount / "file")
    status = made.status()
    assert status["frozen_ms"] is None and status["to_come"] == []
    assert status["delays"]["read"]["milliseconds"] == 20

    plan = tmp_path / "plan"
    plan.write_text("# nothing, for a long time\n1h freeze\n2h thaw # and again\n")
    made.do("schedule", "--file", plan)
    assert len(made.status()["to_come"]) == 2
    made.do("schedule", "--none")
    assert made.status()["to_come"] == []


@BOTH
def test_failing_writes_reach_the_filesystem(disk, filesystem):
    made = disk(filesystem)
    write_and_sync(made.mount / "before", b"x" * MiB)
    made.do("fail", "--write")
    with pytest.raises(OSError) as failed:
        write_and_sync(made.mount / "file", b"x" * MiB)
    assert failed.value.errno == errno.EIO
    made.do("heal")
    # A filesystem may have given up by then; the device has not.
    read_pages(made.device, 4)
    made.do("destroy")
    assert made.traces() == []


def test_failing_reads_reach_the_reader_until_the_disk_is_healed(disk):
    made = disk()
    write_and_sync(made.mount / "file", bytes(64 * 64 * 4096))
    made.do("fail", "--read")
    with pytest.raises(OSError) as failed:
        read_pages(made.mount / "file", 4)
    assert failed.value.errno == errno.EIO
    write_pages(made.mount / "file", 4)
    made.do("heal")
    read_pages(made.mount / "file", 4)


@BOTH
def test_a_full_disk_is_full_until_the_filler_goes(disk, filesystem):
    made = disk(filesystem)
    # XFS sets something aside for a file that grows, as much again as it has.
    growing = os.open(made.mount / "growing", os.O_WRONLY | os.O_CREAT)
    for _ in range(2048):
        os.write(growing, b"x" * 4096)
    made.do("fill", "--leave", "2M")
    free = os.statvfs(made.mount)
    assert free.f_bavail * free.f_frsize <= 2 * MiB
    with pytest.raises(OSError) as failed:
        for _ in range(1024):
            os.write(growing, b"x" * 4096)
    assert failed.value.errno == errno.ENOSPC
    os.close(growing)
    (made.mount / "growing").unlink()
    made.do("fill", "--leave", "2M")
    with pytest.raises(OSError) as failed:
        write_and_sync(made.mount / "file", b"x" * 8 * MiB)
    assert failed.value.errno == errno.ENOSPC
    (made.mount / "file").unlink()
    made.do("unfill")
    write_and_sync(made.mount / "file", b"x" * 8 * MiB)


def test_a_disk_in_a_directory_leaves_no_file_there(disk, tmp_path):
    made = disk("ext4", "--backing", tmp_path)
    write_and_sync(made.mount / "file", b"x" * MiB)
    assert made.status()["backing"] == {"directory": str(tmp_path)}
    assert list(tmp_path.iterdir()) == []


def test_a_mount_point_that_was_made_goes_and_one_that_was_there_stays(disk, tmp_path):
    there, free = tmp_path / "the re", tmp_path / "free"
    there.mkdir()
    for place in (there, free):
        made = disk("ext4", "--mount", place)
        assert made.mount == place and place.is_mount()
        made.do("destroy")
        assert made.traces() == []
    assert there.is_dir() and not free.exists()


def test_the_page_for_people_says_what_the_disk_does(disk):
    made = disk()
    made.do("delay", "--read", "20ms~5ms/3")
    page = made.do("status")
    assert f"{made.name}: xfs of 400 MiB, {made.mount} on {made.device}" in page
    assert "read: delay 20 ms ± 5 ms, one in 3" in page
    assert made.name in aplomb("lab", "disk", "list")
    assert made.name in [each["name"] for each in json.loads(aplomb("lab", "disk", "list", "--json"))]


def test_many_commands_at_once_are_all_answered(disk):
    made = disk()
    in_parallel(16, lambda number: made.do("delay", "--write", f"{number}ms"))
    assert made.status()["delays"]["write"]["milliseconds"] in range(16)


class TestRefused:
    """Commands that cannot be done say so in a sentence, and do nothing."""

    def test_a_second_disk_of_the_name(self, disk):
        made = disk()
        assert "already" in aplomb("lab", "disk", "create", made.name, expect=1)
        assert made.status()["daemon"] == made.daemon

    @pytest.mark.parametrize("what", ("status", "freeze", "destroy", "fill"))
    def test_a_disk_that_is_not_there(self, what):
        assert "there is no disk nobody" in aplomb("lab", "disk", what, "nobody", expect=1)
        assert traces("nobody") == []

    @pytest.mark.parametrize("bandwidth", ("0", "1023k"))
    def test_a_device_that_carries_next_to_nothing(self, bandwidth):
        assert "carries 1M a second at least" in aplomb("lab", "disk", "create", "still", "--bandwidth", bandwidth, expect=2)

    def test_a_name_that_is_a_path(self):
        assert "cannot be a disk's name" in aplomb("lab", "disk", "create", "../etc", expect=1)

    def test_a_mount_point_in_use(self, tmp_path):
        (tmp_path / "file").touch()
        name = f"test-{os.getpid()}-in-use"
        assert "it is not empty" in aplomb("lab", "disk", "create", name, "--mount", tmp_path, expect=1)
        assert traces(name) == []

    def test_a_disk_that_is_too_small_for_its_filesystem(self):
        name = f"test-{os.getpid()}-too-small"
        assert "mkfs.xfs failed" in aplomb("lab", "disk", "create", name, "--size", "8M", expect=1)
        assert traces(name) == []

    def test_a_disk_larger_than_memory(self):
        name = f"test-{os.getpid()}-too-large"
        assert "memory" in aplomb("lab", "disk", "create", name, "--size", "100000G", expect=1)
        assert traces(name) == []

    def test_anybody_but_root(self, tmp_path):
        """As another user, who can execute the program, wherever it lies."""
        program = tmp_path / "aplomb"
        for each in (tmp_path, *tmp_path.parents):
            if each != each.parent and each.stat().st_uid == os.geteuid():
                each.chmod(each.stat().st_mode | 0o011)
        program.write_bytes(Path(binary()).read_bytes())
        program.chmod(0o755)
        for what in (("create", "nobodys"), ("list",), ("destroy", "nobodys")):
            done = subprocess.run([program, "lab", "disk", *what], user=65534, group=65534, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr == "aplomb: a slow disk needs root: it is a filesystem that is mounted, on a loop device\n"
        assert traces("nobodys") == []
