#!/usr/bin/env python3
"""Consumer groups of Aplomb beside Apache Kafka: what many of them cost, how long a large one takes to become stable, and how long a broker that was
killed takes to know a million committed offsets again.

The brokers take turns, as in run.py; the raw figures of each run go to results/groups/, one JSON file a run, and a Markdown table is made of them. What is
measured is in docs/operating/benchmarks.md. Start reading at `one_run`."""

import argparse
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import brokers
import frames
import groups_table
import machine
import offsets
import run
from suite import CHECKOUT, wire
from suite import broker as suite_broker

RESULTS = run.RESULTS / "groups"
PROTOCOLS = ("classic", "consumer")
TOPIC = "watched"
# Between two heartbeats and two commits of a member.
HEARTBEATS, COMMITS = 3, 5
# So that the brokers ask members of the consumer protocol for the same as the others do by themselves.
SAME_HEARTBEATS = {key: str(1000 * HEARTBEATS) for key in ("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms")}
# Both brokers' own.
COORDINATORS = {"offsets.topic.num.partitions": "50"}
NO_DELAY = {"group.initial.rebalance.delay.ms": "0"}
# How long groups may take to become stable, and the whole of a load beyond what is measured, in seconds.
STABLE, BEYOND = 300, 400
# Groups with an offset each: enough for one in every coordinator's partition.
FEW = 500
# How long a killed broker may take to know its offsets again, in seconds.
LOADING = 300


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    quick: bool
    runs: int
    # Groups that heartbeat and commit: how many, of how many members, for how long after a warm-up.
    groups: int
    members: int
    warmup_seconds: int
    seconds: int
    # One group that joins, and how often.
    large: int
    joins: int
    # Committed offsets: groups, and partitions of each.
    committing: int
    partitions: int
    # How long to wait for a quiet machine before each run, in seconds.
    patience: int


FULL = Plan(
    quick=False, runs=3, groups=1_000, members=10, warmup_seconds=10, seconds=60, large=300, joins=3, committing=10_000, partitions=100, patience=240
)
QUICK = Plan(quick=True, runs=1, groups=50, members=10, warmup_seconds=3, seconds=8, large=50, joins=1, committing=500, partitions=20, patience=0)


class LoadFailed(Exception):
    """The generator failed, or groups did not become stable."""


def one_run(kind, plan, home):
    """Everything that is measured of one broker, on three empty directories."""
    os.sync()
    quiet = machine.wait_until_quiet(plan.patience)
    if quiet > machine.QUIET:
        run.say(f"{quiet:.1f} processors are busy already: these figures will mean nothing")
    found = {"broker": kind.kind, "began": run.now(), "busy_before": quiet, "held": {}, "joined": {}}
    with started(kind, home / "held", SAME_HEARTBEATS) as broker:
        for protocol in PROTOCOLS:
            found["held"][protocol] = hold(broker, protocol, plan)
    for name, settings in (("default", {}), ("none", NO_DELAY)):
        with started(kind, home / f"joined-{name}", settings) as broker:
            found["joined"][name] = {protocol: join(broker, protocol, plan) for protocol in PROTOCOLS}
    with started(kind, home / "loaded", {}) as broker:
        found["loaded"] = load_again(broker, plan)
    shutil.rmtree(home)
    return found


@contextlib.contextmanager
def started(kind, directory, settings):
    """A broker on an empty directory; what it said last is in the failure of whatever is done with it."""
    broker = kind(directory, {**COORDINATORS, **settings})
    try:
        broker.start()
        yield broker
        broker.stop()
    except Exception as failure:
        raise run.RunFailed(f"{kind.kind}: {failure}\nThe end of the broker's log:\n{broker.log_tail(20)}") from failure
    finally:
        broker.close()


def hold(broker, protocol, plan):
    """Many groups that have joined, heartbeat and commit: what that costs the broker, and how long it takes to answer."""
    seconds = plan.seconds
    # Its own figures are of the time that is looked at here, and of some seconds more.
    options = ("--groups", plan.groups, "--members", plan.members, "--partitions", plan.members, "--prefix", f"held-{protocol}")
    options += ("--warm-up", f"{plan.warmup_seconds}s", "--duration", f"{seconds + 4}s")
    generator = Generator(broker, protocol, *options)
    with generator:
        generator.wait_until_stable()
        time.sleep(plan.warmup_seconds + 1)
        before = spent(broker.pid, generator.pid)
        time.sleep(seconds)
        after = spent(broker.pid, generator.pid)
        said = generator.finish()
    cost = {name: after[name] - before[name] for name in after}
    cost["other"] = max(0.0, cost["machine"] - cost["broker"] - cost["generator"])
    each = {name: value / cost["seconds"] for name, value in cost.items() if name != "seconds"}
    return {"cpu_per_second": each, "memory": machine.memory(broker.pid), "said": said}


def join(broker, protocol, plan):
    """One large group, from its members' first requests to all of them having their partitions; each time another group."""
    found = []
    for number in range(plan.joins):
        options = ("--groups", 1, "--members", plan.large, "--partitions", plan.large, "--prefix", f"joins-{protocol}-{number}")
        generator = Generator(broker, protocol, *options, "--warm-up", "0s", "--duration", "1s", topic="joined")
        with generator:
            found.append(generator.finish())
    return found


def load_again(broker, plan):
    """Commits, kills the broker, and waits until it answers for all of its coordinators' partitions; then everything is read. Once with hardly any
    offsets before, for what a start after kill -9 takes by itself."""
    with wire.Connection(broker.port) as connection:
        frames.create(connection, offsets.TOPIC, plan.partitions)
    broker.start_timeout = LOADING
    found = {"offsets": plan.committing * plan.partitions}
    for name, groups, partitions in (("few", FEW, 1), ("all", plan.committing, plan.partitions)):
        began = time.monotonic()
        offsets.commit(broker.port, groups, partitions)
        committing = time.monotonic() - began
        broker.kill()
        each = broker.start_until(offsets.loaded(groups, int(COORDINATORS["offsets.topic.num.partitions"])))
        cpu, memory = machine.process_cpu_seconds(broker.pid), machine.memory(broker.pid)
        offsets.check(broker.port, groups, partitions)
        found[name] = {"committing_seconds": committing, **each, "cpu_seconds": cpu, "memory": memory}
    return found


class Generator:
    """`aplomb bench group` that runs."""

    def __init__(self, broker, protocol, *options, topic=TOPIC):
        command = [suite_broker.binary(), "bench", "group", "-b", broker.bootstrap, "-t", topic, "--protocol", protocol, *options]
        command += ["--heartbeat-interval", f"{HEARTBEATS}s", "--commit-interval", f"{COMMITS}s", "--patience", f"{STABLE}s", "--json", "-"]
        self._process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._said = []

    @property
    def pid(self):
        return self._process.pid

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._process.kill()
        self._process.communicate()

    def wait_until_stable(self):
        """Reads what it says of its progress until all groups have been stable."""
        for line in self._process.stderr:
            self._said.append(line)
            words = line.split()
            if "stable" in words:
                stable, _, everything = words[words.index("stable") + 1 :][:3]
                if stable == everything:
                    return
        raise LoadFailed("aplomb bench ended before all groups were stable:\n" + "".join(self._said[-20:]))

    def finish(self):
        """What it reports. A rebalance is told with the figures, for a group that is held up has one; a group that never was stable is a failure."""
        out, rest = self._process.communicate(timeout=STABLE + BEYOND)
        if not out.startswith("{"):
            raise LoadFailed(f"aplomb bench left with {self._process.returncode}:\n{''.join(self._said[-20:])}{rest[-2000:]}")
        said = json.loads(out)
        if said["stable"] != said["groups"]:
            raise LoadFailed(f"{said['stable']} of {said['groups']} groups became stable: {said['errors']}")
        return said


def spent(broker, generator):
    """Processor time so far, of the two and of the whole machine, and the clock."""
    busy, stolen = machine.machine_cpu_seconds()
    return {
        "seconds": time.monotonic(),
        "broker": machine.process_cpu_seconds(broker),
        "generator": machine.process_cpu_seconds(generator),
        "machine": busy,
        "stolen": stolen,
    }


def raise_descriptors(plan):
    """As many open files as connections take, here and in what is started from here."""
    wanted = 2_000 + plan.groups * plan.members
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in ((max(soft, wanted), max(hard, wanted)), (hard, hard)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            break
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        sys.exit(f"bench: {soft} files may be open, and that cannot be raised to {wanted}")


def compare(plan, work, results):
    """All runs, the brokers in turn; each run is on disk as soon as it is over."""
    raise_descriptors(plan)
    home = work / f"groups-{os.getpid()}"
    home.mkdir(parents=True)
    results.mkdir(parents=True)
    facts = {**run.environment(plan, home), "plan": asdict(plan)}
    run.write(results / "environment.json", facts)
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
    text = groups_table.markdown(facts, {kind: each[:count] for kind, each in runs.items()}, count)
    (results / "table.md").write_text(text)
    return text


def main():
    parser = argparse.ArgumentParser(description="Consumer groups of Aplomb beside Apache Kafka on this machine.")
    parser.add_argument("--quick", action="store_true", help="four minutes: shows that the bench works, and no more")
    parser.add_argument("--runs", type=int, help="runs of each broker (3)")
    parser.add_argument("--keep", metavar="NAME", help="write the results to results/groups/NAME, which git sees, instead of results/local")
    parser.add_argument("--dir", type=Path, default=CHECKOUT / ".work" / "bench", help="where the brokers' directories are made (.work/bench)")
    parser.add_argument("--show", type=Path, metavar="RESULTS", help="only print the table of earlier results")
    options = parser.parse_args()
    missing = [program for program in (suite_broker.binary(), "java") if shutil.which(program) is None]
    if missing and not options.show:
        parser.error(f"{' and '.join(missing)} must be there first; `make bench` sees to it")
    plan = QUICK if options.quick else FULL
    if options.runs is not None:
        if options.runs < 1:
            parser.error(f"--runs {options.runs}: there has to be one")
        plan = replace(plan, runs=options.runs)
    here = run.RESULTS / "local" / time.strftime("groups-%Y%m%dT%H%M%SZ", time.gmtime())
    results = RESULTS / options.keep if options.keep else here
    if results.exists():
        parser.error(f"{results} is there already")
    try:
        print(show(options.show) if options.show else compare(plan, options.dir.resolve(), results), end="")
    except run.RunFailed as failure:
        sys.exit(f"bench: {failure}")


if __name__ == "__main__":
    main()
