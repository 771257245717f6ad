"""kill -9 under load, again and again: nothing acknowledged is lost, nothing is there twice, order and offsets are as they were told."""

import os
import time

import pytest
from harness import dump
from rig import silence
from rig.book import Book
from rig.kills import kill_while_it_starts, timed_start
from rig.load import CLIENTS

KILLS = int(os.environ.get("APLOMB_CRASH_KILLS", "15"))
PARTITIONS = range(6)


def a_few(kills):
    """For the other tests, a share of the kills that the longest one does."""
    return max(2, KILLS // kills)


@pytest.mark.timeout(120 + 20 * KILLS)
def test_kills_in_a_row_under_load(prepare, admin_of, loads, topic, moments, tools):
    """At the end the files are sound in the eyes of Apache Kafka's own tool."""
    broker = prepare().start()
    admin_of(broker).create(topic, partitions=len(PARTITIONS), retention_ms=-1, segment_bytes=4 << 20)
    producers = loads(broker, topic, PARTITIONS, rate=1500, size=300)
    book = Book(topic, PARTITIONS, producers)
    for kill in range(KILLS):
        for producer in producers:
            producer.wait_for_acks()
        time.sleep(moments.uniform(0, 1))
        broker.kill()
        broker.start()
        book.turn_page(broker, f"after kill {kill + 1}")
    for producer in producers:
        producer.wait_for_acks()
        producer.stop()
    book.close(broker)
    broker.stop()
    dump.check(tools, broker)


@pytest.mark.timeout(120 + 20 * KILLS)
def test_kills_while_producers_wait_in_a_full_tail(prepare, admin_of, loads, topic, moments, tools):
    """They send as fast as they can, and the tail is as small as it may be; segments are small too, so that rolling is hit."""
    broker = prepare({"aplomb.tail.bytes": str(4 << 20)}).start()
    admin_of(broker).create(topic, partitions=len(PARTITIONS), retention_ms=-1, segment_bytes=1 << 20)
    producers = loads(broker, topic, PARTITIONS, rate=4000, size=3000)
    book = Book(topic, PARTITIONS, producers)
    for kill in range(a_few(7)):
        for producer in producers:
            producer.wait_for_acks()
        time.sleep(moments.uniform(0, 1))
        broker.kill()
        broker.start()
        book.turn_page(broker, f"after kill {kill + 1}")
    for producer in producers:
        producer.stop()
    book.close(broker)
    broker.stop()
    dump.check(tools, broker)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_small_tail_and_a_prompt_disk_do_not_stand_still(prepare, admin_of, load, topic, client):
    """Producers that wait for room go on as soon as the disk has made some, and not at a time-out. Their batches are large, some a
    quarter of the tail, and what the tail has at first belongs to a partition that is not used any more."""
    broker = prepare({"aplomb.tail.bytes": str(4 << 20)}).start()
    for name, partitions in (("before", range(1)), (topic, PARTITIONS)):
        admin_of(broker).create(name, partitions=len(partitions), retention_ms=-1, segment_bytes=1 << 20)
        producer = load(client, broker, name, partitions, rate=4000, size=3000)
        producer.wait_until_known()
        begin = int(time.time() * 1000)
        time.sleep(6)
        producer.news()
        pause = silence.longest([ack.at for ack in producer.acks], begin, int(time.time() * 1000))
        assert pause < 4, f"{producer.name} got no acknowledgement for {pause} s"
        producer.stop()
        Book(name, partitions, [producer]).close(broker)


@pytest.mark.root
@pytest.mark.timeout(120 + 20 * KILLS)
def test_kills_while_producers_wait_for_a_slow_disk(prepare, admin_of, loads, disk, topic, moments):
    """The disk answers a fifth of the time, before, during and after each kill, so that the tail is nearly always full."""
    slow = disk("ext4")
    broker = prepare({"aplomb.tail.bytes": str(4 << 20)}, log_dirs=[slow.path / "data"]).start()
    admin_of(broker).create(topic, partitions=len(PARTITIONS), retention_ms=-1, segment_bytes=4 << 20)
    with slow.slow():
        producers = loads(broker, topic, PARTITIONS, rate=2000, size=2000)
        book = Book(topic, PARTITIONS, producers)
        for kill in range(a_few(10)):
            for producer in producers:
                producer.wait_for_acks()
            time.sleep(moments.uniform(0, 2))
            broker.kill()
            broker.start()
            book.turn_page(broker, f"after kill {kill + 1}")
    for producer in producers:
        producer.stop()
    book.close(broker)


@pytest.mark.timeout(120 + 20 * KILLS)
def test_kills_during_the_restart_itself(prepare, admin_of, loads, topic, moments):
    """Each kill is followed by two more at random moments of the recovery that it made necessary."""
    broker = prepare()
    usual = timed_start(broker)
    admin_of(broker).create(topic, partitions=len(PARTITIONS), retention_ms=-1, segment_bytes=1 << 20)
    producers = loads(broker, topic, PARTITIONS, rate=3000, size=1000)
    book = Book(topic, PARTITIONS, producers)
    for kill in range(a_few(10)):
        for producer in producers:
            producer.wait_for_acks()
        time.sleep(moments.uniform(0, 1))
        broker.kill()
        for _ in range(2):
            kill_while_it_starts(broker, moments.uniform(0, usual))
        usual = timed_start(broker)
        book.turn_page(broker, f"after kill {kill + 1} and two more")
    for producer in producers:
        producer.stop()
    book.close(broker)


@pytest.mark.timeout(300)
def test_clean_stops_and_kills_in_turn(prepare, admin_of, loads, topic, moments):
    """What a clean stop leaves, a kill must not spoil, and the other way round; both with clients that never go away."""
    broker = prepare().start()
    admin_of(broker).create(topic, partitions=len(PARTITIONS), retention_ms=-1)
    producers = loads(broker, topic, PARTITIONS, rate=1500, size=300)
    book = Book(topic, PARTITIONS, producers)
    for turn in range(a_few(10)):
        for how in (broker.stop, broker.kill):
            for producer in producers:
                producer.wait_for_acks()
            time.sleep(moments.uniform(0, 0.5))
            how()
            broker.start()
            book.turn_page(broker, f"after {how.__name__} {turn + 1}")
    for producer in producers:
        producer.stop()
    book.close(broker)
