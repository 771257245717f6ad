"""aplomb bench: what it counts is what was due, and a broker that stands still does not make it count less."""

import signal
import threading
import time

import pytest
from conftest import aplomb, bench

RATE, SECONDS = 2000, 2
QUICK = ("--rate", RATE, "--duration", f"{SECONDS}s", "--warm-up", "500ms", "--record-size", 200, "--partitions", 3)


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_record_that_was_due_is_acknowledged_and_arrives(broker, compression):
    options = ("--compression", compression, "--keys", "zipf:1000", "--producers", 2, "--consumers", 2, "--threads", 2)
    found = bench(broker, "end-to-end", "-t", f"all-{compression}", *QUICK, *options)
    assert found["totals"]["acknowledged"] == RATE * SECONDS
    assert found["totals"]["failed"] == found["totals"]["unanswered"] == found["totals"]["foreign"] == 0
    for kind in ("produce", "end_to_end"):
        latency = found["latency_us"][kind]
        assert latency["count"] == RATE * SECONDS
        assert 0 < latency["min"] <= latency["p50"] <= latency["p99"] <= latency["p99.99"] <= latency["max"]
        assert sum(count for _, count in found["histogram_us"][kind]) == RATE * SECONDS
        by_second = [row[kind]["count"] for row in found["rows"] if kind in row]
        assert by_second == [RATE] * SECONDS


@pytest.mark.parametrize("options", [("--acks", "1"), ("--acks", "0"), ("--no-idempotence",), ("--keys", "round-robin", "--linger", "0")], ids=" ".join)
def test_producers_of_every_kind(broker, options):
    found = bench(broker, "produce", "-t", "kinds", *QUICK, *options)
    assert found["totals"]["acknowledged"] == RATE * SECONDS
    assert found["partitions"] == 3


def test_what_was_produced_is_consumed(broker):
    made = bench(broker, "produce", "-t", "read", *QUICK, "--warm-up", "0")
    read = bench(broker, "consume", "-t", "read", "--duration", "60s", "--warm-up", "0", "--consumers", 2)
    assert read["totals"]["received"] == made["totals"]["acknowledged"] == RATE * SECONDS
    assert read["totals"]["received_bytes"] == RATE * SECONDS * 200
    assert read["latency_us"]["fetch"]["count"] > 0


def test_fetches_at_fixed_times_are_all_counted(broker):
    bench(broker, "produce", "-t", "paced", *QUICK, "--warm-up", "0")
    options = ("--from", "end", "--fetch-rate", 50, "--fetch-max-wait", "1ms", "--duration", "1s", "--warm-up", "0")
    read = bench(broker, "consume", "-t", "paced", *options)
    # The last ones may be under way when the second ends.
    assert 45 <= read["latency_us"]["fetch"]["count"] <= 50


def test_a_broker_that_stands_still_is_seen_in_every_record_that_was_due(broker):
    pause = 1.5
    timers = [
        threading.Timer(2.0, broker.process.send_signal, [signal.SIGSTOP]),
        threading.Timer(2.0 + pause, broker.process.send_signal, [signal.SIGCONT]),
    ]
    command = ("produce", "-t", "still", *QUICK, "--duration", "4s", "--buffer-memory", 100_000, "--warm-up", "0")
    for timer in timers:
        timer.start()
    try:
        found = bench(broker, *command)
    finally:
        for timer in timers:
            timer.join()
    assert found["totals"]["acknowledged"] == RATE * 4
    assert [row["produce"]["count"] for row in found["rows"] if "produce" in row] == [RATE] * 4
    assert found["latency_us"]["produce"]["max"] > (pause - 0.2) * 1e6
    # Records fell due all through the pause, though the buffer holds 400 of them: half of those waited for more than half of it.
    waited = sum(count for micros, count in found["histogram_us"]["produce"] if micros > pause / 2 * 1e6)
    assert waited > RATE * pause / 2 * 0.8


def test_a_broker_that_comes_back_loses_nothing(broker):
    command = ("produce", "-t", "back", *QUICK, "--duration", "5s", "--warm-up", "0", "--drain", "60s")

    def restart():
        time.sleep(2)
        broker.stop()
        broker.start()

    restarting = threading.Thread(target=restart)
    restarting.start()
    try:
        found = bench(broker, *command)
    finally:
        restarting.join()
    assert found["totals"]["acknowledged"] == RATE * 5
    assert found["totals"]["failed"] == found["totals"]["unanswered"] == 0
    assert found["errors"], "the broker was gone in between"
    read = bench(broker, "consume", "-t", "back", "--duration", "60s", "--warm-up", "0")
    assert read["totals"]["received"] == RATE * 5, "an idempotent producer neither loses nor repeats"


def test_records_without_an_answer_are_a_failure_and_are_in_the_latencies(broker):
    bench(broker, "produce", "-t", "unanswered", *QUICK)
    options = ("--duration", "2s", "--warm-up", "0", "--drain", "500ms")
    stop = threading.Timer(1.5, broker.process.send_signal, [signal.SIGSTOP])
    stop.start()
    try:
        found = bench(broker, "produce", "-t", "unanswered", *QUICK, *options, expect=1)
    finally:
        stop.join()
        broker.process.send_signal(signal.SIGCONT)
    totals = found["totals"]
    assert totals["unanswered"] > 0
    assert totals["acknowledged"] + totals["unanswered"] == RATE * 2 == found["latency_us"]["produce"]["count"]


def test_what_cannot_begin_says_why(broker):
    missing = aplomb("bench", "consume", "-b", broker.bootstrap, "-t", "nowhere")
    assert (missing.exit, missing.stderr.strip()) == (1, "aplomb: topic nowhere: UNKNOWN_TOPIC_OR_PARTITION")
    nobody = aplomb("bench", "produce", "-b", "127.0.0.1:1")
    assert nobody.exit == 1
    assert "cannot reach a broker at 127.0.0.1:1" in nobody.stderr
    wrong = aplomb("bench", "produce", "-b", broker.bootstrap, "--record-size", 3)
    assert (wrong.exit, "at least 16 bytes" in wrong.stderr) == (1, True)


def test_people_get_a_table_and_a_line_a_second(broker):
    ran = aplomb("bench", "produce", "-b", broker.bootstrap, "-t", "table", *QUICK)
    assert ran.exit == 0
    assert f"acknowledged {RATE * SECONDS} records" in ran.stdout
    assert any(line.startswith("produce ") for line in ran.lines())
    assert len(ran.stderr.splitlines()) >= SECONDS
