"""Kafka Connect in distributed mode: lines of a file into a topic and out of it into another file, while workers and the broker come
and go."""

import threading
import time

import pytest
from harness import groups
from harness.connect import Worker, runs_on

PROPERTIES = groups.QUICK
SOURCE = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1"}
SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": "1"}
RATE = 100


class Lines(threading.Thread):
    """Writes numbered lines to a file until it is stopped."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.written = []
        self._path = path
        self._stopped = threading.Event()
        self.start()

    def run(self):
        with open(self._path, "w") as file:
            while not self._stopped.wait(1 / RATE):
                line = f"line {len(self.written)}"
                file.write(f"{line}\n")
                file.flush()
                self.written.append(line)

    def stop(self):
        self._stopped.set()
        self.join()
        return self.written


def offsets(content):
    return [each["offset"] for each in content["offsets"]]


@pytest.fixture
def workers(broker, topic, tmp_path):
    """Two workers that run."""
    made = [Worker(broker, topic, tmp_path / name).start() for name in ("one", "two")]
    yield made
    for worker in made:
        worker.kill()


@pytest.mark.slow
def test_lines_pass_through_connect(broker, admin, workers, topic, tmp_path):
    one, two = workers
    source, sink = tmp_path / "source", tmp_path / "sink"
    sink.touch()
    lines = Lines(source)

    def more(count=50):
        """So many lines arrive that were not written yet."""
        wanted = len(lines.written) + count
        deadline = time.monotonic() + 60
        while f"line {wanted}\n" not in sink.read_text():
            assert time.monotonic() < deadline, f"line {wanted} does not arrive:\n{one.log_tail()}\n{two.log_tail()}"
            time.sleep(0.1)

    def until_both_run(worker, on):
        """The connectors and their tasks run, on all of these workers and no others."""
        found = {}

        def there(status):
            found[status["name"]] = runs_on(status)
            return found[status["name"]] and found[status["name"]] <= on

        deadline = time.monotonic() + 60
        while True:
            for name in ("source", "sink"):
                worker.get(f"/connectors/{name}/status", answers=there, what=f"{name} runs on {on}")
            if set().union(*found.values()) == on:
                return
            assert time.monotonic() < deadline, f"they run on {found}, and not on {on}"
            time.sleep(0.2)

    two.get("/connectors")
    settings = {"source": {**SOURCE, "file": str(source), "topic": topic}, "sink": {**SINK, "file": str(sink), "topics": topic}}
    for name, config in settings.items():
        one.until("PUT", f"/connectors/{name}/config", config)
    until_both_run(one, {one.id, two.id})
    more()
    two.kill()
    until_both_run(one, {one.id})
    more()
    broker.kill()
    broker.start()
    more()
    two.start()
    until_both_run(two, {one.id, two.id})
    two.until("PUT", "/connectors/source/pause")
    one.get("/connectors/source/status", answers=lambda status: [task["state"] for task in status["tasks"]] == ["PAUSED"])
    one.until("PUT", "/connectors/source/resume")
    more()
    # What they are to do is known to whoever starts, from the topics alone.
    one.stop()
    two.stop()
    two.start()
    until_both_run(two, {two.id})
    more()
    written = lines.stop()
    two.get("/connectors/source/offsets", answers=lambda content: offsets(content) == [{"position": source.stat().st_size}])
    end = admin.offset(topic, "latest")
    two.get("/connectors/sink/offsets", answers=lambda content: offsets(content) == [{"kafka_offset": end}])
    arrived = sink.read_text().splitlines()
    # Lines may come again after a kill, and none is missed.
    assert list(dict.fromkeys(arrived)) == written
    assert groups.committed(admin, "connect-sink") == {f"{topic}-0": end}
    assert {name: kind[:2] for name, kind in admin.call("list-groups").items()} == {topic: ["Classic", "connect"], "connect-sink": ["Classic", "consumer"]}
    for kind in ("config", "offset", "status"):
        assert admin.call("describe-configs", type="TOPIC", name=f"{topic}-{kind}")["cleanup.policy"]["value"] == "compact"
    for name in settings:
        two.until("DELETE", f"/connectors/{name}")
    two.get("/connectors", answers=lambda names: names == [])
