"""Groups of the classic protocol: static members, all clients in one group, what assignors say, and what is committed and read
with the consumers' settings. What the consumer protocol shares with it is tried here, too."""

import time

import pytest
from harness import groups
from harness.clients import MEMBERS
from harness.groups import KINDS, committed, partitions, places, span

PROPERTIES = {**groups.QUICK, "auto.create.topics.enable": "false"}
STATIC = [name for name, client in MEMBERS.items() if client.instances]
COOPERATIVE = ("java", "python", "franz-go", "kcat", "kafka-python")
LONG = 20_000


@pytest.mark.parametrize("kind", STATIC)
def test_a_static_member_comes_back_without_a_rebalance(party, admin, fill, topic, kind):
    admin.create(topic, partitions=4)
    everything = partitions(topic, 4)
    stays = party(kind, topic, topic, instance="stays", session=LONG)
    goes = party(kind, topic, topic, instance="goes", session=LONG)
    party.until_shared(everything, stays, goes)
    fill(topic, 4)
    party.until_read(40, stays, goes)
    party.until(lambda: committed(admin, topic) == {f"{topic}-{number}": 10 for number in range(4)}, "all is committed")
    before = list(stays.changes)
    goes.kill()
    back = party(kind, topic, topic, instance="goes", session=LONG)
    party.until(lambda: back.owned == goes.owned, "it has its partitions again")
    fill(topic, 4)
    party.until_read(80, stays, goes, back)
    assert stays.changes == before
    assert places(stays, goes, back) == span(topic, 4, 0, 20)
    owners = {each["instance"]: {tuple(pair) for pair in each["owns"]} for each in admin.call("describe-group", group=topic)["members"]}
    assert owners == {"stays": stays.owned, "goes": back.owned}


def test_of_two_with_the_same_instance_id_the_older_is_fenced(party, admin, topic):
    admin.create(topic, partitions=2)
    older = party("java", topic, topic, instance="one", session=LONG)
    party.until_shared(partitions(topic, 2), older)
    newer = party("python", topic, topic, instance="one", session=LONG)
    assert party.until_failed(older) == "FencedInstanceIdException"
    party.until_shared(partitions(topic, 2), newer)


def test_every_client_in_one_group(party, admin, fill, topic):
    everyone = len(MEMBERS)
    admin.create(topic, partitions=everyone)
    everything = partitions(topic, everyone)
    members = [party(kind, topic, topic, assignor="range") for kind in MEMBERS]
    party.until_shared(everything, *members)
    assert {len(member.owned) for member in members} == {1}
    described = admin.call("describe-group", group=topic)
    assert (described["state"], described["assignor"], len(described["members"])) == ("Stable", "range", everyone)
    fill(topic, everyone)
    party.until_read(10 * everyone, *members)
    # Java, the leader, is among those that leave.
    party.leave(*members[::2])
    stay = members[1::2]
    party.until_shared(everything, *stay)
    fill(topic, everyone)
    party.until_read(20 * everyone, *members)
    assert places(*members) == span(topic, everyone, 0, 20)


@pytest.mark.parametrize("kind", COOPERATIVE)
def test_a_cooperative_member_gives_up_only_what_another_gets(party, admin, fill, topic, kind):
    admin.create(topic, partitions=4)
    one = party(kind, topic, topic, assignor="cooperative-sticky")
    party.until_shared(partitions(topic, 4), one)
    two = party(kind, topic, topic, assignor="cooperative-sticky")
    party.until_shared(partitions(topic, 4), one, two)
    given = [tuple(pair) for change in one.changes for pair in change.get("revoked", [])]
    assert sorted(given) == sorted(two.owned)
    assert not any("lost" in change for change in one.changes)
    fill(topic, 4)
    party.until_read(40, one, two)
    assert places(one, two) == span(topic, 4, 0, 10)


def test_members_without_a_common_assignor_do_not_share_a_group(party, admin, topic):
    admin.create(topic, partitions=2)
    first = party("java", topic, topic, assignor="range")
    party.until_shared(partitions(topic, 2), first)
    assert party.until_failed(party("java", topic, topic, assignor="roundrobin")) == "InconsistentGroupProtocolException"
    assert first.owned == set(partitions(topic, 2))
    assert admin.call("describe-group", group=topic)["assignor"] == "range"


@pytest.mark.parametrize("kind", KINDS)
def test_partitions_that_are_added_are_assigned_and_read(party, admin, fill, topic, kind):
    admin.create(topic, partitions=1)
    member = party(kind, topic, topic)
    party.until_shared(partitions(topic, 1), member)
    admin.call("create-partitions", name=topic, total=3)
    party.until_shared(partitions(topic, 3), member)
    fill(topic, 3)
    party.until_read(30, member)
    assert places(member) == span(topic, 3, 0, 10)


@pytest.mark.parametrize("kind", ("java", "java-consumer", "python", "python-consumer", "franz-go", "franz-go-consumer"))
def test_a_topic_that_is_made_later_is_assigned_and_read(party, admin, fill, topic, kind):
    later = f"{topic}-later"
    admin.create(topic)
    member = party(kind, topic, [topic, later])
    party.until_shared(partitions(topic, 1), member)
    admin.create(later, partitions=2)
    party.until_shared(partitions(topic, 1) + partitions(later, 2), member)
    fill(later, 2)
    party.until_read(20, member)
    assert places(member) == span(later, 2, 0, 10)


@pytest.mark.parametrize("kind", ("java", "java-consumer", "python", "python-consumer", "franz-go", "kcat"))
def test_a_pattern_finds_its_topics(party, admin, fill, topic, kind):
    for name in ("one", "two", "three"):
        admin.create(f"{topic}.{name}")
    # The librdkafka clients tell a pattern from a name by its first character.
    member = party(kind, topic, topic, pattern=f"^{topic}\\.t.*$")
    matching = [(f"{topic}.three", 0), (f"{topic}.two", 0)]
    party.until_shared(matching, member)
    for name in ("one", "two"):
        fill(f"{topic}.{name}", 1)
    party.until_read(10, member)
    assert places(member) == span(f"{topic}.two", 1, 0, 10)
    if KINDS[kind][1] == "classic":
        admin.create(f"{topic}.ten")
        party.until_shared([*matching, (f"{topic}.ten", 0)], member)


@pytest.mark.parametrize("kind", ("java", "java-consumer", "python", "python-consumer"))
def test_commits_that_are_not_waited_for_are_kept(party, admin, fill, topic, kind):
    admin.create(topic, partitions=2)
    fill(topic, 2)
    member = party(kind, topic, topic, commit="async")
    party.until(lambda: committed(admin, topic) == {f"{topic}-0": 10, f"{topic}-1": 10}, "all is committed")
    fill(topic, 2, 1)
    party.until(lambda: committed(admin, topic) == {f"{topic}-0": 11, f"{topic}-1": 11}, "all is committed")
    party.leave(member)
    assert places(member) == span(topic, 2, 0, 11)


@pytest.mark.parametrize("kind", ("java", "java-consumer"))
def test_what_is_committed_has_the_records_epoch_and_the_members_words(party, admin, fill, topic, kind):
    admin.create(topic)
    fill(topic, 1)
    member = party(kind, topic, topic, metadata="größe")
    party.until_read(10, member)
    party.leave(member)
    assert admin.call("list-group-offsets", group=topic) == {f"{topic}-0": {"offset": 10, "metadata": "größe", "epoch": 0}}


@pytest.mark.parametrize("kind", ("java", "java-consumer"))
def test_metadata_that_is_too_long_is_refused(party, admin, fill, topic, kind):
    admin.create(topic)
    fill(topic, 1)
    member = party(kind, topic, topic, metadata="m" * 4097)
    assert party.until_failed(member) == "OffsetMetadataTooLarge"
    assert admin.call("list-group-offsets", group=topic) == {}


@pytest.mark.parametrize("kind", ("java", "java-consumer"))
def test_a_member_goes_back_to_what_is_committed(party, admin, fill, topic, kind):
    admin.create(topic)
    fill(topic, 1)
    first = party(kind, topic, topic)
    party.until_read(10, first)
    party.leave(first)
    fill(topic, 1)
    member = party(kind, topic, topic, reread=10)
    party.until_read(20, member)
    party.leave(member)
    assert [line["offset"] for line in member.records] == [*range(10, 20), *range(10, 20)]
    assert committed(admin, topic) == {f"{topic}-0": 20}


@pytest.mark.parametrize(("kind", "short"), (("java", {"session": 1500}), ("java-consumer", {})))
def test_a_member_that_pauses_stays_and_reads_on_when_it_resumes(party, admin, fill, topic, kind, short):
    admin.create(topic, partitions=2)
    fill(topic, 2)
    member = party(kind, topic, topic, pause=20, **short)
    party.until(lambda: member.paused == {(topic, 1)}, "it has paused")
    fill(topic, 2)
    # For longer than its session lasts.
    began = time.monotonic()
    party.until(lambda: len(member.records) >= 30 and time.monotonic() > began + 4, "it has read what it did not pause")
    assert places(member) == span(topic, 1, 0, 20) + [(topic, 1, offset) for offset in range(10)]
    assert committed(admin, topic) == {f"{topic}-0": 20, f"{topic}-1": 10}
    member.resumes()
    party.until_read(40, member)
    assert places(member) == span(topic, 2, 0, 20)
    assert member.owned == set(partitions(topic, 2))
    assert len(member.changes) == 1


@pytest.mark.parametrize("kind", ("java", "java-consumer", "python", "python-consumer", "franz-go", "sarama", "kafkajs", "aiokafka"))
def test_without_a_commit_reading_starts_at_the_end_if_that_is_asked_for(party, admin, fill, topic, kind):
    admin.create(topic)
    fill(topic, 1)
    member = party(kind, topic, topic, reset="latest")
    party.until_shared(partitions(topic, 1), member)
    # It has asked for the end when it reads what comes after; what was there before stays unread.
    while not member.records:
        fill(topic, 1, 1)
        party.until(lambda: True, "it is heard")
    assert min(line["offset"] for line in member.records) >= 10


@pytest.mark.parametrize("kind", ("java", "java-consumer"))
def test_without_a_commit_and_a_place_to_start_reading_fails(party, admin, topic, kind):
    admin.create(topic)
    assert party.until_failed(party(kind, topic, topic, reset="none")) == "NoOffsetForPartitionException"
