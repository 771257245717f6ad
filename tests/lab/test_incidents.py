"""Every incident, short: who waits where, and that nothing is left of a run. Never how long: a short run on a busy machine says nothing of that.

Each runs against Aplomb, whose witness has to be silent. Against Apache Kafka there run those whose signature is certain to be seen also when the run
is short; APLOMB_LAB_KAFKA=all runs the others there too (or those that it names, with commas between), which then have to come to their end and to show
nothing in particular."""

import os

import pytest
from lab_runs import Lanes, incidents

pytestmark = [pytest.mark.root, pytest.mark.timeout(400)]

# What Apache Kafka 4.4.0 shows in every short run, by the beginning of the signature's name.
CERTAIN = {
    "inode-lock": ["a request handler waits for the inode", "a network thread reads from the disk"],
    "network-thread": ["a network thread reads from the disk"],
    "journal": ["a request handler's write waits for the journal"],
    "freeze": ["a request handler's write waits for the journal"],
    "page-fault": ["a request handler waits in a page fault", "the JVM waits for a thread"],
}
INCIDENTS = incidents()


def against_kafka():
    wanted = os.environ.get("APLOMB_LAB_KAFKA", "")
    return list(INCIDENTS) if wanted == "all" else [*CERTAIN, *filter(None, wanted.split(","))]


# Apache Kafka first: these take longest.
RUNS = [(name, "kafka") for name in dict.fromkeys(against_kafka())] + [(name, "aplomb") for name in INCIDENTS]


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
    if f"{name} cannot be run here" in run.said:
        pytest.skip(run.said.strip())
    assert run.code == 0, run.said
    assert run.left == []
    assert run.broker["ended"] == "completed", run.said
    assert [phase["name"] for phase in run.broker["phases"]] == ["calm", "during", "after"]
    assert sum(second["acknowledged"] for second in run.broker["seconds"]) > 0
    assert run.page.stat().st_size > 10_000
    # The broker has met what was done: somebody has waited for the disk, if not those who must not. No incident delays by less.
    assert not run.disk_was_made_slow or run.slowest_of_the_disk >= 20
    if kind == "aplomb":
        assert run.broker["witness"]["silent"], run.broker["witness"]
    else:
        seen = [each["name"] for each in run.broker["signatures"] if each["seen"]]
        for beginning in CERTAIN.get(name, []):
            assert any(each.startswith(beginning) for each in seen), (seen, run.said)
