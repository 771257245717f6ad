"""However it ends, nothing is left of a slow disk: no mount, no loop device, no process, no file."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from slow_disks import aplomb, command, eventually, process_lives, read_pages, traces, write_and_sync

pytestmark = pytest.mark.root

# A process that makes a disk which goes with it, and then waits.
# Its answer to Ctrl-C is its own: a shell's background job hands down that the signal is ignored.
OWNER = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
subprocess.run([*sys.argv[1:], "--owner", str(os.getpid())], check=True)
print("made", flush=True)
time.sleep(600)
"""


def owner(name, *options):
    """Starts an owner with a disk."""
    create = command("lab", "disk", "create", name, "--size", "400M", *options)
    process = subprocess.Popen([sys.executable, "-c", OWNER, *create], stdout=subprocess.PIPE, text=True)
    lines = [process.stdout.readline(), process.stdout.readline()]
    assert lines[1] == "made\n", lines
    return process


@pytest.fixture
def name(request):
    made = f"test-{os.getpid()}-{request.node.name[:20].strip('_')}".replace("[", "-").replace("]", "")
    yield made
    if traces(made):
        aplomb("lab", "disk", "destroy", made)


@pytest.mark.parametrize("state", ("calm", "slow", "frozen", "failing"))
def test_a_disk_goes_with_its_owner_who_is_killed(name, state):
    process = owner(name)
    mount = Path("/run/aplomb-lab") / name / "mnt"
    (mount / "file").write_bytes(b"x" * (1 << 20))
    if state == "slow":
        aplomb("lab", "disk", "delay", name, "--read", "60s", "--write", "60s", "--flush", "60s")
    elif state == "frozen":
        aplomb("lab", "disk", "freeze", name)
    elif state == "failing":
        aplomb("lab", "disk", "fail", name)
    process.kill()
    process.wait()
    assert eventually(lambda: traces(name) == []), traces(name)


def test_a_disk_goes_with_its_owner_while_somebody_else_still_writes_there(name):
    """Who gets an error then, and is not stuck."""
    process = owner(name, "--filesystem", "ext4")
    file = os.open(Path("/run/aplomb-lab") / name / "mnt" / "file", os.O_WRONLY | os.O_CREAT)
    try:
        aplomb("lab", "disk", "freeze", name)
        process.kill()
        process.wait()
        assert eventually(lambda: not (Path("/run/aplomb-lab") / f"{name}.lock").exists())
        with pytest.raises(OSError) as failed:
            for _ in range(100):
                os.write(file, b"x" * 4096)
                os.fsync(file)
        assert failed.value.errno in (errno.EIO, errno.EROFS)
    finally:
        os.close(file)
    assert eventually(lambda: traces(name) == []), traces(name)


def test_ctrl_c_for_the_owner_is_not_for_the_disk_but_its_end_is(name):
    """A signal to all processes of the owner's group, as a terminal sends it."""
    create = command("lab", "disk", "create", name, "--size", "400M")
    process = subprocess.Popen([sys.executable, "-c", OWNER, *create], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    assert eventually(lambda: process.stdout.readline() == "made\n")
    os.killpg(process.pid, signal.SIGINT)
    process.wait()
    assert eventually(lambda: traces(name) == []), traces(name)


@pytest.mark.parametrize("after", (0, 0.02, 0.05, 0.1, 0.2))
def test_a_creation_that_is_killed_on_the_way_leaves_nothing(name, after):
    """The daemon notices that its creator is gone; a daemon that had not begun is found by the next command."""
    process = subprocess.Popen(command("lab", "disk", "create", name, "--size", "400M"), stdout=subprocess.DEVNULL)
    time.sleep(after)
    process.kill()
    was_killed = process.wait() == -signal.SIGKILL

    def gone():
        aplomb("lab", "disk", "list")
        return traces(name) == []

    if was_killed:
        assert eventually(gone), traces(name)


@pytest.mark.parametrize("state", ("calm", "frozen"))
@pytest.mark.parametrize("then", ("destroy", "list", "create"))
def test_what_a_killed_daemon_leaves_is_cleared_by_the_next_command(disk, state, then):
    made = disk("xfs" if state == "calm" else "ext4")
    (made.mount / "file").write_bytes(b"x" * (1 << 20))
    if state == "frozen":
        made.do("freeze")
    os.kill(made.daemon, signal.SIGKILL)
    assert eventually(lambda: not process_lives(made.daemon))
    assert made.traces()
    if then == "create":
        other = disk()
        read_pages(other.device, 1)
    elif then == "destroy":
        made.do("destroy")
    else:
        assert made.name not in aplomb("lab", "disk", "list")
    assert made.traces() == []


def test_whoever_waits_for_a_frozen_disk_is_released_when_its_daemon_is_killed(disk):
    made = disk()
    made.do("freeze")
    outcome = []

    def write():
        try:
            write_and_sync(made.mount / "file", b"x" * (1 << 20))
        except OSError as error:
            outcome.append(error.errno)

    writer = threading.Thread(target=write)
    writer.start()
    assert eventually(lambda: made.under_way() > 0)
    os.kill(made.daemon, signal.SIGKILL)
    writer.join(30)
    assert outcome == [errno.EIO]
    made.do("destroy")
    assert made.traces() == []


def test_owner_and_daemon_killed_together(name):
    process = owner(name)
    daemon = json.loads(aplomb("lab", "disk", "status", name, "--json"))["daemon"]
    process.kill()
    os.kill(daemon, signal.SIGKILL)
    process.wait()
    assert eventually(lambda: not process_lives(daemon))
    aplomb("lab", "disk", "list")
    assert traces(name, daemon) == []


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
def test_a_daemon_that_is_told_to_end_takes_its_disk_away(disk, number):
    made = disk()
    made.do("freeze")
    os.kill(made.daemon, number)
    assert eventually(lambda: made.traces() == []), made.traces()


def test_a_disk_without_an_owner_stays(disk):
    made = disk()
    write_and_sync(made.mount / "file")
    assert made.status()["owner"] is None
    assert process_lives(made.daemon) and made.mount.is_mount()


def test_many_that_destroy_it_at_once(disk):
    made = disk()
    destroyers = [subprocess.Popen(command("lab", "disk", "destroy", made.name), stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [(each.communicate()[1], each.returncode) for each in destroyers]
    # A command that comes when the disk is gone is told so.
    assert all(code == 0 or "there is no disk" in text for text, code in said), said
    assert any(code == 0 for _, code in said)
    assert made.traces() == []
