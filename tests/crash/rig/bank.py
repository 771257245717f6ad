"""A bank: clients that transfer from account to account, each time in one transaction, and what its books must say at any time.

An account is a partition, a transfer two records with the same name whose amounts add up to nothing. A reader of committed records never
sees one that its client was told is aborted, and in the end sees each that its client was told is committed, whole; those of which no
client has heard the end are there whole, or not at all. In each account, transfers of one client come in the order of their making."""

import itertools
import time

import confluent_kafka as ck
from harness import clients
from harness.lines import NoAnswer


class Client:
    """A client that transfers, until it is told to end, killed, or fenced by another with its transactional id."""

    def __init__(self, kind, identity, name, broker, topic, partitions, directory, seed):
        self.name = name
        self.identity = identity
        self.kind = kind
        # Of each transfer whose end it has told, whether it is committed.
        self.ended = {}
        self.is_fenced = False
        self._until = directory / f"{name}.until"
        self._session = clients.Session(clients.MEMBERS[kind], directory / f"{name}.err")
        self._session.begin(
            "transfer", bootstrap=broker.bootstrap, topic=topic, partitions=partitions, transactional_id=identity, name=name,
            until=self._until, seed=seed,
        )  # fmt: skip
        self._is_over = False

    def hear(self):
        """Takes in what it has said."""
        while not self._is_over:
            try:
                line = self._session.said()
            except NoAnswer:
                self._is_over = True
                return
            if line is None:
                return
            self._take(line)

    def kill(self):
        self._session.close()
        self.hear()
        self._is_over = True

    def finish(self, patience=60):
        """Lets it end what it is at."""
        self._until.touch()
        deadline = time.monotonic() + patience
        while not self._is_over:
            self.hear()
            assert time.monotonic() < deadline, f"{self.name} does not end"
            time.sleep(0.05)
        self._session.close()

    def _take(self, line):
        assert "error" not in line, f"{self.name}: {line}"
        if "ended" in line:
            self.ended[line["ended"]] = line["committed"]
        self.is_fenced |= "fenced" in line
        self._is_over |= "end" in line


class Bank:
    """The clients, those that are gone included, and the books."""

    def __init__(self, broker, topic, partitions, directory, moments):
        self._broker, self._topic, self._partitions = broker, topic, partitions
        self._directory, self._moments = directory, moments
        self._numbers = itertools.count()
        self.all = []
        self._seen = {partition: [] for partition in range(partitions)}

    def hire(self, kind, identity):
        """A client with this transactional id, whether there is one already or not."""
        name = f"{identity}-{next(self._numbers)}"
        seed = self._moments.randrange(1 << 31)
        client = Client(kind, identity, name, self._broker, self._topic, self._partitions, self._directory, seed)
        self.all.append(client)
        return client

    def look(self):
        """Reads on in the books, as far as readers of committed records get."""
        reader = ck.Consumer({
            "bootstrap.servers": self._broker.bootstrap, "group.id": "auditor", "isolation.level": "read_committed",
            "enable.auto.commit": False, "enable.partition.eof": True, "log_level": 0,
        })
        places = {partition: self._seen[partition][-1][0] + 1 if self._seen[partition] else 0 for partition in self._seen}
        reader.assign([ck.TopicPartition(self._topic, partition, offset) for partition, offset in places.items()])
        ended, deadline = set(), time.monotonic() + 60
        while len(ended) < self._partitions:
            assert time.monotonic() < deadline, f"accounts {set(self._seen) - ended} have no end"
            message = reader.poll(1)
            if message is None:
                continue
            if message.error():
                if message.error().code() == ck.KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                continue
            name, amount = message.value().decode().split(":")
            self._seen[message.partition()].append((message.offset(), name, int(amount)))
        reader.close()

    def check(self, when):
        """What is seen now, whatever is under way."""
        self.look()
        ends = {}
        for client in self.all:
            client.hear()
            ends.update(client.ended)
        for partition, entries in self._seen.items():
            for _, name, _ in entries:
                assert ends.get(name, True), f"{when}: {name} was aborted, and account {partition} has it"
            newest = {}
            for offset, name, _ in entries:
                client, number = name.rsplit(".", 1)
                assert newest.get(client, -1) < int(number), f"{when}: {name} at {offset} of account {partition} is twice, or out of order"
                newest[client] = int(number)
        return ends

    def close(self, patience=60):
        """All have ended; now nothing is under way. Gives how many transfers there are."""
        deadline = time.monotonic() + patience
        while True:
            ends = self.check("at the end")
            parts = {}
            for entries in self._seen.values():
                for _, name, amount in entries:
                    parts.setdefault(name, []).append(amount)
            lost = [name for name, committed in ends.items() if committed and len(parts.get(name, ())) != 2]
            halves = [name for name, amounts in parts.items() if len(amounts) != 2 or sum(amounts) != 0]
            if not lost and not halves:
                return len(parts)
            # What a client that was killed has left open is aborted when its time is up; until then readers stop before it.
            assert time.monotonic() < deadline, f"lost {lost[:10]}, in parts {halves[:10]}"
            time.sleep(0.5)
