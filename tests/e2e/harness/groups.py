"""Members of groups, by way of the clients' verb `group`: what each has said it owns, read and committed, and waiting for what several
of them say."""

import contextlib
import itertools
import time
from pathlib import Path

from harness.clients import MEMBERS
from harness.lines import NoAnswer

# Every client with every protocol that it speaks, by name.
KINDS = {
    client.name if protocol == "classic" else f"{client.name}-{protocol}": (client.name, protocol)
    for client in MEMBERS.values()
    for protocol in client.protocols
}
# A broker in which nothing that members wait for takes long.
QUICK = {
    "group.initial.rebalance.delay.ms": "200",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.assignment.interval.ms": "0",
}
PATIENCE = 45


class Member:
    """One running `group` command."""

    def __init__(self, session, until, broker, group, topics, options):
        self.session = session
        self.name = session.client.name
        self.owned = set()
        self.paused = set()
        # (topic, partition) for each record, in order, and the lines.
        self.records = []
        self.committed = {}
        # The lines with "assigned", "revoked" and "lost", in order.
        self.changes = []
        self.errors = []
        self.end = None
        # A test that waits for its failure says so.
        self.may_fail = False
        self._until = until
        self._lines = []
        topics = ",".join([topics] if isinstance(topics, str) else topics)
        session.begin("group", bootstrap=broker.bootstrap, group=group, topic=topics, until=until, **options)

    def hear(self):
        """Takes in what it has said."""
        while self.end is None and (line := self.session.said()) is not None:
            self._lines.append(line)
            if "end" in line:
                self.end = line
            elif "error" in line:
                self.errors.append(line)
            elif "offset" in line:
                self.records.append(line)
            elif "committed" in line:
                self.committed.update({(topic, partition): offset for topic, partition, offset in line["committed"]})
            elif "paused" in line:
                self.paused = {tuple(pair) for pair in line["paused"]}
            elif "resumed" in line:
                self.paused -= {tuple(pair) for pair in line["resumed"]}
            else:
                self._change(line)

    def _change(self, line):
        self.changes.append(line)
        pairs = {tuple(pair) for how in ("assigned", "revoked", "lost") for pair in line.get(how, ())}
        self.owned = self.owned | pairs if "assigned" in line else self.owned - pairs

    def leaves(self):
        """Asks it to leave, and does not wait."""
        self._until.touch()

    def resumes(self):
        """Asks it to go on with what it has paused."""
        Path(f"{self._until}.resume").touch()

    def left(self):
        return self.end is not None

    def failure(self):
        """What it ended with, if that is an error."""
        return None if self.end is None else self.end.get("error")

    def kill(self):
        """kill -9; what it had said is heard."""
        self.session.close()
        with contextlib.suppress(NoAnswer):
            self.hear()
        self.end = {"end": True, "error": "killed"}

    def __repr__(self):
        end = "" if self.end is None else f", ended: {self.end}"
        return f"{self.name} owns {sorted(self.owned)}, {len(self.records)} records, said last {self._lines[-8:]}{end}"


class Party:
    """The members of a test."""

    def __init__(self, broker, open_session, idle, directory):
        self._broker = broker
        self._open = open_session
        self._idle = idle
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._members = []
        self._numbers = itertools.count()

    def __call__(self, kind, group, topics, **options):
        """A member of that kind, with the options of the verb."""
        client, protocol = KINDS[kind]
        idle = self._idle.setdefault(client, [])
        session = idle.pop() if idle else self._open(client)
        if protocol != "classic":
            options["protocol"] = protocol
        until = self._directory / f"leave-{next(self._numbers)}"
        member = Member(session, until, self._broker, group, topics, options)
        self._members.append(member)
        return member

    def until(self, condition, what):
        """Waits for the condition while all members are heard; one that ends with an error fails the test."""
        deadline = time.monotonic() + PATIENCE
        while True:
            for member in self._members:
                member.hear()
            if condition():
                return
            ended = [member for member in self._members if member.failure() not in (None, "killed") and not member.may_fail]
            assert not ended, f"{what}: {ended}"
            assert time.monotonic() < deadline, f"{what}, which is not so: {self._members}"
            time.sleep(0.02)

    def until_shared(self, partitions, *members):
        """Each partition has an owner among these, and each of these owns some."""
        wanted = sorted(partitions)
        shared = lambda: sorted(itertools.chain(*(member.owned for member in members))) == wanted
        self.until(lambda: shared() and all(member.owned for member in members), f"{len(members)} share {wanted}")

    def until_read(self, count, *members):
        """So many records, by all of these together."""
        self.until(lambda: sum(len(member.records) for member in members) >= count, f"{count} records are read")

    def until_failed(self, member):
        """The name of the error with which it ends."""
        member.may_fail = True
        self.until(member.left, "it ends")
        return member.failure()

    def leave(self, *members):
        for member in members:
            member.leaves()
        self.until(lambda: all(member.left() for member in members), "they leave")

    def close(self):
        """Members leave; what does not is ended."""
        running = [member for member in self._members if not member.left()]
        for member in running:
            member.leaves()
        deadline = time.monotonic() + 15
        while any(not member.left() and member.session.alive() for member in running) and time.monotonic() < deadline:
            for member in running:
                if member.session.alive():
                    member.hear()
            time.sleep(0.02)
        for member in self._members:
            if member.left() and member.session.alive():
                self._idle.setdefault(member.name, []).append(member.session)
            else:
                member.session.close()


def committed(admin, group):
    """{"topic-partition": offset} of all that the group has committed."""
    return {name: line["offset"] for name, line in admin.call("list-group-offsets", group=group).items()}


def partitions(topic, count):
    return [(topic, number) for number in range(count)]


def places(*members):
    """Where the records were that these have read, sorted: (topic, partition, offset)."""
    return sorted((line["topic"], line["partition"], line["offset"]) for member in members for line in member.records)


def span(topic, count, first, end):
    """The places of the records from `first` to `end` in each of so many partitions."""
    return [(topic, number, offset) for number in range(count) for offset in range(first, end)]
