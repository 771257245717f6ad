"""Groups, with every client and every protocol that it speaks: members read on where the group left off, share the partitions, and
hand them over when one leaves or dies, and every record is read by exactly one."""

import pytest
from harness import groups
from harness.clients import MEMBERS
from harness.groups import KINDS, committed, partitions, places, span

PROPERTIES = groups.QUICK
# How many records `fill` writes to each partition.
COUNT = 10


@pytest.mark.parametrize("commit", ("sync", "auto"))
@pytest.mark.parametrize("kind", KINDS)
def test_a_second_run_goes_on_where_the_first_left_off(party, admin, fill, topic, kind, commit):
    admin.create(topic, partitions=2)
    fill(topic, 2)
    first = party(kind, topic, topic, commit=commit)
    party.until_read(2 * COUNT, first)
    party.leave(first)
    assert places(first) == span(topic, 2, 0, COUNT)
    assert committed(admin, topic) == {f"{topic}-0": COUNT, f"{topic}-1": COUNT}
    if commit == "sync" and MEMBERS[first.name].tells_commits:
        assert first.committed == {(topic, 0): COUNT, (topic, 1): COUNT}
    described = admin.call("describe-group", group=topic)
    assert (described["state"], described["members"]) == ("Empty", [])
    fill(topic, 2, 3)
    second = party(kind, topic, topic, commit=commit)
    party.until_read(6, second)
    party.leave(second)
    assert places(second) == span(topic, 2, COUNT, COUNT + 3)
    assert committed(admin, topic) == {f"{topic}-0": COUNT + 3, f"{topic}-1": COUNT + 3}


@pytest.mark.parametrize("kind", KINDS)
def test_two_members_share_and_one_that_leaves_hands_over(party, admin, fill, topic, kind):
    admin.create(topic, partitions=4)
    everything = partitions(topic, 4)
    one = party(kind, topic, topic)
    party.until_shared(everything, one)
    two = party(kind, topic, topic)
    party.until_shared(everything, one, two)
    assert (len(one.owned), len(two.owned)) == (2, 2)
    theirs = set(two.owned)
    fill(topic, 4)
    party.until_read(4 * COUNT, one, two)
    assert places(one, two) == span(topic, 4, 0, COUNT)
    assert {(line["topic"], line["partition"]) for line in two.records} == theirs
    described = admin.call("describe-group", group=topic)
    assert described["state"] == "Stable"
    assert [list(map(tuple, each["owns"])) for each in described["members"]] == sorted(sorted(each.owned) for each in (one, two))
    party.leave(two)
    party.until_shared(everything, one)
    fill(topic, 4)
    party.until_read(8 * COUNT, one, two)
    assert places(one, two) == span(topic, 4, 0, 2 * COUNT)


@pytest.mark.parametrize("kind", KINDS)
def test_the_partitions_of_a_member_that_is_killed_are_taken_over(party, admin, fill, topic, kind):
    admin.create(topic, partitions=4)
    everything = partitions(topic, 4)
    short = {} if KINDS[kind][1] == "consumer" else {"session": 1500}
    one = party(kind, topic, topic, **short)
    two = party(kind, topic, topic, **short)
    party.until_shared(everything, one, two)
    fill(topic, 4)
    party.until_read(4 * COUNT, one, two)
    done = {f"{topic}-{number}": COUNT for number in range(4)}
    party.until(lambda: committed(admin, topic) == done, "all is committed")
    two.kill()
    party.until_shared(everything, one)
    assert len(admin.call("describe-group", group=topic)["members"]) == 1
    fill(topic, 4)
    party.until_read(8 * COUNT, one, two)
    assert places(one, two) == span(topic, 4, 0, 2 * COUNT)
