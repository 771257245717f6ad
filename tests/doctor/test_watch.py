"""The doctor beside brokers that wait, and beside brokers that are slow for other reasons. What it says, never how fast.

Of the lab's incidents and look-alikes a few run here, short; APLOMB_DOCTOR_INCIDENTS=all runs them all, or those that it names with commas between. table.py
runs them several times, by hand, and makes a table of it."""

import json
import os
import subprocess
import time
from pathlib import Path

import beside
import pytest
from harness import broker as brokers

pytestmark = [pytest.mark.timeout(400)]

USUAL = ["inode-lock", "page-fault", "gc-log", "freeze", "cpu-starvation", "cpu-quota", "long-gc", "client-quota", "slow-consumer"]
OF_APLOMB = ["journal", "one-of-two-dirs", "cpu-quota"]
# In an incident two meet that do not wait for each other, and a busy machine may keep them apart in a short run.
RUNS = 3
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make slow disks and control groups")
# How long it is watched, and how long it was calm before, in seconds.
CALM, SLOW = 4, 8


def incidents():
    wanted = os.environ.get("APLOMB_DOCTOR_INCIDENTS", ",".join(USUAL))
    return list(beside.incidents()) if wanted == "all" else wanted.split(",")


def the_right_answer(incident, kind, folder):
    """Once is enough to have met; a wrong cause is wrong at once, unless the machine was short of processors."""
    for attempt in range(RUNS):
        place = folder / str(attempt)
        place.mkdir()
        try:
            seen = beside.beside_the_lab(incident, kind, place, "--short")
        except beside.NotHere as why:
            pytest.skip(str(why))
        assert seen.cost < 0.03, "it gives way above 2 % of a processor"
        if beside.is_right(incident, kind, seen.causes):
            return seen
        if beside.incidents()[incident]["look_alike"] or not beside.truth(incident, kind)["causes"]:
            assert beside.is_no_disk(seen.causes), seen.answer["causes"]
    pytest.fail(f"{incident}: {seen.causes}, {seen.answer['observations']}")


@NEEDS_ROOT
@pytest.mark.parametrize("incident", incidents())
def test_an_incident_of_the_lab_is_named(incident, tmp_path):
    seen = the_right_answer(incident, "kafka", tmp_path)
    for cause in seen.answer["causes"]:
        assert cause["evidence"] and cause["remedy"] and cause["confidence"] in ("possible", "likely", "proved")
    # The recording is worth what the watching was.
    record = seen.record
    again = subprocess.run([brokers.binary(), "doctor", "examine", record, "--format", "json"], capture_output=True, text=True, check=True)
    assert [cause["name"] for cause in json.loads(again.stdout)["causes"]] == seen.causes


@NEEDS_ROOT
@pytest.mark.parametrize("incident", OF_APLOMB)
def test_of_aplomb_no_request_waits_for_a_disk(incident, tmp_path):
    seen = the_right_answer(incident, "aplomb", tmp_path)
    assert beside.is_no_disk(seen.causes), seen.answer["causes"]


@NEEDS_ROOT
def test_a_tool_that_stops_the_jvm_is_no_disk(tmp_path):
    with beside.kafka(tmp_path) as (broker, _), beside.produced(broker, 500):
        # A JVM that has just begun is busy with itself.
        time.sleep(CALM)
        watch = beside.Watch(broker.pid, tmp_path)
        time.sleep(CALM)
        with beside.histograms(broker.pid):
            time.sleep(SLOW)
        seen = watch.end()
    assert beside.is_no_disk(seen.causes), seen.answer["causes"]


def test_a_process_that_is_not_there_and_one_that_ends(tmp_path):
    run = lambda *words: subprocess.run([brokers.binary(), "doctor", "watch", *words], capture_output=True, text=True, timeout=60)
    nothing = run("--pid", str(2**22 + 1))
    assert nothing.returncode == 1 and "there is no process" in nothing.stderr
    assert "no process listens on port" in run("--port", "1").stderr
    assert run().returncode == 2
    sleeper = subprocess.Popen(["sleep", "1"])
    watch = beside.Watch(sleeper.pid, tmp_path)
    sleeper.wait()
    seen = watch.wait()
    assert any("the process ended" in line for line in seen.answer["missing"])


@pytest.mark.parametrize(("incident", "cause"), [("inode-lock", "inode-lock"), ("page-fault", "page-fault"), ("calm", None)])
def test_a_record_of_the_lab_is_evidence_too(incident, cause):
    record = Path(__file__).resolve().parents[2] / "bench/results/lab/2026-11-25" / f"{incident}.json.gz"
    done = subprocess.run([brokers.binary(), "doctor", "examine", record, "--broker", "kafka", "--format", "json"], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["length_ms"] > 10_000
    assert [each["name"] for each in said["causes"]][:1] == ([cause] if cause else []), said["causes"]


def test_what_is_no_evidence_is_said_to_be_none(tmp_path):
    (tmp_path / "noise").write_bytes(b"\xff" * 1000)
    (tmp_path / "broken.jfr").write_bytes(b"FLR\0" + b"\xff" * 100)
    done = subprocess.run([brokers.binary(), "doctor", "examine", tmp_path], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1)
    assert "noise: it is no recording, log or dump" in done.stderr
    assert "broken.jfr" in done.stderr
