"""kill -9 while groups of both protocols rebalance and commit, with real clients and a steady stream of records: what was committed
stays so, nothing is missed, no partition has two owners, and groups become stable again."""

import itertools
import os
import time

import pytest
from harness import groups
from rig.book import Book
from rig.kills import kill_while_it_starts, timed_start
from rig.tenures import Commits, check_tenures

KILLS = int(os.environ.get("APLOMB_CRASH_GROUP_KILLS", "4"))
PARTITIONS = range(6)
PROPERTIES = {**groups.QUICK, "group.consumer.session.timeout.ms": "6000", "offsets.topic.num.partitions": "3"}
# The clients of each protocol; all of a protocol are in one group. librdkafka with the consumer protocol is not among them: with
# Apache Kafka, too, it was seen to hold a partition for a tenth of a second more when another member had it already, and it does
# not tell its epoch.
KINDS = {"classic": ("java", "python", "franz-go"), "consumer": ("java-consumer", "franz-go-consumer")}
# How many members a group has at most; the least is two.
MOST = 4


class Group:
    """One group whose members come and go."""

    def __init__(self, protocol, assignor, topic, party, admin, moments):
        self.name = f"{topic}-{protocol}"
        # (name, member, when it was killed), of all that there were.
        self.all = []
        # When the broker was started and when it answered, in milliseconds.
        self.starts = []
        self.commits = Commits(admin, self.name)
        self._topic = topic
        self._party = party
        self._admin = admin
        self._moments = moments
        self._kinds = itertools.cycle(KINDS[protocol])
        self._options = {"session": 6000, "assignor": assignor} if protocol == "classic" else {}
        for _ in range(3):
            self.join()

    def live(self):
        return [member for _, member, killed_at in self.all if killed_at is None and not member.leaving]

    def members(self):
        return [member for _, member, _ in self.all]

    def join(self):
        kind = next(self._kinds)
        member = self._party(kind, self.name, self._topic, timeout=24 * 3600, **self._options)
        member.leaving = False
        self.all.append((f"{kind} {len(self.all)}", member, None))

    def leave(self):
        member = self._moments.choice(self.live())
        member.leaving = True
        member.leaves()

    def kill(self):
        index = self._moments.choice([index for index, (_, member, _) in enumerate(self.all) if member in self.live()])
        name, member, _ = self.all[index]
        member.kill()
        self.all[index] = (name, member, int(time.time() * 1000))

    def change(self):
        """One member joins, leaves or is killed."""
        ways = [self.join] * (len(self.live()) < MOST) + [self.leave, self.kill] * (len(self.live()) > 2)
        self._moments.choice(ways)()

    def until_stable(self):
        """The live members share the partitions, and the broker has these members and no others."""
        live, everything = self.live(), [(self._topic, partition) for partition in PARTITIONS]

        def stable():
            owned = sorted(sorted(member.owned) for member in live)
            if sorted(itertools.chain(*owned)) != everything:
                return False
            found = self._admin.call("describe-group", group=self.name)
            return found["state"] == "Stable" and sorted(sorted(map(tuple, each["owns"])) for each in found["members"]) == owned

        self._party.until(stable, f"{self.name} is stable with {live}")

    def check(self, when):
        self.commits.check(self.members(), when)
        check_tenures(self.all, self.starts)

    def check_reading(self, ends):
        """Everything was read by somebody."""
        read = {(line["topic"], line["partition"], line["offset"]) for member in self.members() for line in member.records}
        for partition, end in ends.items():
            missed = [offset for offset in range(end) if (self._topic, partition, offset) not in read]
            assert missed == [], f"{self.name} has missed {len(missed)} records of partition {partition}: {missed[:20]}"


@pytest.mark.timeout(180 + 40 * KILLS)
@pytest.mark.parametrize("assignor", ("range", "cooperative-sticky"))
def test_kills_while_groups_rebalance_and_commit(prepare, admin_of, load, party_on, topic, moments, assignor):
    """The assignor is that of the classic group: members give up all they have in a rebalance, or what another gets."""
    broker = prepare(PROPERTIES)
    usual = timed_start(broker)
    admin = admin_of(broker)
    admin.create(topic, partitions=len(PARTITIONS), retention_ms=-1)
    party = party_on(broker)
    there = [Group(protocol, assignor, topic, party, admin, moments) for protocol in KINDS]
    producer = load("franz-go", broker, topic, PARTITIONS, rate=200, size=100)
    producer.wait_until_known()
    book = Book(topic, PARTITIONS, [producer])
    for kill in range(KILLS):
        if kill % 3 == 0:
            for group in there:
                group.until_stable()
        producer.wait_for_acks()
        for group in there:
            group.change()
        # Members learn of a change within a heartbeat, and commit all the time.
        time.sleep(moments.uniform(0, 1))
        broker.kill()
        if moments.random() < 0.3:
            there[kill % 2].change()
        if moments.random() < 0.3:
            kill_while_it_starts(broker, moments.uniform(0, usual))
        start = int(time.time() * 1000)
        broker.start()
        for group in there:
            group.starts.append((start, int(time.time() * 1000)))
            group.check(f"after kill {kill + 1}")
        book.turn_page(broker, f"after kill {kill + 1}")
    for group in there:
        group.until_stable()
    producer.stop()
    book.close(broker)
    ends = {partition: len(book.log[partition]) for partition in PARTITIONS}
    for group in there:
        group.commits.until_at({(topic, partition): end for partition, end in ends.items()}, group.members())
        group.check("at the end")
        group.check_reading(ends)
        group.until_stable()
