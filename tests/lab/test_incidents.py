"""Incidents, short: who waits where, and that nothing is left of a run however it ends. Never how long: a short run on a busy machine says nothing of that.

A few of the incidents run here; APLOMB_LAB_INCIDENTS=all runs every one, or those that it names with commas between."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from harness import broker

pytestmark = [pytest.mark.root, pytest.mark.timeout(400)]

# What each has to show of Apache Kafka 4.4.0 also when it is short, by the beginning of the signature's name.
SIGNATURES = {
    "calm": [],
    "inode-lock": ["a request handler waits for the inode", "a network thread reads from the disk"],
    "inode-lock-ext4": ["a network thread reads from the disk"],
    "network-thread": ["a network thread reads from the disk"],
    "journal": ["a request handler's write waits for the journal"],
    "freeze": ["a request handler's write waits for the journal"],
    "page-fault": ["a request handler waits in a page fault", "the JVM waits for a thread"],
    "gc-log": ["the JVM's own thread waits for the journal"],
    "one-of-two-dirs": ["a request handler's write waits for the journal"],
    "cold-metadata": ["a request handler's write waits for metadata"],
    "dirty-limit": ["a request handler is held up"],
}
USUAL = ("calm", "inode-lock")


def command(*arguments):
    return [broker.binary(), "lab", *map(str, arguments)]


def listed():
    done = subprocess.run(command("list"), capture_output=True, text=True, check=True)
    return [line.split()[0] for line in done.stdout.splitlines()]


def chosen():
    wanted = os.environ.get("APLOMB_LAB_INCIDENTS", ",".join(USUAL))
    return listed() if wanted == "all" else wanted.split(",")


def traces(pid):
    """What is left of a lab process: mounts, loop devices with a file of its disks, folders, brokers."""
    mine = re.compile(rf"(aplomb-lab|lab)-{pid}-")
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if mine.search(line)]
    loops = [each for each in Path("/sys/block").glob("loop*/loop/backing_file") if _names(each, mine)]
    places = [Path("/run/aplomb-lab"), Path("/tmp"), Path("/dev/shm")]
    files = [each for place in places if place.is_dir() for each in place.iterdir() if mine.search(each.name)]
    processes = [each for each in Path("/proc").glob("[0-9]*/cmdline") if _names(each, mine)]
    return [*mounts, *map(str, [*loops, *files, *processes])]


def _names(path, pattern):
    try:
        return bool(pattern.search(path.read_text(errors="replace")))
    except OSError:
        return False


def eventually_nothing(pid, seconds=60):
    deadline = time.monotonic() + seconds
    while traces(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return traces(pid)


@pytest.mark.parametrize("incident", chosen() if os.geteuid() == 0 else USUAL)
def test_an_incident_shows_who_waits_and_aplomb_does_not(incident, tmp_path):
    run = command("run", incident, "--short", "--broker", "kafka,aplomb", "--out", tmp_path, "--seed", "1")
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said, _ = process.communicate(timeout=390)
    assert process.returncode == 0, said
    assert not traces(process.pid)
    record = json.loads((tmp_path / f"{incident}.json").read_text())
    kafka, aplomb = record["brokers"]
    assert (kafka["ended"], aplomb["ended"]) == ("completed", "completed"), said
    for each in kafka, aplomb:
        assert [phase["name"] for phase in each["phases"]] == ["calm", "during", "after"]
        assert sum(second["acknowledged"] for second in each["seconds"]) > 0
    seen = [each["name"] for each in kafka["signatures"] if each["seen"]]
    for beginning in SIGNATURES.get(incident, []):
        assert any(name.startswith(beginning) for name in seen), (seen, said)
    assert aplomb["witness"]["silent"], aplomb["witness"]
    assert (tmp_path / f"{incident}.html").stat().st_size > 10_000


def started(out):
    """A lab whose Aplomb is under load on a frozen disk, or soon will be."""
    run = command("run", "dirty-limit", "--short", "--broker", "aplomb", "--out", out)
    process = subprocess.Popen(run, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "answers nothing" in line:
            # The limit is set, and the first freeze comes 0.4 s later.
            time.sleep(1)
            return process
    raise AssertionError("the lab has ended before its disturbance")


def dirty_limits():
    names = ("dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_background_bytes")
    return [Path(f"/proc/sys/vm/{name}").read_text() for name in names]


@pytest.mark.parametrize("how", (signal.SIGINT, signal.SIGKILL), ids=("ctrl-c", "kill-9"))
def test_nothing_is_left_of_a_run_that_is_ended(how, tmp_path):
    before = dirty_limits()
    process = started(tmp_path)
    try:
        assert dirty_limits() != before
        process.send_signal(how)
        code = process.wait(timeout=90)
    finally:
        process.kill()
    assert code == (130 if how == signal.SIGINT else -how)
    assert eventually_nothing(process.pid) == []
    assert dirty_limits() == before


def test_what_there_is_not_is_said():
    done = subprocess.run(command("run", "nonsense"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "no incident" in done.stderr and "aplomb lab list" in done.stderr
