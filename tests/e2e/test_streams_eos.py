"""Apache Kafka's own system test of exactly-once Kafka Streams, with standby tasks, while its instances and the broker are killed."""

import pytest
from harness import eos, groups, streams

PROPERTIES = {
    **groups.QUICK,
    "transaction.state.log.num.partitions": "5", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
}  # fmt: skip
PARTITIONS = 5


@pytest.fixture
def program(broker, tmp_path):
    """`program(name, command)`: one that runs, ended with the test."""
    running = []

    def start(name, command, **properties):
        running.append(eos.Program(broker, tmp_path / name, command, **properties))
        return running[-1]

    yield start
    for each in running:
        each.kill()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_result_is_that_of_each_record_once(broker, admin, program):
    for name in eos.TOPICS:
        admin.create(name, partitions=PARTITIONS)
    for name in eos.CHANGELOGS:
        admin.create(name, partitions=PARTITIONS, cleanup_policy="compact")
    driver = program("driver", "run")
    start = lambda name: program(name, "process-complex", **{"session.timeout.ms": 6_000})
    committed = lambda: sum(offset for name, offset in groups.committed(admin, eos.GROUP).items() if name.startswith("data-"))

    def go_on(more=500):
        reached = committed() + more
        streams.until(lambda: committed() >= reached, f"{more} more records are read")

    one, two = start("one"), start("two")
    streams.until(lambda: one.is_running() and two.is_running(), "both run")
    go_on()
    two.kill()
    two = start("two")
    streams.until(two.is_running, "it runs again, on the state that it had")
    broker.kill()
    broker.start()
    streams.until(lambda: one.is_running() and two.is_running(), "both run on")
    go_on()
    one.stop()
    streams.until(two.is_running, "the other has all")
    driver.stop()
    written = sum(admin.offset("data", "latest", partition) for partition in range(PARTITIONS))
    streams.until(lambda: committed() == written, "all is read")
    two.stop()
    verifier = program("verifier", "verify-complex")
    verifier.end(180)
    said = verifier.said()
    assert "ALL-RECORDS-DELIVERED" in said, said[-3000:]
    assert written > 1000
