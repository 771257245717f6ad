"""Fetch sessions in the open: what a client library hides is asked for and checked frame by frame."""

import base64
import uuid

import pytest
from harness import fetch, wire

UNKNOWN_TOPIC_ID, OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_LEADER_EPOCH = 100, 1, 3, 75
SESSION_NOT_FOUND, INVALID_SESSION_EPOCH = 70, 71


@pytest.fixture
def made(broker, admin, java, topic):
    """A topic of three partitions with five records in the first, as its id."""
    topic_id = admin.create(topic, partitions=3)["id"]
    java.produce(broker, topic, partition=0, count=5, size=100)
    return uuid.UUID(bytes=base64.urlsafe_b64decode(topic_id + "=="))


@pytest.fixture
def ask(broker):
    """Sends a fetch and reads its answer, all on one connection."""
    with wire.Connection(broker.port) as connection:
        yield lambda *arguments, **options: fetch.read(connection.ask(fetch.request(*arguments, **options)))


def all_partitions(topic):
    return [(topic, 0, 0), (topic, 1, 0), (topic, 2, 0)]


def test_without_a_session_everything_asked_for_is_answered(ask, made):
    error, session, found = ask(all_partitions(made))
    assert (error, session) == (0, 0)
    assert set(found) == {(made, 0), (made, 1), (made, 2)}
    assert [found[made, partition].high_watermark for partition in range(3)] == [5, 0, 0]
    assert len(found[made, 0].records) > 500
    assert found[made, 1].records == found[made, 2].records == b""


def test_a_session_then_answers_only_what_is_new(ask, made, broker, java, topic):
    error, session, found = ask(all_partitions(made), epoch=0)
    assert error == 0
    assert session > 0
    assert len(found) == 3
    # Nothing new: the client moves on in the one partition that had records, and hears of none.
    error, same, found = ask([(made, 0, 5)], session=session, epoch=1)
    assert (error, same, found) == (0, session, {})
    java.produce(broker, topic, partition=2, count=4, size=50)
    error, same, found = ask([], session=session, epoch=2)
    assert (error, same, set(found)) == (0, session, {(made, 2)})
    assert found[made, 2].high_watermark == 4
    # Not told that the client has them, the broker sends them again.
    error, _, found = ask([], session=session, epoch=3)
    assert (error, set(found)) == (0, {(made, 2)})
    error, _, found = ask([(made, 2, 4)], session=session, epoch=4)
    assert (error, found) == (0, {})


def test_a_forgotten_partition_is_not_answered_any_more(ask, made, broker, java, topic):
    _, session, _ = ask(all_partitions(made), epoch=0)
    error, _, _ = ask([(made, 0, 5)], session=session, epoch=1, forgotten=[(made, 1)])
    assert error == 0
    for partition in (1, 2):
        java.produce(broker, topic, partition=partition, count=1)
    error, _, found = ask([], session=session, epoch=2)
    assert (error, set(found)) == (0, {(made, 2)})


def test_a_wrong_epoch_and_an_unknown_session_are_refused(ask, made):
    _, session, _ = ask(all_partitions(made), epoch=0)
    assert ask([], session=session, epoch=7)[0] == INVALID_SESSION_EPOCH
    # The refusal has not moved the session on.
    assert ask([], session=session, epoch=1)[0] == 0
    assert ask([], session=session ^ 0x55AA, epoch=1)[0] == SESSION_NOT_FOUND


def test_a_closed_session_is_gone(ask, made):
    _, session, _ = ask(all_partitions(made), epoch=0)
    error, none, found = ask(all_partitions(made), session=session, epoch=-1)
    assert (error, none, len(found)) == (0, 0, 3)
    assert ask([], session=session, epoch=1)[0] == SESSION_NOT_FOUND


def test_a_deleted_start_is_news_to_a_session(ask, made, admin, topic):
    _, session, _ = ask([(made, 0, 5)], epoch=0)
    assert ask([], session=session, epoch=1)[2] == {}
    admin.call("delete-records", topic=topic, partition=0, before=3)
    error, _, found = ask([], session=session, epoch=2)
    assert (error, found[made, 0].log_start) == (0, 3)


@pytest.mark.parametrize("epoch", (-1, 0))
def test_an_unknown_topic_id_is_an_error_of_its_partition(ask, made, epoch):
    unknown = uuid.UUID(int=0x1234)
    error, _, found = ask([(unknown, 0, 0), (made, 0, 0)], epoch=epoch)
    assert error == 0
    assert found[unknown, 0].error == UNKNOWN_TOPIC_ID
    assert found[made, 0].error == 0
    assert found[made, 0].records


def test_errors_of_one_partition(ask, made):
    for offset in (6, -1):
        assert ask([(made, 0, offset)])[2][made, 0].error == OFFSET_OUT_OF_RANGE
    assert ask([(made, 3, 0)])[2][made, 3].error == UNKNOWN_TOPIC_OR_PARTITION
    assert ask([(made, 0, 0)], leader_epoch=99)[2][made, 0].error == UNKNOWN_LEADER_EPOCH
    assert ask([(made, 0, 0)], leader_epoch=0)[2][made, 0].error == 0


def test_the_first_batch_comes_whole_however_small_the_limits(ask, made):
    _, _, whole = ask([(made, 0, 0)])
    _, _, limited = ask([(made, 0, 0)], max_bytes=1, partition_bytes=1)
    assert limited[made, 0].records == whole[made, 0].records[: len(limited[made, 0].records)]
    assert len(limited[made, 0].records) >= 12 + int.from_bytes(whole[made, 0].records[8:12], "big")


def test_a_fetch_waits_for_a_record_no_longer_than_it_says(broker, made, ask, java, topic):
    """An answer without records may only come after the wait, so it comes at all."""
    error, _, found = ask([(made, 1, 0)], max_wait=300, min_bytes=1)
    assert (error, found[made, 1].records) == (0, b"")
    with wire.Connection(broker.port, timeout=50) as connection:
        connection.send(wire.frame(fetch.request([(made, 1, 0)], max_wait=60_000, min_bytes=1)))
        java.produce(broker, topic, partition=1, count=1, size=10)
        _, _, found = fetch.read(connection.receive())
    assert found[made, 1].records


def test_an_uncommon_number_of_sessions_is_survived(broker, made, java, topic):
    """More sessions than the broker keeps: those that find no room go without one, and each is answered."""
    with wire.Connection(broker.port) as connection:
        for _ in range(1500):
            error, _, found = fetch.read(connection.ask(fetch.request([(made, 0, 0)], epoch=0)))
            assert error == 0
            assert found[made, 0].records
    assert len(java.consume(broker, topic, partition=0, offset=0, count=5)) == 5
