"""Every incident, short: who waits where, and that nothing is left of a run. Never how long: a short run on a busy machine says nothing of that.

Each runs against Aplomb, whose witness has to be silent. Against Apache Kafka there run some, one for each way to wait, and of these a third each day:
APLOMB_LAB_KAFKA=usual runs them all, APLOMB_LAB_KAFKA=all every incident, or those that it names with commas between."""

import os
import time

import pytest
from lab_runs import Lanes, incidents

pytestmark = [pytest.mark.root, pytest.mark.timeout(400)]

JOURNAL = "a request handler's write waits for the journal"
SENDFILE = "a network thread reads from the disk"
# What Apache Kafka 4.4.0 shows in short runs, by the beginning of the signature's name. Of the others it is only asked that they come to their end.
CERTAIN = {
    "inode-lock": ["a request handler waits for the inode", SENDFILE],
    "inode-lock-ext4": [SENDFILE],
    "network-thread": [SENDFILE],
    "page-fault": ["a request handler waits in a page fault", "the JVM waits for a thread"],
    "gc-log": ["the JVM's own thread waits for the journal"],
    "journal": [JOURNAL],
    "freeze": [JOURNAL],
    "one-of-two-dirs": [JOURNAL],
    "dirty-limit": ["a request handler is held up"],
    "cold-metadata": ["a request handler's write waits for metadata"],
    "own-log": ["a request handler waits for the journal to write a line"],
    "disk-full": ["the log directory goes offline"],
    "eio": ["the log directory goes offline"],
    "kill-9-recovery": ["unflushed segments are read again"],
}
# In an incident two meet that do not wait for each other: a pause of the collector and a commit of the journal, say. On a busy machine they may miss each
# other for the few seconds of a short run, so that it is run again; that they never meet is a failure.
RUNS_TO_MEET = 3
# Where consumer groups of Apache Kafka rebalance also in a short run: it freezes for longer than a session lasts there.
REBALANCE = ("freeze",)
USUAL = "inode-lock,network-thread,page-fault,gc-log,journal,freeze,dirty-limit,kill-9-recovery,disk-full,eio"
# What a broker says of its requests, in their order. One that was killed says nothing of those before.
STAGES = ["RequestQueueTimeMs", "LocalTimeMs", "RemoteTimeMs", "ResponseQueueTimeMs", "ResponseSendTimeMs", "TotalTimeMs"]
# One of two log directories goes.
LOST = ("disk-full", "eio")
# What is done to no disk is in `test_look_alikes`.
INCIDENTS = {name: each for name, each in incidents().items() if not each["look_alike"]}


def against_kafka():
    usual, today = USUAL.split(","), int(time.time() // 86400)
    wanted = os.environ.get("APLOMB_LAB_KAFKA")
    if wanted is None:
        return [name for place, name in enumerate(usual) if (place + today) % 3 == 0]
    return {"all": list(INCIDENTS), "usual": usual}.get(wanted) or list(filter(None, wanted.split(",")))


def in_order():
    """Apache Kafka first: these take longest. What changes the whole machine comes later, each beside a run of Aplomb, which is to bear that: with few
    dirty pages allowed, Apache Kafka waits for these and not for what its own incident makes slow."""
    runs = [(name, "kafka") for name in against_kafka()] + [(name, "aplomb") for name in INCIDENTS]
    changing = [run for run in runs if INCIDENTS[run[0]]["changes_the_machine"]]
    order = [run for run in runs if run not in changing]
    place = len(order) - len(INCIDENTS) // 2
    for run in changing:
        order.insert(place, run)
        place += 2
    return order


RUNS = in_order()


@pytest.fixture(scope="module")
def lanes(request, tmp_path_factory):
    """Has all runs under way that tests of this session ask for."""
    lanes = Lanes(tmp_path_factory.mktemp("runs"))
    for item in request.session.items:
        if item.module is request.module and not item.get_closest_marker("skip"):
            lanes.start(INCIDENTS[item.callspec.params["name"]], item.callspec.params["kind"])
    yield lanes
    lanes.close()


@pytest.mark.parametrize(("name", "kind"), RUNS, ids=["-on-".join(run) for run in RUNS])
def test_an_incident_shows_who_waits_and_aplomb_does_not(name, kind, lanes):
    run = lanes.result(name, kind)
    for _ in range(RUNS_TO_MEET - 1):
        if kind == "kafka" and run.code == 0 and (missing(run, name) or name in REBALANCE and not caused(run)):
            run = lanes.again(INCIDENTS[name], kind)
    if f"{name} cannot be run here" in run.said:
        pytest.skip(run.said.strip())
    assert run.code == 0, run.said
    assert run.left == []
    assert run.broker["ended"] == "completed", run.said
    assert [phase["name"] for phase in run.broker["phases"]] == ["calm", "during", "after"]
    assert sum(second["acknowledged"] for second in run.broker["seconds"]) > 0
    assert run.page.stat().st_size > 10_000
    if name != "kill-9-recovery":
        stages = {each["stage"]: each["after_mean_ms"] for each in run.broker["stages"]}
        assert list(stages) == STAGES, run.said
        assert max(stages[stage] for stage in STAGES[:-1]) <= stages["TotalTimeMs"] > 0, stages
    seen = [each["name"] for each in run.broker["signatures"] if each["seen"]]
    if name in LOST:
        assert run.broker["counted"]["others"]["failed"] > 0, run.said
        assert "the log directory goes offline" in seen, run.said
        # Those who write to the other directory.
        assert kind == "kafka" or not sum(second["failed"] for second in run.broker["seconds"]), run.said
    if name == "kill-9-recovery":
        recovery = run.broker["recovery"]
        assert recovery["acknowledged_ms"] > recovery["started_ms"] > recovery["killed_ms"], run.said
        assert recovery["acknowledged"] > 0 and recovery["missing"] == 0, run.said
    groups = run.broker["groups"]
    assert [load["lacks"] if "lacks" in load else "" for load in groups["loads"]] == ["", ""], groups
    assert all(groups["figures"][phase]["commits"] > 0 for phase in ("calm", "during", "after")), groups
    if kind == "aplomb":
        # No disk that stalls costs a member its partitions. What commits took is for runs in full.
        assert [groups["figures"][phase]["rebalances"] for phase in ("calm", "during", "after")] == [0, 0, 0], groups
        assert run.broker["witness"]["silent"], run.broker["witness"]
        # The disk was slow for those who asked it, which are not the request threads. No incident delays by less.
        assert not run.disk_was_made_slow or run.slowest_of_the_disk >= 20, run.said
    else:
        assert not missing(run, name), (seen, run.said)
        assert name not in REBALANCE or caused(run) > 0, groups


def caused(run):
    """Rebalances from the disturbance on; none, of groups that were not to be had."""
    figures = run.broker["groups"]["figures"] if run.record else None
    return sum(figures[phase]["rebalances"] for phase in ("during", "after")) if figures else 0


def missing(run, name):
    """The beginnings of signatures that have to be seen and were not."""
    seen = [each["name"] for each in run.broker["signatures"] if each["seen"]] if run.record else []
    return [beginning for beginning in CERTAIN.get(name, []) if not any(each.startswith(beginning) for each in seen)]
