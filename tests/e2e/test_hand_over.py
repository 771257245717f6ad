"""One set of directories, two brokers in turn: Apache Kafka goes on where the broker under test has stopped, and the other way round.
Nothing is lost or done again: a directory that was closed cleanly is opened without recovery."""

import re

import pytest
from harness import dump, expect
from harness.clients import Admin

# What Apache Kafka says of a log that it has to mend. The metadata log is always read again from its last snapshot.
MENDING = re.compile(r"Could not find|[Rr]ecovering (unflushed )?segment|[Ss]tray|[Cc]orrupt|Rebuilding|does not match")
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
RUN = {"count": 100, "size": 400, "key_prefix": "k", "headers": True, "tombstones": True}
LONG = {"count": 1500, "size": 1000}


class Shift:
    """A broker's turn: what it adds, and how all that was added so far is found."""

    def __init__(self, clients, tools):
        self.clients = clients
        self.tools = tools
        self.shifts = 0

    def create(self, broker):
        admin = Admin(self.clients["java"], broker)
        for compression in COMPRESSIONS:
            admin.create(compression, partitions=2, retention_ms=-1)
        admin.create("rolling", segment_bytes=1 << 20, max_message_bytes=900_000)
        admin.create("empty")
        admin.create("cut")
        self.clients["java"].produce(broker, "cut", partition=0, count=20, size=100)
        admin.call("delete-records", topic="cut", before=11)

    def work(self, broker):
        for compression in COMPRESSIONS:
            sent = self.clients["franz-go"].produce(
                broker, compression, partition=1, seed=self.shifts, compression=compression, idempotent=True, **RUN
            )
            expect.check_acknowledged(sent, RUN["count"], first_offset=self.shifts * RUN["count"], partition=1)
        self.clients["java"].produce(broker, "rolling", partition=0, seed=self.shifts, summary=True, **LONG)
        Admin(self.clients["java"], broker).create(f"of-shift-{self.shifts}")
        self.shifts += 1

    def check(self, broker, starts=(11,)):
        """`starts`: where the shortened log may begin; how far it was cut is written down now and then, and at a clean stop."""
        admin = Admin(self.clients["java"], broker)
        names = {*COMPRESSIONS, "rolling", "empty", "cut", *(f"of-shift-{shift}" for shift in range(self.shifts))}
        assert names <= set(admin.call("list-topics"))
        assert admin.call("describe-configs", type="TOPIC", name="rolling")["max.message.bytes"]["value"] == "900000"
        for compression in COMPRESSIONS:
            records = self.clients["java"].consume(broker, compression, partition=1, count=self.shifts * RUN["count"])
            wanted = [line for shift in range(self.shifts) for line in expect.consumed("franz-go", seed=shift, **RUN)]
            expect.check(records, wanted, partition=1)
        records = self.clients["java"].consume(broker, "rolling", partition=0, count=self.shifts * LONG["count"])
        wanted = [line for shift in range(self.shifts) for line in expect.consumed("java", seed=shift, **LONG)]
        expect.check(records, wanted)
        assert admin.offset("cut", "earliest") in starts
        assert admin.offset("cut", "latest") == 20
        assert admin.offset("empty", "latest") == 0


def mended(broker):
    lines = broker.log_file.read_text(errors="replace").splitlines()
    return [line for line in lines if MENDING.search(line) and "__cluster_metadata" not in line]


pytestmark = pytest.mark.slow

ORDERS = {"Apache Kafka in between": (None, "kafka", None), "Apache Kafka first and last": ("kafka", None, "kafka")}


@pytest.mark.parametrize("order", ORDERS)
def test_each_goes_on_where_the_other_stopped(start_broker, clients, tools, order):
    shift = Shift(clients, tools)
    broker = None
    for kind in ORDERS[order]:
        broker = start_broker(kind=kind, after=broker)
        if shift.shifts == 0:
            shift.create(broker)
        else:
            shift.check(broker)
        shift.work(broker)
        shift.check(broker)
        broker.stop()
        dump.check(tools, broker)
        if broker.kind == "kafka":
            assert mended(broker) == []
    broker.close()


def test_each_goes_on_where_the_other_was_killed(start_broker, clients, tools):
    """Apache Kafka may mend what a kill left behind; what was in the files is there. A tail that only Aplomb can read is
    first brought into the files by Aplomb's own start."""
    shift = Shift(clients, tools)
    broker = None
    for kind in (None, "kafka", None):
        broker = start_broker(kind=kind, after=broker)
        if shift.shifts == 0:
            shift.create(broker)
        else:
            shift.check(broker, starts=(0, 11))
        shift.work(broker)
        broker.kill()
        if broker.kind == "aplomb":
            broker.start()
            broker.stop()
    broker.start()
    shift.check(broker, starts=(0, 11))
    broker.stop()
    dump.check(tools, broker)
    broker.close()
