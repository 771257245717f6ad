"""`aplomb doctor watch --attach`: what a JVM records for it, that nothing of that is begun unless asked for, and that it ends however the doctor does."""

import os
import subprocess
import time
from pathlib import Path

import beside
import pytest
from harness import broker as brokers

pytestmark = [pytest.mark.timeout(400)]

NAME = "aplomb-doctor"
# How long a JVM on a busy machine may take to begin, and to end.
PATIENCE = 60
CALM, SLOW = 4, 8


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with beside.kafka(tmp_path_factory.mktemp("attach")) as (broker, tool), beside.produced(broker, 500):
        yield broker, tool


def records(pid):
    """What the JVM logs where, and what it records, as its own tool tells."""
    jcmd = Path(os.readlink(f"/proc/{pid}/exe")).with_name("jcmd")
    said = [subprocess.run([jcmd, str(pid), *words], capture_output=True, text=True, check=True).stdout for words in (["VM.log", "list"], ["JFR.check"])]
    return "".join(said)


def folders():
    return sorted(path.name for place in ("/dev/shm", "/tmp") for path in Path(place).glob(f"{NAME}-*"))


def within(seconds, so):
    until = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_without_it_the_jvm_records_nothing(running, tmp_path):
    broker, _ = running
    before = records(broker.pid), folders()
    watch = beside.Watch(broker.pid, tmp_path)
    time.sleep(CALM)
    assert (records(broker.pid), folders()) == before
    seen = watch.end()
    assert (records(broker.pid), folders()) == before
    assert "stages" not in seen.recording


def test_what_the_jvm_records_becomes_evidence_and_ends_with_the_watch(running, tmp_path):
    broker, tool = running
    words = ("--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "clients", "--entity-default")
    before = records(broker.pid), folders()
    watch = beside.Watch(broker.pid, tmp_path, "--attach")
    within(PATIENCE, lambda: NAME in records(broker.pid))
    during = records(broker.pid)
    assert "safepoints.txt" in during and f"name={NAME}" in during, during
    (folder,) = set(folders()) - set(before[1])
    held = next(place / folder for place in (Path("/dev/shm"), Path("/tmp")) if (place / folder).is_dir())
    assert held.stat().st_mode & 0o077 == 0, "the JVM's user alone reads it"
    subprocess.run([Path(os.readlink(f"/proc/{broker.pid}/exe")).with_name("jcmd"), str(broker.pid), "GC.run"], check=True, stdout=subprocess.DEVNULL)
    time.sleep(CALM)
    tool.ok("kafka-configs", *words, "--add-config", "producer_byte_rate=50000")
    time.sleep(SLOW)
    seen = watch.end()
    tool.ok("kafka-configs", *words, "--delete-config", "producer_byte_rate")

    assert (records(broker.pid), folders()) == before
    assert {"the stages of requests, by JMX", "a log of the JVM's safepoints", "JFR"} <= set(seen.recording["sight"]["sources"]), seen.recording["sight"]
    assert {"LocalTimeMs", "ThrottleTimeMs", "TotalTimeMs"} <= {row["stage"] for row in seen.recording["stages"]}
    length = seen.recording["clock"]["length_ms"]
    pauses = seen.recording["safepoints"]
    assert pauses and all(pause["reason"] and -pause["total_ms"] < pause["at_ms"] < length for pause in pauses), pauses
    assert any("data-plane-kafka-request-handler-" in thread["name"] for thread in seen.recording["threads"]), "whole names"
    assert beside.is_no_disk(seen.causes), seen.answer["causes"]
    throttled = [row for row in seen.recording["stages"] if row["stage"] == "ThrottleTimeMs" and row["total_ms"] > 0]
    assert throttled, "Apache Kafka has counted that it throttled"
    quota = [cause for cause in seen.answer["causes"] if cause["name"] == "client-quota"]
    assert all("ThrottleTimeMs" in " ".join(cause["evidence"]) for cause in quota), quota


def test_a_doctor_that_is_killed_leaves_nothing_running(running, tmp_path):
    broker, _ = running
    before = records(broker.pid), folders()
    watch = beside.Watch(broker.pid, tmp_path, "--attach")
    within(PATIENCE, lambda: NAME in records(broker.pid))
    watch.process.kill()
    watch.process.communicate()
    within(PATIENCE, lambda: (records(broker.pid), folders()) == before)


def test_what_is_no_jvm_cannot_be_attached_to(tmp_path):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        done = subprocess.run([brokers.binary(), "doctor", "watch", "--pid", str(sleeper.pid), "--attach"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "it is no JVM" in done.stderr
        assert sleeper.poll() is None, "and is not harmed"
    finally:
        sleeper.kill()
        sleeper.wait()
