#!/usr/bin/env python3
"""Aplomb beside Apache Kafka: the same loads on the same machine, run by run in turn, each on an empty directory.

Prints a Markdown table; the raw figures of each run go to results/, one JSON file a run. What is measured, and what the figures do not
say, is in docs/operating/benchmarks.md. Start reading at `one_run`."""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import brokers
import limit
import load
import machine
import table
from suite import CHECKOUT, Tools, places
from suite import broker as suite_broker

RESULTS = Path(__file__).resolve().parent / "results"
KINDS = (brokers.Aplomb, brokers.Kafka)


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    quick: bool
    runs: int
    # Produced and read back before anything is measured: a JVM compiles what it runs, and this is about brokers that have been up for a while.
    broker_warmup_records: int
    # Records a second, for this long after a warm-up.
    rates: tuple
    small_rate: int
    librdkafka_rate: int
    seconds: int
    warmup_seconds: int
    # Unthrottled, after a warm-up; read back together.
    records: int
    warmup_records: int
    # How long to wait for a quiet machine before each run, in seconds.
    patience: int


RATES = (5_000, 20_000)
# Of the run that looks at memory alone.
PARTITIONS = 10_000
# How long a broker is idle before its memory is looked at, in seconds.
SETTLE = 10
# Some 3,000 requests a second.
SMALL_RATE = 4_000
SMALL = ("--producers", 6)
# Some 10,000 requests a second, by three producers.
LIBRDKAFKA_RATE = 20_000
FULL = Plan(
    quick=False,
    runs=5,
    broker_warmup_records=600_000,
    rates=RATES,
    small_rate=SMALL_RATE,
    librdkafka_rate=LIBRDKAFKA_RATE,
    seconds=25,
    warmup_seconds=5,
    records=1_500_000,
    warmup_records=200_000,
    patience=240,
)
QUICK = Plan(
    quick=True,
    runs=1,
    broker_warmup_records=60_000,
    rates=RATES,
    small_rate=SMALL_RATE,
    librdkafka_rate=LIBRDKAFKA_RATE,
    seconds=8,
    warmup_seconds=2,
    records=120_000,
    warmup_records=30_000,
    patience=0,
)


class RunFailed(Exception):
    """A broker or a client failed; the message has the end of the broker's log."""


def one_run(kind, plan, home, payloads):
    """Everything that is measured of one broker, from its start to its end."""
    # What earlier runs left to write is not written during this one.
    os.sync()
    quiet = machine.wait_until_quiet(plan.patience)
    if quiet > machine.QUIET:
        say(f"{quiet:.1f} processors are busy already: these figures will mean nothing")
    run = {"broker": kind.kind, "began": now(), "busy_before": quiet, "produce_at": {}}
    broker = kind(home)
    try:
        broker.start()
        run["first_record_ms"] = broker.first_record_ms
        create_topics(broker, ["warm-up", *(f"rate-{rate}" for rate in plan.rates), "small", "librdkafka", "unthrottled"])
        run["warm_up"] = [
            load.produce(broker, "warm-up", payloads, 1, plan.broker_warmup_records - 1),
            load.consume(broker, "warm-up", plan.broker_warmup_records),
        ]
        for rate in plan.rates:
            run["produce_at"][str(rate)] = load.produce_at(broker, f"rate-{rate}", rate, plan.seconds, plan.warmup_seconds)
        run["small"] = load.produce_at(broker, "small", plan.small_rate, plan.seconds, plan.warmup_seconds, *SMALL)
        run["librdkafka"] = load.produce_by_librdkafka(broker, "librdkafka", plan.librdkafka_rate, plan.seconds, plan.warmup_seconds)
        run["produce"] = load.produce(broker, "unthrottled", payloads, plan.warmup_records, plan.records)
        run["consume"] = load.consume(broker, "unthrottled", plan.warmup_records + plan.records)
        # What is kept for a moment is not what a broker needs.
        time.sleep(SETTLE)
        run["memory"] = machine.memory(broker.pid)
        # The tail is the only shared memory that Aplomb has, and Apache Kafka has no tail.
        run["tail_bytes"] = run["memory"]["shared"] if kind is brokers.Aplomb else 0
        broker.stop()
    except Exception as failure:
        raise RunFailed(f"{kind.kind}: {failure}\nThe end of the broker's log:\n{broker.log_tail(20)}") from failure
    finally:
        broker.close()
    for name, each in table.loads(run):
        if table.others(each) > table.OTHERS:
            say(f"{kind.kind}, {name}: something else kept {table.others(each):.1f} processors busy")
    shutil.rmtree(home)
    return run


def many_partitions(home):
    """Aplomb's memory with ten thousand partitions, a record in each."""
    broker = brokers.Aplomb(home)
    try:
        broker.start()
        load.fill(broker, PARTITIONS)
        time.sleep(SETTLE)
        found = {"partitions": PARTITIONS, "memory": machine.memory(broker.pid)}
        broker.stop()
    except Exception as failure:
        raise RunFailed(f"{PARTITIONS} partitions: {failure}\nThe end of the broker's log:\n{broker.log_tail(20)}") from failure
    finally:
        broker.close()
    shutil.rmtree(home)
    return found


def create_topics(broker, topics):
    # The tools' JVM is gone before anything is measured.
    with contextlib.closing(Tools(broker.directory / "tools.log")) as tools:
        for topic in topics:
            tools.ok("kafka-topics", "--bootstrap-server", broker.bootstrap, "--create", "--topic", topic, "--partitions", load.PARTITIONS)


def environment(plan, home):
    """What one has to know to judge the figures, or to repeat them."""
    return {
        "began": now(),
        "plan": asdict(plan),
        **machine.describe(home),
        "versions": {
            "aplomb": said("aplomb", suite_broker.binary(), "--version"),
            "kafka": jar_version("oracle", "kafka_2.13"),
            "kafka-tools": jar_version("tools", "kafka-tools"),
            "java": said("version", "java", "-version").strip('"'),
            "kcat": said("Version", "kcat", "-V"),
            "librdkafka": load.librdkafka_version(),
        },
        "commit": subprocess.run(["git", "-C", CHECKOUT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip(),
    }


def said(word, *command):
    """What follows `word` in what the command says."""
    done = subprocess.run(command, capture_output=True, text=True)
    return re.search(rf"\b{word} (\S+)", done.stdout + done.stderr)[1]


def jar_version(project, artifact):
    return re.search(rf"/{re.escape(artifact)}-([\d.]+)\.jar", places.class_path(project))[1]


def now():
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def write(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def compare(plan, work, results):
    """All runs, the brokers in turn; each run is on disk as soon as it is over."""
    # The brokers' directories; left behind when a run fails.
    home = work / f"run-{os.getpid()}"
    home.mkdir(parents=True)
    results.mkdir(parents=True)
    facts = environment(plan, home)
    write(results / "environment.json", facts)
    payloads = home / "payloads"
    load.write_payloads(payloads)
    write(results / "limit.json", limit.measure(plan.runs, home))
    write(results / "partitions.json", many_partitions(home / "partitions"))
    runs = {kind.kind: [] for kind in KINDS}
    for number in range(1, plan.runs + 1):
        for kind in KINDS:
            say(f"run {number} of {plan.runs}: {kind.kind}")
            with contextlib.nullcontext() if plan.quick else machine.WarmMemory():
                run = one_run(kind, plan, home / f"{number}-{kind.kind}", payloads)
            write(results / f"{number}-{kind.kind}.json", run)
            runs[kind.kind].append(run)
    shutil.rmtree(home)
    return show(results)


def show(results):
    """The table of the runs in a directory; it is kept there, too."""
    facts = json.loads((results / "environment.json").read_text())
    bare, many = (json.loads((results / f"{name}.json").read_text()) for name in ("limit", "partitions"))
    runs = {kind.kind: [json.loads(path.read_text()) for path in sorted(results.glob(f"*-{kind.kind}.json"))] for kind in KINDS}
    # One broker is a run ahead where the bench was stopped.
    count = min(map(len, runs.values()))
    if count == 0:
        raise RunFailed(f"{results} has no run of each broker")
    text = table.markdown(facts, bare, many, {kind: each[:count] for kind, each in runs.items()}, count)
    (results / "table.md").write_text(text)
    return text


def main():
    parser = argparse.ArgumentParser(description="Aplomb beside Apache Kafka on this machine.")
    parser.add_argument("--quick", action="store_true", help="two minutes: shows that the bench works, and no more")
    parser.add_argument("--runs", type=int, help="runs of each broker (5)")
    parser.add_argument("--keep", metavar="NAME", help="write the results to results/NAME, which git sees, instead of results/local")
    parser.add_argument("--dir", type=Path, default=CHECKOUT / ".work" / "bench", help="where the brokers' directories are made (.work/bench)")
    parser.add_argument("--show", type=Path, metavar="RESULTS", help="only print the table of earlier results")
    options = parser.parse_args()
    missing = [program for program in (suite_broker.binary(), "java", "kcat") if shutil.which(program) is None]
    if missing and not options.show:
        parser.error(f"{' and '.join(missing)} must be there first; `make bench` sees to it")
    plan = QUICK if options.quick else FULL
    if options.runs is not None:
        if options.runs < 1:
            parser.error(f"--runs {options.runs}: there has to be one")
        plan = replace(plan, runs=options.runs)
    results = RESULTS / options.keep if options.keep else RESULTS / "local" / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    if results.exists():
        parser.error(f"{results} is there already")
    try:
        print(show(options.show) if options.show else compare(plan, options.dir.resolve(), results), end="")
    except RunFailed as failure:
        sys.exit(f"bench: {failure}")


if __name__ == "__main__":
    main()
