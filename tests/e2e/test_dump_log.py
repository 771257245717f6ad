"""kafka-dump-log finds no fault in anything the broker leaves behind: batches, indexes, producer snapshots, metadata."""

import pytest
from harness import dump
from harness.clients import Admin

PROPERTIES = {"log.segment.delete.delay.ms": "1000"}
CASES = [(client, compression) for client in ("java", "franz-go", "python") for compression in ("none", "gzip", "snappy", "lz4", "zstd")]


@pytest.fixture(scope="module")
def stopped(broker, clients, java):
    """The broker, stopped cleanly after a bit of everything was written."""
    admin = Admin(java, broker)
    for client, compression in CASES:
        topic = f"{client}-{compression}"
        admin.create(topic, partitions=2, index_interval_bytes=500)
        run = {"partition": 0, "count": 150, "size": 200, "compression": compression, "acks": "all", "headers": True, "tombstones": True}
        clients[client].produce(broker, topic, idempotent=True, key_prefix="k", seed=1, **run)
        clients[client].produce(broker, topic, idempotent=False, seed=2, **run)
    admin.create("rolled", segment_bytes=1 << 20, index_interval_bytes=4096)
    java.produce(broker, "rolled", partition=0, count=3500, size=1000, idempotent=True, summary=True)
    admin.create("empty")
    admin.create("started-late", segment_bytes=1 << 20)
    java.produce(broker, "started-late", partition=0, count=2500, size=1000, summary=True)
    admin.call("delete-records", topic="started-late", before=2000)
    admin.create("stamped", message_timestamp_type="LogAppendTime")
    java.produce(broker, "stamped", partition=0, count=50, size=100)
    admin.create("altered")
    admin.call("create-partitions", name="altered", total=3)
    admin.call("alter-configs", type="TOPIC", name="altered", changes=[["retention.ms", "SET", "100000"]])
    admin.create("deleted")
    admin.call("delete-topic", name="deleted")
    broker.stop()
    yield broker
    broker.start()


def test_no_file_of_any_partition_has_a_fault(stopped, tools):
    batches = dump.check(tools, stopped)
    assert batches["empty-0"] == 0
    assert batches["rolled-0"] > 10
    assert batches["__cluster_metadata-0"] > 0
    for client, compression in CASES:
        assert batches[f"{client}-{compression}-0"] >= 2
        assert batches[f"{client}-{compression}-1"] == 0


def test_every_record_is_in_the_files(stopped, tools):
    for client, compression in CASES:
        directory = stopped.log_dirs[0] / f"{client}-{compression}-0"
        found = dump.records(tools, directory)
        assert [int(line.split()[2]) for line in found] == list(range(300)), f"{client} {compression}"


def test_a_rolled_log_has_several_segments_that_meet(stopped):
    bases = sorted(int(path.stem) for path in (stopped.log_dirs[0] / "rolled-0").glob("*.log"))
    assert len(bases) >= 3
    assert bases[0] == 0


def test_the_metadata_log_has_every_topic(stopped, tools):
    directory = stopped.log_dirs[0] / "__cluster_metadata-0"
    lines = "\n".join(dump.records(tools, directory, "--cluster-metadata-decoder"))
    for topic in ("rolled", "empty", "altered", "deleted"):
        assert f'"type":"TOPIC_RECORD","version":0,"data":{{"name":"{topic}"' in lines
    assert '"type":"REMOVE_TOPIC_RECORD"' in lines
    assert '"name":"retention.ms","value":"100000"' in lines
    assert '"type":"REGISTER_BROKER_RECORD"' in lines
