#!/usr/bin/env python3
"""What `aplomb doctor watch` costs a broker, Aplomb or Apache Kafka: the same load with and without somebody who watches, in turn.

Each pair is two loads of the same running broker, one after the other; which of the two is watched first changes from pair to pair, so that what a
broker still learns does not count for either. The doctor's own processor time comes from the kernel's account of it when it has ended. The raw figures go to
results/watching/. Start reading at `one_broker`."""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import load
import machine
import run
import table
from suite import CHECKOUT
from suite import broker as suite_broker

RESULTS = run.RESULTS / "watching"
# Until the doctor has found the process, its files and its programs in the kernel.
LOOKING = 3


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    quick: bool
    pairs: int
    rate: int
    seconds: int
    warmup_seconds: int
    # How long to wait for a quiet machine before each broker, in seconds.
    patience: int


FULL = Plan(quick=False, pairs=8, rate=5_000, seconds=20, warmup_seconds=2, patience=240)
QUICK = Plan(quick=True, pairs=1, rate=2_000, seconds=4, warmup_seconds=1, patience=0)


class WatchFailed(Exception):
    """The doctor did not watch, or named a cause where there is none."""


def one_broker(kind, plan, home):
    """All pairs of one broker, on an empty directory."""
    os.sync()
    found = {"broker": kind.kind, "began": run.now(), "busy_before": machine.wait_until_quiet(plan.patience), "pairs": []}
    broker = kind(home)
    try:
        broker.start()
        # What a JVM compiles and a directory grows to is there before the first pair.
        produce(broker, plan)
        for number in range(plan.pairs):
            pair = {}
            for name in ("without", "with") if number % 2 == 0 else ("with", "without"):
                pair[name] = watched(broker, plan) if name == "with" else produce(broker, plan)
            found["pairs"].append(pair)
        broker.stop()
    finally:
        broker.close()
    shutil.rmtree(home)
    return found


def produce(broker, plan):
    figures = load.produce_at(broker, "load", plan.rate, plan.seconds, plan.warmup_seconds)
    return {"broker_cpu": figures["broker_cpu_per_second"], "latency_ms": figures["latency_ms"]}


def watched(broker, plan):
    """The load while the doctor looks; it has begun before, and ends after."""
    command = [suite_broker.binary(), "doctor", "watch", "--pid", broker.pid, "--format", "json"]
    began = time.monotonic()
    doctor = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        time.sleep(LOOKING)
        figures = produce(broker, plan)
    finally:
        doctor.send_signal(signal.SIGINT)
        out = doctor.stdout.read()
        _, status, usage = os.wait4(doctor.pid, 0)
        doctor.returncode = os.waitstatus_to_exitcode(status)
    if not out.startswith("{"):
        raise WatchFailed(f"aplomb doctor watch left with {doctor.returncode}: {out[-500:]}")
    lasted = time.monotonic() - began
    return {**figures, "doctor_cpu": (usage.ru_utime + usage.ru_stime) / lasted, "causes": [cause["name"] for cause in json.loads(out)["causes"]]}


FIGURES = {
    "CPU s per s": lambda each: each["broker_cpu"],
    "p99, ms": lambda each: each["latency_ms"]["p99"],
    "p99.9, ms": lambda each: each["latency_ms"]["p99.9"],
}


def rows(runs):
    """(what, without, with) of each broker, by medians over its pairs; the ratio is the median of the pairs' own."""
    for found in runs:
        pairs = found["pairs"]
        for what, of in FIGURES.items():
            sides = [median(of(pair[name]) for pair in pairs) for name in ("without", "with")]
            yield f"{found['broker']}: {what}", *sides, median(of(pair["with"]) / of(pair["without"]) for pair in pairs)


def markdown(environment, runs):
    lines = [f"{table.where(environment)}; medians of {environment['plan']['pairs']} pairs.", ""]
    lines += ["| | without | with | with ÷ without |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {what} | {without:.3f} | {beside:.3f} | {ratio:.2f} |" for what, without, beside, ratio in rows(runs)]
    for found in runs:
        costs = [pair["with"]["doctor_cpu"] for pair in found["pairs"]]
        lines.append(f"| {found['broker']}: the doctor itself, CPU s per s | | {median(costs):.3f} (at most {max(costs):.3f}) | |")
    blamed = sorted({cause for found in runs for pair in found["pairs"] for cause in pair["with"]["causes"]})
    lines += ["", f"Causes that were named: {', '.join(blamed) or 'none'}."]
    if any(found["busy_before"] > machine.QUIET for found in runs):
        lines += ["", "**These figures mean nothing: something kept the processors busy before a run.**"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="What `aplomb doctor watch` costs Aplomb and Apache Kafka on this machine.")
    parser.add_argument("--quick", action="store_true", help="a minute: shows that the bench works, and no more")
    parser.add_argument("--pairs", type=int, help=f"loads without and with, of each broker ({FULL.pairs})")
    parser.add_argument("--keep", metavar="NAME", help="write the results to results/watching/NAME, which git sees, instead of results/local")
    parser.add_argument("--dir", type=Path, default=CHECKOUT / ".work" / "bench", help="where the brokers' directories are made (.work/bench)")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    if options.pairs:
        plan = Plan(**{**asdict(plan), "pairs": options.pairs})
    results = RESULTS / options.keep if options.keep else run.RESULTS / "local" / f"watching-{os.getpid()}"
    home = options.dir / f"watching-{os.getpid()}"
    home.mkdir(parents=True)
    results.mkdir(parents=True)
    facts = {**run.environment(plan, home), "plan": asdict(plan)}
    run.write(results / "environment.json", facts)
    runs = []
    for kind in run.KINDS:
        run.say(kind.kind)
        with contextlib.nullcontext() if plan.quick else machine.WarmMemory():
            runs.append(one_broker(kind, plan, home / kind.kind))
        run.write(results / f"{kind.kind}.json", runs[-1])
    shutil.rmtree(home)
    text = markdown(facts, runs)
    (results / "table.md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
