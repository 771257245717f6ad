"""However a run ends, nothing is left of it: told to end, killed, or with a broker that fails."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lab_runs import command, eventually_nothing, traces

pytestmark = [pytest.mark.root, pytest.mark.timeout(200)]


def started(out, incident, said, broker="aplomb"):
    """A lab that has said so; its broker is under load on a disk that is disturbed, or soon will be."""
    run = command("run", incident, "--short", "--broker", broker, "--out", out)
    process = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if said in line:
            return process
    raise AssertionError("the lab has ended before its disturbance")


def brokers_of(lab):
    """Processes that the lab has started and that are brokers."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == lab and b"serve" in (process / "cmdline").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def ended(out, incident):
    """How the only broker's run has ended, by the record."""
    (only,) = json.loads((out / f"{incident}.json").read_text())["brokers"]
    return only["ended"]


def dirty_limits():
    names = ("dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_background_bytes")
    return [Path(f"/proc/sys/vm/{name}").read_text() for name in names]


@pytest.mark.parametrize("how", (signal.SIGINT, signal.SIGKILL), ids=("ctrl-c", "kill-9"))
def test_nothing_is_left_of_a_run_that_is_ended(how, tmp_path):
    before = dirty_limits()
    process = started(tmp_path, "dirty-limit", "answers nothing")
    try:
        # The limit is set, and the first freeze comes 0.4 s later.
        time.sleep(1)
        assert dirty_limits() != before
        process.send_signal(how)
        code = process.wait(timeout=90)
    finally:
        process.kill()
    assert code == (130 if how == signal.SIGINT else -how)
    assert eventually_nothing(process.pid) == []
    assert dirty_limits() == before


def test_nothing_is_left_when_the_broker_does_not_start(tmp_path):
    run = command("run", "calm", "--short", "--broker", "aplomb", "--aplomb", "/bin/false", "--out", tmp_path)
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 1, said
    assert "exit status: 1" in ended(tmp_path, "calm")["failed"]
    assert traces(process.pid) == []


def test_nothing_is_left_when_the_broker_dies_and_the_record_says_so(tmp_path):
    process = started(tmp_path, "freeze-xfs", "answers nothing")
    try:
        (broker,) = brokers_of(process.pid)
        os.kill(broker, signal.SIGKILL)
        code = process.wait(timeout=90)
    finally:
        process.kill()
    assert code == 1
    assert "signal: 9" in ended(tmp_path, "freeze-xfs")["failed"]
    assert traces(process.pid) == []


def test_what_there_is_not_is_said():
    done = subprocess.run(command("run", "nonsense"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "no incident" in done.stderr and "aplomb lab list" in done.stderr


def test_directories_and_listeners_are_the_labs_to_set():
    done = subprocess.run(command("run", "calm", "--override", "log.dirs=/somewhere"), capture_output=True, text=True)
    assert done.returncode == 2
    assert "log.dirs is the lab's to set" in done.stderr


def test_the_machine_is_told_before_anything_is_run():
    done = subprocess.run(command("machine", "--for", "1s"), capture_output=True, text=True)
    what, verdict = done.stdout.splitlines()
    assert " processor" in what and "stood still for" in what
    assert verdict.startswith("steady" if done.returncode == 0 else "not steady")
    assert "too short" in subprocess.run(command("machine", "--for", "0s"), capture_output=True, text=True).stderr
