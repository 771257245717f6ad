"""Kafka Connect in distributed mode: lines of a file into a topic and out of it into another file, while workers and the broker come
and go."""

import contextlib
import json
import threading
import time

import confluent_kafka as ck
import pytest
from harness import groups
from harness.connect import Worker, runs_on

PROPERTIES = {
    **groups.QUICK,
    "transaction.state.log.num.partitions": "4", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
}  # fmt: skip
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


@contextlib.contextmanager
def two_workers(broker, topic, directory, **settings):
    """Two workers that run."""
    made = [Worker(broker, topic, directory / name, **settings).start() for name in ("one", "two")]
    try:
        yield made
    finally:
        for worker in made:
            worker.kill()


@pytest.fixture
def workers(broker, topic, tmp_path):
    with two_workers(broker, topic, tmp_path) as made:
        yield made


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


def committed(broker, topic):
    """The values of all committed records, in order."""
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reads", "isolation.level": "read_committed", "enable.partition.eof": True})
    consumer.assign([ck.TopicPartition(topic, 0, ck.OFFSET_BEGINNING)])
    found, deadline = [], time.monotonic() + 60
    while time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is None:
            continue
        if not message.error():
            found.append(json.loads(message.value())["payload"])
        elif message.error().code() == ck.KafkaError._PARTITION_EOF:
            consumer.close()
            return found
    raise AssertionError(f"{topic} has no end after {len(found)} records")


@pytest.mark.slow
def test_a_source_that_is_to_does_so_exactly_once(broker, admin, topic, tmp_path):
    """KIP-618: the lines and how far the file was read are one transaction, and tasks of before are fenced."""
    admin.create(topic)
    source = tmp_path / "source"
    lines = Lines(source)
    with two_workers(broker, topic, tmp_path, exactly_once_source_support="enabled") as (one, two):
        config = {**SOURCE, "file": str(source), "topic": topic, "exactly.once.support": "required", "transaction.boundary": "poll"}
        one.until("PUT", "/connectors/source/config", config)

        def more(worker, count=50):
            wanted, deadline = f"line {len(lines.written) + count}", time.monotonic() + 90
            while wanted not in committed(broker, topic):
                assert time.monotonic() < deadline, f"{wanted} does not arrive:\n{worker.log_tail()}"
                time.sleep(0.5)

        more(one)
        status = one.get("/connectors/source/status", answers=runs_on)
        # The worker with the task is killed in the middle of a transaction, as likely as not.
        [task] = status["tasks"]
        killed, other = (one, two) if task["worker_id"] == one.id else (two, one)
        killed.kill()
        more(other)
        broker.kill()
        broker.start()
        more(other)
        killed.start()
        other.stop()
        more(killed)
        written = lines.stop()
        deadline = time.monotonic() + 60
        while len(arrived := committed(broker, topic)) < len(written):
            assert time.monotonic() < deadline, f"{len(arrived)} of {len(written)} lines arrive:\n{killed.log_tail()}"
            time.sleep(0.5)
        assert arrived == written
