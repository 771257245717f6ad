"""The book of a topic: what its partitions hold, page by page, held against what its producers were told.

Always holds, or a test fails: offsets are consecutive from 0 on; of each producer every record is there once, in the order of sending; what
was acknowledged is at the offset that the acknowledgement named; what was read once is read again the same."""

from collections import defaultdict

from rig.load import read


class Book:
    """Loads are the producers of the topic, all that there are."""

    def __init__(self, topic, partitions, loads):
        self.topic = topic
        self.partitions = list(partitions)
        self.loads = loads
        # For each partition the (producer, seq) at offset 0, 1, 2 and so on.
        self.log = {partition: [] for partition in self.partitions}
        self._next_seq = defaultdict(int)

    def turn_page(self, broker, when):
        """Reads on from where the last page ended, and checks it and every acknowledgement since then."""
        news = [(load, load.news()) for load in self.loads]
        reading = read(broker, self.topic, self.partitions, {partition: len(self.log[partition]) for partition in self.partitions})
        for partition, records in reading.records.items():
            for offset, producer, seq in records:
                self._enter(partition, offset, producer, seq, when)
        for load, acks in news:
            self._check(load, acks, when)

    def close(self, broker, when="at the end", again=True):
        """After the producers have been stopped: the last page, every record accounted for, and the whole book read again."""
        self.turn_page(broker, when)
        for load in self.loads:
            self._check(load, load.acks, when)
            there = {partition: self._next_seq[load.name, partition] for partition in load.sent}
            assert there == load.sent, f"{when}: {load.name} had all of {load.sent} acknowledged, and {there} are there"
            assert len(load.acks) == sum(load.sent.values()), f"{when}: {load.name} was told of {len(load.acks)} of {sum(load.sent.values())} records"
        if again:
            self.read_again(broker, when)

    def read_again(self, broker, when):
        """Everything from the start, the same as before."""
        reading = read(broker, self.topic, self.partitions)
        for partition, records in reading.records.items():
            whole = [(offset, *entry) for offset, entry in enumerate(self.log[partition])]
            assert records[: len(whole)] == whole, f"{when}: {self.topic}-{partition} is not what it was: {difference(whole, records)}"

    def _enter(self, partition, offset, producer, seq, when):
        log = self.log[partition]
        assert offset == len(log), f"{when}: {self.topic}-{partition} continues with offset {offset}, not {len(log)}"
        expected = self._next_seq[producer, partition]
        if seq != expected:
            trouble = f"record {expected} is missing" if seq > expected else f"record {seq} is there twice or out of order"
            told = self._told(producer, partition, min(seq, expected))
            raise AssertionError(
                f"{when}: {trouble}: {self.topic}-{partition} has record {seq} of {producer} at offset {offset}, after record {expected - 1}; "
                f"the producer {told}; the log up to here: {log[-10:]}"
            )
        self._next_seq[producer, partition] += 1
        log.append((producer, seq))

    def _told(self, producer, partition, seq):
        [load] = [load for load in self.loads if load.name == producer]
        load.news()
        acks = [ack for ack in load.acks if (ack.partition, ack.seq) == (partition, seq)]
        return f"was told of it: {acks}" if acks else "has no acknowledgement of it yet"

    def _check(self, load, acks, when):
        for ack in acks:
            log = self.log[ack.partition]
            there = log[ack.offset] if 0 <= ack.offset < len(log) else f"nothing; the log ends at {len(log)}"
            assert there == (load.name, ack.seq), (
                f"{when}: record {ack.seq} of {load.name} was acknowledged at {self.topic}-{ack.partition} offset {ack.offset}, where there is {there}"
            )


def difference(before, after):
    """The first place where two readings differ."""
    for index, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return f"at {index}, {one} became {other}"
    return f"{len(before)} records became {len(after)}"
