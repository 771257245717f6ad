"""kill -9 while topics are being made and unmade: every creation and deletion that was confirmed is true afterwards."""

import json
import subprocess
import time

import pytest
from harness import dump
from rig.kills import kill_while_it_starts
from rig.load import FRANZ_GO, existing_topics, read


class Churn:
    """A program that creates and deletes topics until it is killed, and what its log says must be true then."""

    def __init__(self, directory):
        self._log = directory / "churn.jsonl"
        self._runs = 0
        self._process = None

    def start(self, broker):
        """Each run has names of its own, so that nothing is left in doubt by an earlier one."""
        self._runs += 1
        options = ["--bootstrap", broker.bootstrap, "--id", f"churn{self._runs}", "--log", self._log, "--seed", self._runs]
        self._process = subprocess.Popen([str(FRANZ_GO), "churn", *map(str, options)], stdin=subprocess.PIPE)

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def steps(self):
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [json.loads(line) for line in lines]

    def verdict(self):
        """({topic: (id, partitions)} that must exist, names that must not, names that may exist or not)."""
        exist, gone, unknown = {}, set(), set()
        for step in self.steps():
            assert step["state"] != "refused", f"the broker refused what it should have done: {step}"
            name = step["topic"]
            if step["state"] == "asked":
                unknown.add(name)
                continue
            unknown.discard(name)
            if step["what"] == "create":
                exist[name] = (step["id"], step["partitions"])
                gone.discard(name)
            else:
                exist.pop(name)
                gone.add(name)
        return {name: topic for name, topic in exist.items() if name not in unknown}, gone - unknown, unknown


@pytest.fixture
def churn(tmp_path):
    running = Churn(tmp_path)
    yield running
    running.kill()


def check_directories(broker, wanted, deadline=30):
    """There are these partition directories and no others, once the disk has done what it was told. Apache Kafka sets aside what it
    finds without a topic, as "-stray"; that is as good."""
    end = time.monotonic() + deadline
    while True:
        names = {path.name for path in broker.partition_directories()} - {"__cluster_metadata-0"}
        names = {name for name in names if not name.endswith("-stray")}
        if names == wanted:
            return
        assert time.monotonic() < end, f"missing: {sorted(wanted - names)}, too many: {sorted(names - wanted)}"
        time.sleep(0.2)


@pytest.mark.timeout(400)
def test_topics_made_and_unmade_while_the_broker_is_killed(prepare, churn, moments, tools):
    broker = prepare({"log.segment.delete.delay.ms": "500"}).start()
    for kill in range(8):
        begun = len(churn.steps())
        churn.start(broker)
        deadline = time.monotonic() + 30
        while len(churn.steps()) < begun + 20:
            assert time.monotonic() < deadline, "topics are neither created nor deleted"
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 1))
        broker.kill()
        churn.kill()
        if kill % 3 == 2:
            kill_while_it_starts(broker, moments.uniform(0, 0.5))
        broker.start()
        found = existing_topics(broker)
        exist, gone, unknown = churn.verdict()
        assert {name: found.get(name) for name in exist} == exist, f"after kill {kill + 1}: confirmed topics are missing or changed"
        assert gone & set(found) == set(), f"after kill {kill + 1}: deleted topics are back"
        assert set(found) <= set(exist) | unknown, f"after kill {kill + 1}: topics that no client asked for"
    broker.stop()
    broker.start()
    assert existing_topics(broker) == found
    wanted = {f"{name}-{partition}" for name, (_, partitions) in found.items() for partition in range(partitions)}
    check_directories(broker, wanted)
    broker.stop()
    dump.check(tools, broker)


@pytest.mark.timeout(300)
def test_many_topics_that_were_just_created(prepare, admin_of, load, moments):
    """Forty topics, some of them written to, and no time to write any of it down."""
    broker = prepare().start()
    admin = admin_of(broker)
    made = {}
    for number in range(40):
        name = f"new-{number}"
        made[name] = (admin.create(name, partitions=3, retention_ms=86_400_000 + number)["id"], 3)
    producer = load("franz-go", broker, "new-39", range(3), rate=2000)
    producer.wait_until_known()
    broker.kill()
    for _ in range(2):
        kill_while_it_starts(broker, moments.uniform(0, 0.5))
    broker.start()
    found = existing_topics(broker)
    assert {name: (id_.replace("+", "-").replace("/", "_"), partitions) for name, (id_, partitions) in made.items()} == found
    for number in (0, 17, 39):
        settings = admin.call("describe-configs", type="TOPIC", name=f"new-{number}")
        assert settings["retention.ms"]["value"] == str(86_400_000 + number)
    producer.stop()
    reading = read(broker, "new-39", range(3))
    assert {partition: len(records) for partition, records in reading.records.items()} == producer.sent
