"""What only looks like a slow disk: it is felt, no request thread waits for a disk, and nothing is left of it, however it ends. What the doctor says of
each is its own suite's."""

import signal
import subprocess
from pathlib import Path

import pytest
from lab_runs import Lanes, command, eventually_nothing, incidents

pytestmark = [pytest.mark.root, pytest.mark.timeout(200)]

LOOK_ALIKES = ["cpu-starvation", "cpu-quota", "long-gc", "client-quota", "slow-consumer"]


def test_look_alikes_are_listed_with_what_is_true_of_each_broker():
    listed = incidents()
    assert [name for name, each in listed.items() if each["look_alike"]] == LOOK_ALIKES
    for name in LOOK_ALIKES:
        own = {"causes": [name], "or_none": False}
        assert listed[name]["truth"] == {"kafka": own, "aplomb": None if name == "long-gc" else own}
    none = {"causes": [], "or_none": True}
    assert listed["calm"]["truth"] == {"kafka": none, "aplomb": none}
    old = subprocess.run(command("list", "--json", "--kafka-version", "3.6.2"), capture_output=True, text=True, check=True)
    assert listed["roll"]["truth"]["kafka"] == none and '"roll"' in old.stdout.partition('"name": "roll"')[2].partition('"name"')[0]


def test_a_quota_of_processors_is_felt_and_no_disk_is_waited_for(tmp_path):
    lanes = Lanes(tmp_path)
    run = lanes.again(incidents()["cpu-quota"], "aplomb")
    if "cannot be run here" in run.said:
        pytest.skip(run.said.strip())
    assert run.code == 0 and run.broker["ended"] == "completed", run.said
    assert run.left == []
    assert run.record["incident"]["look_alike"] and not run.disk_was_made_slow
    assert run.broker["witness"]["silent"], run.broker["witness"]
    # A tenth of a second is what every thread of the group stands for.
    assert run.broker["latency"]["during"]["max_us"] > 50_000, run.said
    assert "look-alike" in run.page.read_text()


def test_nothing_is_left_of_a_quota_when_the_lab_is_killed(tmp_path):
    words = command("run", "cpu-quota", "--short", "--broker", "aplomb", "--groups", "none", "--out", tmp_path)
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        said = next((line for line in process.stderr if "may run for" in line or "cannot be run here" in line), "")
        if "cannot be run here" in said:
            pytest.skip(said.strip())
        assert said, "the lab has ended before its disturbance"
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    finally:
        process.kill()
    assert eventually_nothing(process.pid) == []


def test_a_broker_without_a_heap_is_not_filled(tmp_path):
    done = subprocess.run(command("run", "long-gc", "--broker", "aplomb", "--out", tmp_path), capture_output=True, text=True)
    assert done.returncode == 1 and "long-gc is not for aplomb" in done.stderr
    assert not list(Path(tmp_path).iterdir())
