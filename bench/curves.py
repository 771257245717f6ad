#!/usr/bin/env python3
"""How cost grows: Aplomb beside Apache Kafka over partitions, connections, sizes of batches and
shards. A curve says what one point cannot: whether twice as much of something costs twice as much.

Each point is a broker of its own on an empty directory, under the same moderate load. A point that
is in the results is not measured again, so that a run can be stopped and continued. What a broker
does not finish within a time limit is a result, too. Start reading at `one_point`."""

import argparse
import contextlib
import json
import math
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import brokers
import curves_picture
import first_record
import frames
import load
import machine
from run import KINDS, RESULTS, environment, now, say, write
from suite import CHECKOUT, wire
from suite import broker as suite_broker

# Records of 1 KiB a second.
RATE = 10_000
# Before that.
WARM_UP_RATE = 20_000
# How long a broker is idle before its memory is looked at, in seconds.
SETTLE = 5
# Partitions under load, at most: with 10,000 a generator spends 40% of a processor on looking through
# them, and its latency would be in the figure.
LOADED = 1_000
# Of the connections' own topic.
CROWD_PARTITIONS = 8
CROWD = Path(__file__).with_name("crowd.py")
# Batches of 1 MiB are a little larger than a broker takes by default.
LARGEST_BATCH = "max.message.bytes=2097152"
# What a broker says when it has come to one of the machine's limits.
_LIMIT = re.compile(r"(Too many open files|Map failed|OutOfMemoryError.*|Cannot allocate memory)")
FAILURES = (
    load.LoadFailed,
    suite_broker.BrokerDied,
    first_record.NeverAcknowledged,
    frames.Refused,
    subprocess.TimeoutExpired,
    # A connection that was closed, and `TooLong`.
    OSError,
)


class TooLong(TimeoutError):
    """A point took longer than its limit."""


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    quick: bool
    # By axis.
    points: dict
    warm_up_seconds: int
    seconds: int
    # Before that, of each broker.
    broker_warm_up_seconds: int
    # Unthrottled, after a warm-up.
    records: int
    warm_up_records: int
    # Of one point, in seconds.
    limit: int
    # How long to wait for a quiet machine before the first point, in seconds.
    patience: int


FULL = Plan(
    quick=False,
    points={
        "partitions": (1, 100, 10_000, 50_000),
        "connections": (1, 100, 5_000),
        # In KiB.
        "batches": (1, 4, 16, 128, 1024),
        "shards": (1, 2),
    },
    warm_up_seconds=2,
    seconds=8,
    broker_warm_up_seconds=8,
    records=250_000,
    warm_up_records=50_000,
    limit=240,
    patience=240,
)
QUICK = Plan(
    quick=True,
    points={"partitions": (1, 1_000), "connections": (1, 500), "batches": (16, 1024), "shards": (1, 2)},
    warm_up_seconds=1,
    seconds=2,
    broker_warm_up_seconds=1,
    records=50_000,
    warm_up_records=10_000,
    limit=60,
    patience=0,
)


def one_point(kind, axis, value, plan, home, payloads):
    """What one broker costs at one point of an axis, or why there is no figure."""
    # What earlier points left to write is not written during this one.
    os.sync()
    point = {"axis": axis, "value": value, "broker": kind.kind, "began": now()}
    broker = kind(home)
    broker.start_timeout = broker.stop_timeout = plan.limit
    if axis == "shards" and kind is brokers.Aplomb:
        broker.properties["aplomb.shards"] = str(value)
    try:
        with limited(plan.limit):
            broker.start()
            point.update(MEASURED[axis](broker, value, plan, payloads))
    except FAILURES as failure:
        found = _LIMIT.findall(broker.log_tail(2_000))
        point["failed"] = found[-1] if found else str(failure).splitlines()[0]
        point["said"] = str(failure).splitlines()[:20] + broker.log_tail(20).splitlines()
        say(f"{kind.kind} with {value} ({axis}): {point['failed']}")
    finally:
        broker.close()
    shutil.rmtree(home)
    return point


@contextlib.contextmanager
def limited(seconds):
    """Raises `TooLong` in what takes longer."""

    def ended(*unused):
        raise TooLong(f"not within {seconds} s")

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def partitions(broker, value, plan, payloads):
    """The load goes to one partition after another, of a thousand at most; the others have one record
    each."""
    loaded = min(value, LOADED)
    for topic, count in (("load", loaded), ("others", value - loaded)):
        if count:
            create(broker, topic, count, plan)
    # Not to a topic of its own: the first index entries of a partition cost Apache Kafka page faults.
    warm_up(broker, plan, "load", loaded)
    found = throttled(broker, plan, partitions=loaded)
    found.update(memory(broker))
    stopping = time.monotonic()
    broker.stop()
    found["stop_ms"] = 1000 * (time.monotonic() - stopping)
    broker.start()
    found["restart_ms"] = broker.first_record_ms
    return found


def create(broker, topic, count, plan):
    """A topic with so many partitions and a record in each."""
    with wire.Connection(broker.port, timeout=plan.limit) as connection:
        frames.create(connection, topic, count)
        frames.fill(connection, topic, count, time.monotonic() + plan.limit)


def connections(broker, value, plan, payloads):
    """The load's own connection is one of them; the others produce one small record a second each."""
    warm_up(broker, plan)
    create(broker, "crowd", CROWD_PARTITIONS, plan)
    with crowd(broker, value - 1) as said:
        # The others go on after the load: no time to settle, which would be theirs alone.
        found = throttled(broker, plan, settle=0)
        found.update(memory(broker))
    meter = found["load"]["meter"]
    found["cpu_per_second"] = meter["broker_cpu_seconds"] / meter["seconds"]
    found["crowd"] = said
    return found


@contextlib.contextmanager
def crowd(broker, count):
    """So many other connections between `with` and its end; then what they measured."""
    said = {}
    command = [sys.executable, CROWD, "--port", broker.port, "--topic", "crowd", "--connections", count]
    command += ["--partitions", CROWD_PARTITIONS]
    pipe = subprocess.PIPE
    process = subprocess.Popen([*map(str, command)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise load.LoadFailed(f"the connections were not made: {_last_line(process)}")
        yield said
        out, _ = process.communicate()
        if process.returncode != 0:
            raise load.LoadFailed("the connections did not last")
        said.update(json.loads(out))
    finally:
        process.kill()
        process.wait()


def _last_line(process):
    return (process.stderr.read().splitlines() or ["no reason given"])[-1]


def batches(broker, value, plan, payloads):
    """Batches of so many KiB, as a rate fills them and as fast as they go."""
    size = value << 10
    warm_up(broker, plan)
    # As long as a batch takes to fill, so that the last one, which is not full, waits no longer.
    options = ("--batch-size", size, "--topic-config", LARGEST_BATCH)
    found = throttled(broker, plan, *options, linger=f"{math.ceil(1024 * value / RATE)}ms")
    properties = (f"batch.size={size}", "linger.ms=200")
    found["unthrottled"] = unthrottled(broker, plan, payloads, *properties)
    found.update(memory(broker))
    return found


def shards(broker, value, plan, payloads):
    """The same load from six producers, so that each shard has connections; then unthrottled."""
    warm_up(broker, plan)
    found = throttled(broker, plan, "--producers", 6)
    found["unthrottled"] = unthrottled(broker, plan, payloads)
    found.update(memory(broker))
    return found


MEASURED = {"partitions": partitions, "connections": connections, "batches": batches, "shards": shards}


def warm_up(broker, plan, topic="warm-up", count=load.PARTITIONS):
    """A JVM compiles what it runs: this is about brokers that have been up for a while."""
    load.produce_at(broker, topic, WARM_UP_RATE, plan.broker_warm_up_seconds, 1, partitions=count)


def throttled(broker, plan, *options, **keywords):
    found = load.produce_at(broker, "load", RATE, plan.seconds, plan.warm_up_seconds, *options, **keywords)
    return {"load": found}


def unthrottled(broker, plan, payloads, *properties):
    return load.produce(broker, "load", payloads, plan.warm_up_records, plan.records, *properties)


def memory(broker):
    """After a pause: what is kept for a moment is not what a broker needs."""
    time.sleep(SETTLE)
    found = machine.memory(broker.pid)
    # The tail is the only shared memory that Aplomb has, and Apache Kafka has no tail.
    return {"memory": found, "tail_bytes": found["shared"] if broker.kind == "aplomb" else 0}


def raise_descriptors(plan):
    """As many open files as the machine allows, for the brokers and the connections; says when that is
    too few for what the plan asks for. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Two for a partition, and both brokers need some for themselves.
    wanted = 1_000 + max(2 * max(plan.points["partitions"]), *plan.points["connections"])
    for limit in ((max(hard, wanted),) * 2, (hard, hard)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            break
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        say(f"{soft} files may be open, and that cannot be raised to {wanted}: a broker may come to this limit")
    return soft


def measure(plan, axes, work, results):
    """All points of these axes that are not in the results yet, the brokers in turn."""
    descriptors = raise_descriptors(plan)
    home = work / f"curves-{os.getpid()}"
    home.mkdir(parents=True)
    results.mkdir(parents=True, exist_ok=True)
    facts = environment(plan, home)
    facts["open_files"] = descriptors
    facts["memory_maps"] = int(Path("/proc/sys/vm/max_map_count").read_text())
    if (results / "environment.json").exists():
        earlier = json.loads((results / "environment.json").read_text())
        if earlier["plan"] != json.loads(json.dumps(asdict(plan))):
            sys.exit(f"bench: {results} has points of another plan")
    else:
        write(results / "environment.json", facts)
    payloads = home / "payloads"
    load.write_payloads(payloads)
    todo = [each for each in every_point(plan, axes) if not path_of(results, *each).exists()]
    busy = machine.wait_until_quiet(plan.patience) if todo else 0
    if busy > machine.QUIET:
        say(f"{busy:.1f} processors are busy already: these figures will mean nothing")
    with contextlib.nullcontext() if plan.quick or not todo else machine.WarmMemory():
        for number, (kind, axis, value) in enumerate(todo, 1):
            say(f"point {number} of {len(todo)}: {kind.kind}, {axis}, {value}")
            point = one_point(kind, axis, value, plan, home / f"{axis}-{value}-{kind.kind}", payloads)
            point["busy_before"] = busy
            write(path_of(results, kind, axis, value), point)
    shutil.rmtree(home)


def every_point(plan, axes):
    for axis in axes:
        for value in plan.points[axis]:
            for kind in KINDS:
                # Apache Kafka has no shards; it is there once, with its own number of threads.
                if axis != "shards" or kind is brokers.Aplomb or value == plan.points[axis][0]:
                    yield kind, axis, value


def path_of(results, kind, axis, value):
    return results / f"{axis}-{value}-{kind.kind}.json"


def main():
    parser = argparse.ArgumentParser(description="How cost grows, of Aplomb and of Apache Kafka.")
    parser.add_argument("--axis", choices=MEASURED, action="append", help="only this one; may be given several times")
    parser.add_argument("--quick", action="store_true", help="three minutes: shows that it works, and no more")
    parser.add_argument("--keep", metavar="NAME", help="the results are in results/curves/NAME, which git sees, instead of results/local")
    parser.add_argument("--dir", type=Path, default=CHECKOUT / ".work" / "bench", help="where the brokers' directories are made (.work/bench)")
    parser.add_argument("--draw", action="store_true", help="measure nothing: put the picture and the table of the results into docs/operating")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    name = "curves-quick" if options.quick else "curves"
    results = RESULTS / "curves" / options.keep if options.keep else RESULTS / "local" / name
    if options.draw:
        if not (results / "environment.json").exists():
            parser.error(f"{results} has no results")
        curves_picture.place(results)
        return
    missing = [program for program in (suite_broker.binary(), "java") if shutil.which(program) is None]
    if missing:
        parser.error(f"{' and '.join(missing)} must be there first; `make build` and tests/setup.sh see to it")
    measure(plan, options.axis or list(MEASURED), options.dir.resolve(), results)
    print(curves_picture.table(results), end="")


if __name__ == "__main__":
    main()
