#!/usr/bin/env python3
"""Transactions and compaction of Aplomb beside Apache Kafka: what a transaction costs and how long it takes, what compacting a log costs, and what a
compaction does to those who produce beside it.

The brokers take turns, as in run.py; the raw figures of each run go to results/transactions/, one JSON file a run, and a Markdown table is made of them.
What is measured is in docs/operating/benchmarks.md. Start reading at `one_run`."""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import load
import machine
import run
import table
from suite import CHECKOUT, Tools, places
from suite import broker as suite_broker
from table import Row

RESULTS = run.RESULTS / "transactions"
TRANSACT = Path(__file__).with_name("transact.py")
# A single broker cannot have what is the default of both for a cluster; the rest are their own defaults.
SETTINGS = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}
# So that a pass begins soon after it may: how long a cleaner sleeps is not what is measured.
CLEANING = {"log.cleaner.backoff.ms": "1000", "log.flush.offset.checkpoint.interval.ms": "1000"}
# Nothing is compacted before it is to be.
NEVER = 1 << 50
# How long a compaction may take, in seconds.
PATIENCE = 1800
DIRTY_PARTITIONS = 4
KEYS = 100_000


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    quick: bool
    runs: int
    # What of it is measured.
    parts: tuple
    # Transactions one after the other, to so many partitions.
    partitions: tuple
    records: int
    record_bytes: int
    seconds: int
    warmup_seconds: int
    # Bytes that are compacted: by themselves, and beside producers. Filled at a rate, in records of 1 KiB a second.
    alone: int
    beside: int
    fill_rate: int
    rate: int
    # How long to wait for a quiet machine before each run, in seconds.
    patience: int


PARTS = ("transactions", "alone", "beside")
FULL = Plan(
    quick=False, runs=3, parts=PARTS, partitions=(1, 10, 100), records=100, record_bytes=100, seconds=20, warmup_seconds=5, alone=4 << 30, beside=20 << 30,
    fill_rate=100_000, rate=5_000, patience=240,
)  # fmt: skip
QUICK = Plan(
    quick=True, runs=1, parts=PARTS, partitions=(1, 10), records=100, record_bytes=100, seconds=4, warmup_seconds=1, alone=200 << 20, beside=400 << 20,
    fill_rate=30_000, rate=5_000, patience=0,
)  # fmt: skip
# What Aplomb is to need of Apache Kafka's, at most; and how many times as long producers may take beside a compaction.
GOALS = {"latency": "1/2", "cpu": "1/3", "compaction": "1/2", "beside": "1.2 times"}


class LoadFailed(Exception):
    """A client failed, or nothing was compacted."""


def one_run(kind, plan, home):
    """Everything that is measured of one broker, on three empty directories."""
    os.sync()
    quiet = machine.wait_until_quiet(plan.patience)
    if quiet > machine.QUIET:
        run.say(f"{quiet:.1f} processors are busy already: these figures will mean nothing")
    found = {"broker": kind.kind, "began": run.now(), "busy_before": quiet}
    measured = {"transactions": (transact_all, SETTINGS), "alone": (compact_alone, CLEANING), "beside": (compact_beside, CLEANING)}
    for part in plan.parts:
        measure, settings = measured[part]
        with started(kind, home / part, settings) as broker:
            found[part] = measure(broker, plan)
    shutil.rmtree(home)
    return found


@contextlib.contextmanager
def started(kind, directory, settings):
    """A broker on an empty directory, which is removed; what it said last is in the failure of whatever is done with it."""
    broker = kind(directory, settings)
    try:
        broker.start()
        yield broker
        broker.stop()
    except Exception as failure:
        raise run.RunFailed(f"{kind.kind}: {failure}\nThe end of the broker's log:\n{broker.log_tail(20)}") from failure
    finally:
        broker.close()


def ask(broker, tool, *arguments):
    """The tool's JVM is gone before anything is measured."""
    with contextlib.closing(Tools(broker.directory / "tools.log")) as tools:
        tools.ok(tool, "--bootstrap-server", broker.bootstrap, *arguments)


def transact_all(broker, plan):
    return {str(partitions): transact(broker, partitions, plan) for partitions in plan.partitions}


def transact(broker, partitions, plan):
    """One producer, whose transactions follow each other without a pause."""
    topic = f"to-{partitions}"
    ask(broker, "kafka-topics", "--create", "--topic", topic, "--partitions", partitions)
    client = [places.prepared(load.PYTHON), TRANSACT, "--bootstrap", broker.bootstrap, "--topic", topic, "--partitions", partitions]
    client += ["--records", plan.records, "--size", plan.record_bytes, "--seconds", plan.seconds, "--warm-up", plan.warmup_seconds]
    with machine.Meter(broker.pid, load.SETTLE) as meter:
        done = subprocess.run([*map(str, client)], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise LoadFailed(f"transact.py left with {done.returncode}:\n{done.stdout}{done.stderr}")
    said = json.loads(done.stdout)
    return {**said, "broker_cpu_ms": 1000 * meter.spent["broker_cpu_seconds"] / said["transactions"], "spent": meter.spent}


def fill(broker, size, plan):
    """A log of keys that come again and again, which nothing compacts yet: some four segments a partition, of which the last stays as it is."""
    configs = {"cleanup.policy": "compact", "min.compaction.lag.ms": NEVER, "min.cleanable.dirty.ratio": "0.01", "segment.bytes": size // (4 * DIRTY_PARTITIONS)}
    given = [part for key, value in configs.items() for part in ("--config", f"{key}={value}")]
    ask(broker, "kafka-topics", "--create", "--topic", "dirty", "--partitions", DIRTY_PARTITIONS, *given)
    seconds = size // (plan.fill_rate * load.RECORD_BYTES) + 1
    options = ("--keys", f"uniform:{KEYS}", "--batch-size", 128 << 10, "--drain", "120s")
    load.produce_at(broker, "dirty", plan.fill_rate, seconds, 0, *options, partitions=DIRTY_PARTITIONS, linger="5ms")
    os.sync()
    time.sleep(load.SETTLE)


def dirty_directories(broker):
    [directory] = broker.log_dirs
    return sorted(directory.glob("dirty-*"))


def closed_bytes(broker):
    """Of the segments that can be compacted: all but each partition's last."""
    each = [sorted(directory.glob("*.log"))[:-1] for directory in dirty_directories(broker)]
    return sum(path.stat().st_size for paths in each for path in paths)


def is_compacted(broker):
    """All that can be is: `cleaner-offset-checkpoint` has come to each partition's last segment."""
    [directory] = broker.log_dirs
    checkpoint = directory / "cleaner-offset-checkpoint"
    if not checkpoint.exists():
        return False
    rows = (line.split() for line in checkpoint.read_text().splitlines()[2:])
    done = {f"{topic}-{partition}": int(offset) for topic, partition, offset in rows}
    last = {partition.name: int(max(partition.glob("*.log")).stem) for partition in dirty_directories(broker)}
    return all(done.get(name, -1) >= base for name, base in last.items())


def begin(broker):
    configured = ("--entity-type", "topics", "--entity-name", "dirty", "--add-config", "min.compaction.lag.ms=0")
    ask(broker, "kafka-configs", "--alter", *configured)


def wait_until_compacted(broker, since):
    while not is_compacted(broker):
        if time.monotonic() - since > PATIENCE:
            raise LoadFailed(f"not compacted after {PATIENCE} s")
        time.sleep(0.25)
    return time.monotonic() - since


def compact_alone(broker, plan):
    """Nothing else is done meanwhile."""
    fill(broker, plan.alone, plan)
    size = closed_bytes(broker)
    with machine.Meter(broker.pid) as meter:
        began = time.monotonic()
        begin(broker)
        seconds = wait_until_compacted(broker, began)
    return {"bytes": size, "left": closed_bytes(broker), "seconds": seconds, "spent": meter.spent}


def compact_beside(broker, plan):
    """Records are produced to another topic, before a compaction and while it lasts."""
    fill(broker, plan.beside, plan)
    size = closed_bytes(broker)
    before = load.produce_at(broker, "beside", plan.rate, plan.seconds, plan.warmup_seconds)
    began = time.monotonic()
    begin(broker)
    during = load.produce_at(broker, "beside", plan.rate, plan.seconds, plan.warmup_seconds)
    lasted = not is_compacted(broker)
    seconds = wait_until_compacted(broker, began)
    return {"bytes": size, "before": before, "during": during, "lasted": lasted, "seconds": seconds}


def rows(plan):
    """(row, goal), of the parts that were measured; a goal may be empty."""
    for partitions in plan["partitions"] if "transactions" in plan["parts"] else ():
        what = f"transactions of {plan['records']} records, {partitions} partition{'s' if partitions > 1 else ''}"
        of = lambda each, p=partitions: each["transactions"][str(p)]  # noqa: E731
        for key in ("p50", "p99", "p99.9"):
            goal = GOALS["latency"] if key == "p99" else ""
            yield Row(f"{what}: until committed, {key}, ms", lambda each, of=of, key=key: of(each)["whole_ms"][key], 2), goal
        yield Row(f"{what}: CPU ms each", lambda each, of=of: of(each)["broker_cpu_ms"], 3), GOALS["cpu"]
        yield Row(f"{what}: a second", lambda each, of=of: of(each)["transactions"] / (plan["seconds"] + plan["warmup_seconds"])), ""
    if "alone" in plan["parts"]:
        yield from rows_alone(plan)
    if "beside" in plan["parts"]:
        yield from rows_beside(plan)


def rows_alone(plan):
    what = f"compacting {plan['alone'] >> 20:,} MiB"
    cost = lambda each: each["alone"]["spent"]["broker_cpu_seconds"] / (each["alone"]["bytes"] / 1e9)  # noqa: E731
    yield Row(f"{what}: CPU s per GB", cost, 2), GOALS["compaction"]
    yield Row(f"{what}: s", lambda each: each["alone"]["seconds"], 1), ""
    yield Row(f"{what}: MB that are left", lambda each: each["alone"]["left"] / table.MEGABYTE), ""


def rows_beside(plan):
    what = f"produce at {plan['rate']:,} records/s"
    for name, words in (("before", "before"), ("during", "while " + f"{plan['beside'] >> 30} GiB are compacted")):
        yield Row(f"{what} {words}: p99.9, ms", lambda each, name=name: each["beside"][name]["latency_ms"]["p99.9"], 2), ""
    ratio = lambda each: each["beside"]["during"]["latency_ms"]["p99.9"] / each["beside"]["before"]["latency_ms"]["p99.9"]  # noqa: E731
    yield Row(f"{what}: the second by the first", ratio, 2), GOALS["beside"]


def markdown(environment, runs, count):
    """`runs` by broker, `count` of each: {"aplomb": [run, ...], "kafka": [run, ...]}."""
    versions = environment["versions"]
    lines = [
        table.headline(environment, count),
        "",
        f"| | Aplomb {versions['aplomb']} | Apache Kafka {versions['kafka']} | Aplomb ÷ Kafka | goal, at most |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row, goal in rows(environment["plan"]):
        ours, theirs = ([row.figure(each) for each in runs[kind]] for kind in ("aplomb", "kafka"))
        ratio = table.ratio(median(ours), median(theirs))
        lines.append(f"| {row.name} | {table.cell(row, ours)} | {table.cell(row, theirs)} | {ratio} | {goal} |")
    every = [each for kind in runs.values() for each in kind]
    doubts = []
    if any(each["busy_before"] > machine.QUIET for each in every):
        doubts.append("These figures mean nothing: something kept the processors busy before a run.")
    short = [each["broker"] for each in every if "beside" in each and not each["beside"]["lasted"]]
    if short:
        doubts.append(f"The compaction was over before the load beside it: {', '.join(short)}.")
    if environment["plan"]["quick"]:
        doubts.append("A quick run: it shows that the bench works, not how fast a broker is.")
    return "\n".join(lines + ([""] + [f"**{doubt}**" for doubt in doubts] if doubts else [])) + "\n"


def compare(plan, work, results):
    """All runs, the brokers in turn; each run is on disk as soon as it is over."""
    home = work / f"transactions-{os.getpid()}"
    home.mkdir(parents=True)
    results.mkdir(parents=True)
    run.write(results / "environment.json", {**run.environment(plan, home), "plan": asdict(plan)})
    for number in range(1, plan.runs + 1):
        for kind in run.KINDS:
            run.say(f"run {number} of {plan.runs}: {kind.kind}")
            with contextlib.nullcontext() if plan.quick else machine.WarmMemory():
                found = one_run(kind, plan, home / f"{number}-{kind.kind}")
            run.write(results / f"{number}-{kind.kind}.json", found)
    shutil.rmtree(home)
    return show(results)


def show(results):
    """The table of the runs in a directory; it is kept there, too."""
    facts = json.loads((results / "environment.json").read_text())
    runs = {kind.kind: [json.loads(path.read_text()) for path in sorted(results.glob(f"*-{kind.kind}.json"))] for kind in run.KINDS}
    # One broker is a run ahead where the bench was stopped.
    count = min(map(len, runs.values()))
    if count == 0:
        raise run.RunFailed(f"{results} has no run of each broker")
    text = markdown(facts, {kind: each[:count] for kind, each in runs.items()}, count)
    (results / "table.md").write_text(text)
    return text


def main():
    parser = argparse.ArgumentParser(description="Transactions and compaction of Aplomb beside Apache Kafka on this machine.")
    parser.add_argument("--quick", action="store_true", help="two minutes: shows that the bench works, and no more")
    parser.add_argument("--runs", type=int, help="runs of each broker (3)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these (all)")
    parser.add_argument("--keep", metavar="NAME", help="write the results to results/transactions/NAME, which git sees, instead of results/local")
    parser.add_argument("--dir", type=Path, default=CHECKOUT / ".work" / "bench", help="where the brokers' directories are made (.work/bench)")
    parser.add_argument("--show", type=Path, metavar="RESULTS", help="only print the table of earlier results")
    options = parser.parse_args()
    missing = [program for program in (suite_broker.binary(), "java") if shutil.which(program) is None]
    if missing and not options.show:
        parser.error(f"{' and '.join(missing)} must be there first; `make bench` sees to it")
    plan = replace(QUICK if options.quick else FULL, parts=tuple(options.parts))
    if options.runs is not None:
        if options.runs < 1:
            parser.error(f"--runs {options.runs}: there has to be one")
        plan = replace(plan, runs=options.runs)
    here = run.RESULTS / "local" / time.strftime("transactions-%Y%m%dT%H%M%SZ", time.gmtime())
    results = RESULTS / options.keep if options.keep else here
    if results.exists():
        parser.error(f"{results} is there already")
    try:
        print(show(options.show) if options.show else compare(plan, options.dir.resolve(), results), end="")
    except run.RunFailed as failure:
        sys.exit(f"bench: {failure}")


if __name__ == "__main__":
    main()
