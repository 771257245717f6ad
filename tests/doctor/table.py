#!/usr/bin/env python3
"""The doctor beside every incident and look-alike of the lab, several times each, and a table of what it named first.

Always holds: a run whose result is in the folder is not made again, so that it can be stopped and continued; a result says what was named, what the lab had
done, and how the machine was. Start reading at `one_run`; next: `beside`."""

import argparse
import collections
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import beside
from harness import broker as brokers

KINDS = {"kafka": "Apache Kafka", "aplomb": "Aplomb"}
# As the lab calls a machine steady: at p99.9.
STEADY_MS = 10
# What one wants to run by one word.
WORDS = {"all": lambda each: True, "disks": lambda each: not each["look_alike"], "look-alikes": lambda each: each["look_alike"]}


@dataclass(frozen=True)
class Row:
    """What is run as often as was asked for."""

    incident: str
    kind: str


def chosen(wanted, kinds, version):
    """Rows in the lab's order; incidents that are not for a broker are none."""
    every = beside.incidents(version)
    names = []
    for word in wanted.split(","):
        if word not in WORDS and word not in every:
            sys.exit(f"there is no incident {word!r}: `aplomb lab list` has them all")
        names += [name for name, each in every.items() if WORDS[word](each)] if word in WORDS else [word]
    return [Row(name, kind) for name in dict.fromkeys(names) for kind in kinds if every[name]["truth"][kind]]


def path_of(row, number, options):
    version = f"-{options.kafka_version}" if row.kind == "kafka" else ""
    return options.out / f"{row.incident}.{row.kind}{version}.{number}.json"


def one_run(row, number, options):
    """Makes a run, and keeps what there is to be known of it. The recording is kept where the doctor was wrong, so that one can see why."""
    began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    result = {"incident": row.incident, "broker": row.kind, "number": number, "began": began, "short": options.short}
    truth = beside.truth(row.incident, row.kind, options.kafka_version)
    lab = ["--seed", str(number), *(["--short"] if options.short else []), "--kafka-version", options.kafka_version]
    with tempfile.TemporaryDirectory(prefix="aplomb-doctor-table-") as place:
        try:
            seen = beside.beside_the_lab(row.incident, row.kind, place, *lab)
            record = json.loads((Path(place) / f"{row.incident}.json").read_text())
        except (beside.NotHere, AssertionError, OSError, subprocess.TimeoutExpired) as why:
            # It says nothing of the doctor, and is tried again the next time.
            say(f"{row.incident} on {row.kind}, run {number}, has failed: {why}")
            return
        (run,) = record["brokers"]
        if run["ended"] != "completed":
            say(f"{row.incident} on {row.kind}, run {number}, did not get to its end: {run['ended']}")
            return
        false_blame = [name for name in seen.causes if name not in beside.NO_DISK and name not in truth["causes"]]
        result |= {
            "version": run["broker"]["version"],
            "truth": truth,
            "causes": seen.causes,
            "right": beside.is_true(truth, seen.causes),
            "blamed_falsely": false_blame,
            "amplification": run["amplification"],
            "machine_standstill": run["machine_standstill"],
            "signatures_seen": [each["name"] for each in run["signatures"] if each["seen"]],
            "cost": seen.cost,
            "answer": seen.answer,
            "machine": record["machine"],
        }
        path = path_of(row, number, options)
        if not result["right"] or false_blame:
            with open(seen.record, "rb") as recording, gzip.open(path.with_suffix(".recording.json.gz"), "wb") as kept:
                shutil.copyfileobj(recording, kept)
    # A result is there as a whole or not at all.
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(result, indent=1) + "\n")
    unfinished.rename(path)
    say(f"{row.incident} on {row.kind}, run {number}: {first(result)}, {'right' if result['right'] else 'WRONG'}")


def results_of(row, options):
    paths = (path_of(row, number, options) for number in range(1, options.runs + 1))
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def first(result):
    """The cause that was named first."""
    return f"`{result['causes'][0]}`" if result["causes"] else "none"


def told(truth):
    """What is true, in words."""
    names = [f"`{name}`" for name in truth["causes"]]
    return " or ".join([*names, "none"] if truth["or_none"] else names)


def markdown(rows, options):
    """The table, and under it what it comes to."""
    lines = [
        "| incident | broker | the lab's truth | named first | right | a disk blamed falsely |",
        "| --- | --- | --- | --- | ---: | ---: |",
    ]
    every = []
    for row in rows:
        results = results_of(row, options)
        every += results
        if not results:
            continue
        named = collections.Counter(first(result) for result in results).most_common()
        named = ", ".join(f"{name} ({count})" if len(named) > 1 else name for name, count in named)
        right, blamed = sum(result["right"] for result in results), sum(bool(result["blamed_falsely"]) for result in results)
        versions = ", ".join(sorted({result["version"] for result in results}))
        lines.append(f"| `{row.incident}` | {KINDS[row.kind]} {versions} | {told(results[-1]['truth'])} | {named} | {right} of {len(results)} | {blamed} |")
    return "\n".join([*lines, "", *summary(every)]) + "\n"


def summary(results):
    if not results:
        return ["No run is in the folder."]
    right, blamed = sum(result["right"] for result in results), sum(bool(result["blamed_falsely"]) for result in results)
    machine, short = results[-1]["machine"], sum(result["short"] for result in results)
    worst = [still for result in results if (still := stood_still_ms(result))]
    starved = sum(not result["right"] and result["causes"][:1] == ["cpu-starvation"] and stood_still_ms(result) > STEADY_MS for result in results)
    began = [result["began"] for result in results]
    lines = [
        f"{right} of {len(results)} runs right ({right / len(results):.0%}); in {blamed} a disk was blamed that had no part in it.",
        "",
        f"{machine['cpus']} processors, {machine['memory_bytes'] / 1e9:.0f} GB, Linux {machine['kernel']}; {min(began)} to {max(began)}; "
        f"{short} short runs, {len(results) - short} in full.",
    ]
    unsteady = sum(each > STEADY_MS for each in worst)
    if unsteady:
        lines += ["", f"**In {unsteady} runs the machine itself stood still for more than {STEADY_MS} ms at p99.9, {max(worst):.0f} ms at most.**"]
    if starved:
        lines += [f"{starved} of those that were not right named `cpu-starvation` then: it was there, and the lab had not made it."]
    return lines


def stood_still_ms(result):
    """How long the machine itself stood still at p99.9 in the worst part of a run; 0 where nothing is known of it."""
    parts = (result["machine_standstill"] or {}).values()
    return max((part["p999_us"] / 1000 for part in parts if part), default=0)


def say(line):
    print(f"table: {line}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], epilog="For root: it makes slow disks. Continue by the same command.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where results are, and go")
    parser.add_argument("--incidents", default="all", metavar="NAMES", help="with commas between; all, disks or look-alikes for many (all)")
    parser.add_argument("--brokers", default="kafka,aplomb", metavar="KINDS", help="kafka, aplomb or both (kafka,aplomb)")
    parser.add_argument("--kafka-version", default="4.4.0", metavar="VERSION", help="of Apache Kafka (4.4.0)")
    parser.add_argument("--runs", type=int, default=3, help="of each incident on each broker (3)")
    parser.add_argument("--short", action="store_true", help="a quarter of each run's length: half a minute in place of a minute and a half")
    parser.add_argument("--for", dest="minutes", type=float, metavar="MINUTES", help="begin no run after so long")
    parser.add_argument("--show", action="store_true", help="run nothing, only print the table")
    options = parser.parse_args()
    kinds = options.brokers.split(",")
    if not set(kinds) <= set(KINDS):
        parser.error(f"--brokers {options.brokers}: {' or '.join(KINDS)}")
    rows = chosen(options.incidents, kinds, options.kafka_version)
    if not options.show:
        if os.geteuid() != 0:
            parser.error("only root can make slow disks and control groups")
        if shutil.which(brokers.binary()) is None:
            parser.error(f"{brokers.binary()} must be there first; APLOMB_BIN names another")
        options.out.mkdir(parents=True, exist_ok=True)
        ends = time.monotonic() + 60 * options.minutes if options.minutes else None
        # All once, then all twice: stopped early, each has had its turn.
        for number in range(1, options.runs + 1):
            for row in rows:
                if not path_of(row, number, options).exists() and (ends is None or time.monotonic() < ends):
                    one_run(row, number, options)
    print(markdown(rows, options), end="")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        sys.exit(130)
