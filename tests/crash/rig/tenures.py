"""Who owned which partition of a group from when to when, in the words of its members, and what they have read and committed.

Always holds, or a test fails: of two members that held a partition at the same time one had been given up by the group, and does
not know it yet: it ends by losing the partition or by being killed, and its generation (or member epoch) is the older one. Within
one generation no partition is given to two members. What the group has committed never goes back behind what a member was told is
committed, and never forgets it.

Left out is what the Java client of the consumer protocol cannot know. A heartbeat names the partitions whose callback it has called,
not those that it has been given and is about to call it for: after a lost connection (ConsumerHeartbeatRequestManager.HeartbeatState
after reset), and, in the middle of a rebalance, when what it was given came with the answer to the heartbeat before. So a coordinator,
Apache Kafka's too (CurrentAssignmentBuilder.ownsRevokedPartitions), may give such a partition to another member at once. The callback
comes all the same, with the epoch of that moment, and the partition is revoked at the next reconciliation."""

import itertools
import time
from dataclasses import dataclass

# franz-go keeps what the group has given it before it calls the application for it; when its session ends in between, it calls the
# application with all of that as revoked or lost (manageFailWait of its groupConsumer).
TELLS_MORE = "franz-go"
# The Java client of the consumer protocol, which tells less than it does; see above. Closed while it revokes a partition, it revokes it
# once more.
KNOWS_LESS = "java-consumer "
# Callbacks of one rebalance follow each other so soon, in milliseconds.
SOON = 1000


@dataclass
class Tenure:
    """One member's hold on one partition; times are milliseconds, and `generation` is None where the client does not tell."""

    member: str
    generation: int | None
    start: int
    end: float = float("inf")
    # "revoked", "lost", "killed", or None while it lasts.
    how: str | None = None
    # When the member was called before it got this partition.
    called_before: float = float("-inf")


def tenures(name, member, killed_at, until):
    """{(topic, partition): [Tenure, ...]} of one member, from the lines that it printed up to a time."""
    held, all_held, given_up, called_before = {}, {}, {}, float("-inf")
    for line in member.changes:
        if line["at"] > until:
            break
        for how in ("revoked", "lost"):
            for pair in map(tuple, line.get(how, ())):
                if pair in held:
                    tenure = held.pop(pair)
                    tenure.end, tenure.how = line["at"], how
                    given_up[pair] = line["at"]
                else:
                    again = name.startswith(KNOWS_LESS) and line["at"] - given_up.get(pair, float("-inf")) < SOON
                    assert again or name.startswith(TELLS_MORE), f"{name} gives up {pair}, which it does not hold: {line}"
        for pair in map(tuple, line.get("assigned", ())):
            # Some clients name once more what they keep.
            if pair not in held:
                held[pair] = Tenure(name, line.get("generation"), line["at"], called_before=called_before)
                all_held.setdefault(pair, []).append(held[pair])
        called_before = line["at"]
    if killed_at is not None:
        for tenure in held.values():
            tenure.end, tenure.how = killed_at, "killed"
    return all_held


def _was_never_acknowledged(tenure, starts):
    """Whether this may be a hold of the Java client that its group knew nothing of; see above. `starts` are when the broker was started
    and when it answered, in milliseconds. A member comes back by retries whose pauses grow to a second: for the connection, for the
    coordinator, and for each heartbeat while that loads, each of which makes the client forget what it has named."""
    brief = tenure.how == "revoked" and tenure.end - tenure.start < SOON
    comes_back = any(start <= tenure.start < answered + 5000 for start, answered in starts)
    in_a_rebalance = tenure.start - tenure.called_before < SOON
    return tenure.member.startswith(KNOWS_LESS) and brief and (comes_back or in_a_rebalance)


def check_tenures(members, starts):
    """`members` are (name, Member, when it was killed or None); what they have said up to now is checked. `starts` are when the broker
    was started and when it answered, in milliseconds."""
    until = int(time.time() * 1000)
    # What was printed until now is heard then.
    time.sleep(0.3)
    by_partition = {}
    for name, member, killed_at in members:
        member.hear()
        for pair, held in tenures(name, member, killed_at, until).items():
            by_partition.setdefault(pair, []).extend(tenure for tenure in held if not _was_never_acknowledged(tenure, starts))
    for pair, held in by_partition.items():
        for older, newer in itertools.combinations(sorted(held, key=lambda tenure: tenure.start), 2):
            _check_two(pair, older, newer)


def _check_two(pair, older, newer):
    both = f"{pair}: {older} and {newer}"
    known = None not in (older.generation, newer.generation)
    if older.member != newer.member and known:
        assert older.generation != newer.generation, f"two owners in one generation of {both}"
    if newer.start < older.end:
        assert older.how in ("lost", "killed"), f"two owners at once of {both}"
        assert not known or older.generation < newer.generation, f"the older generation owns last of {both}"


class Commits:
    """What one group has committed: what its members were told, and what the broker says."""

    def __init__(self, admin, group):
        self._admin = admin
        self._group = group
        self._least = {}

    def check(self, members, when):
        """Every commit that a member was told of is there, or a later one."""
        for member in members:
            member.hear()
            for pair, offset in member.committed.items():
                self._least[pair] = max(offset, self._least.get(pair, 0))
        found = self._found()
        for pair, least in self._least.items():
            assert found.get(pair, -1) >= least, f"{when}: {self._group} has committed {least} in {pair}, where there is {found.get(pair)}"
        self._least.update(found)

    def until_at(self, ends, members, patience=60):
        """Waits until all is read and committed."""
        deadline = time.monotonic() + patience
        while self._found() != ends:
            self.check(members, "on the way to the end")
            assert time.monotonic() < deadline, f"{self._group} has committed {self._found()} of {ends}: {members}"
            time.sleep(0.2)

    def _found(self):
        listed = self._admin.call("list-group-offsets", group=self._group)
        split = lambda name: name.rsplit("-", 1)
        return {(split(name)[0], int(split(name)[1])): line["offset"] for name, line in listed.items()}
