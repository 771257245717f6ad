#!/usr/bin/env python3
"""Many small requests (or some large ones), on several builds of Aplomb in turn: what a request costs, in processor time, turns, waits and
system calls.

For a change of the loop: give the build without it and the build with it. Each run is a broker on an empty directory under one load (see
`LOADS`); CPU time wants a machine that does nothing else, counts do not mind so much. System calls are counted by `perf stat`, where there is
perf and the kernel lets it (as root); it costs little. Start reading at `one_run`."""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from statistics import median

import brokers
import load
import machine
from suite import CHECKOUT
from suite import broker as suite_broker

# By name: what a broker is put under for some seconds.
LOADS = {
    "librdkafka": lambda broker, topic, seconds: load.produce_by_librdkafka(broker, topic, 20_000, seconds, WARM_UP, settle=0),
    "bench": lambda broker, topic, seconds: load.produce_at(broker, topic, 4_000, seconds, WARM_UP, "--producers", 6),
    # Requests of some 20 KB, and of a quarter of a megabyte.
    "large": lambda broker, topic, seconds: load.produce_at(broker, topic, 80_000, seconds, WARM_UP),
    "huge": lambda broker, topic, seconds: load.produce_at(
        broker, topic, 80_000, seconds, WARM_UP, "--batch-size", 262_144, linger="5ms"
    ),
}
WARM_UP = 2
CALLS = ("epoll_wait", "epoll_pwait", "epoll_pwait2", "recvfrom", "sendmsg", "write", "futex", "io_uring_enter", "pwritev2", "fdatasync")
_METRIC = re.compile(r"^(aplomb_shard_\w+_total)\{[^}]*\} (\S+)$", re.MULTILINE)


class Build(brokers.Aplomb):
    """Aplomb from a binary of its own."""

    def __init__(self, directory, binary):
        super().__init__(directory)
        self.binary = binary
        (self.metrics_port,) = suite_broker.free_ports(1)
        # The load's topic is made when it is asked for.
        self.properties["num.partitions"] = str(load.PARTITIONS)
        self.properties["aplomb.metrics.listener"] = f"127.0.0.1:{self.metrics_port}"

    def _program(self, config):
        return ["env", *self.binary.split(), "serve", "--config", str(config)]

    def counters(self):
        """What grows: requests and turns of the shards, and what the kernel counts of their threads."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics") as page:
            text = page.read().decode()
        found = {"requests": 0.0, "turns": 0.0}
        for name, value in _METRIC.findall(text):
            for counted in found:
                if name == f"aplomb_shard_{counted}_total":
                    found[counted] += float(value)
        return {**found, **threads(self.pid)}


def threads(pid):
    """Waits, interruptions and processor time of the shards' threads, and processor time of all others."""
    found = {"waits": 0, "interruptions": 0, "shards_cpu": 0.0, "others_cpu": 0.0}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            name = (task / "comm").read_text().strip()
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            spent = (int(fields[11]) + int(fields[12])) / machine.TICK
            if not name.startswith("aplomb-shard"):
                found["others_cpu"] += spent
                continue
            found["shards_cpu"] += spent
            for line in (task / "status").read_text().splitlines():
                key, _, rest = line.partition(":")
                if key == "voluntary_ctxt_switches":
                    found["waits"] += int(rest)
                elif key == "nonvoluntary_ctxt_switches":
                    found["interruptions"] += int(rest)
    return found


@contextlib.contextmanager
def counted_calls(pid, found):
    """Puts into `found` how often the process makes each of `CALLS`, if perf can say."""
    if shutil.which("perf") is None:
        yield
        return
    events = ["raw_syscalls:sys_enter", *(f"syscalls:sys_enter_{call}" for call in CALLS)]
    command = ["perf", "stat", "-x", ";", "-e", ",".join(events), "-p", str(pid)]
    perf = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        perf.send_signal(signal.SIGINT)
        said = perf.communicate()[1]
    for line in said.splitlines():
        count, _, event, *_ = [*line.split(";"), "", "", ""]
        if count.isdigit():
            found["all" if event.startswith("raw") else event.rpartition("sys_enter_")[2]] = int(count)


def one_run(binary, name, seconds, home):
    """A broker from its start to its end, under the load `name`."""
    broker = Build(home, binary)
    calls = {}
    try:
        broker.start()
        before = broker.counters()
        with counted_calls(broker.pid, calls):
            figures = LOADS[name](broker, "small", seconds)
        after = broker.counters()
        broker.stop()
    finally:
        broker.close()
    shutil.rmtree(home)
    spent = {key: after[key] - before[key] for key in after}
    requests = max(spent.pop("requests"), 1)
    return {
        "requests_per_second": requests / (seconds + WARM_UP),
        "broker_cpu_per_second": figures["broker_cpu_per_second"],
        "cpu_us_per_request": (spent["shards_cpu"] + spent["others_cpu"]) / requests * 1e6,
        "shards_cpu_us_per_request": spent["shards_cpu"] / requests * 1e6,
        "latency_ms": figures["latency_ms"],
        "per_request": {key: spent[key] / requests for key in ("turns", "waits", "interruptions")},
        "calls_per_request": {call: count / requests for call, count in sorted(calls.items()) if count},
    }


def rows(runs):
    """One line for each figure: the medians of every build."""
    plain = ("requests_per_second", "broker_cpu_per_second", "cpu_us_per_request", "shards_cpu_us_per_request")
    yield from ((name, [median(run[name] for run in each) for each in runs]) for name in plain)
    for group in ("latency_ms", "per_request", "calls_per_request"):
        names = list(dict.fromkeys(name for each in runs for run in each for name in run[group]))
        yield from ((f"{group}: {name}", [median(run[group].get(name, 0.0) for run in each) for each in runs]) for name in names)


def resolved(command):
    """The command of a build with the whole path of its binary."""
    *variables, binary = command.split()
    return " ".join([*variables, str(Path(binary).resolve())])


def main():
    parser = argparse.ArgumentParser(description="What a small request costs, on several builds of Aplomb in turn.")
    parser.add_argument("builds", nargs="*", metavar="NAME=BINARY", help="(aplomb=target/release/aplomb); variables for its environment may stand before it: NAME='KEY=VALUE BINARY'")
    parser.add_argument("--load", choices=LOADS, default="librdkafka")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20, help="of load, after two that warm up")
    parser.add_argument("--dir", type=Path, default=CHECKOUT / ".work" / "bench", help="where the brokers' directories are made (.work/bench)")
    parser.add_argument("--json", type=Path, help="write every run there")
    options = parser.parse_args()
    builds = dict(build.split("=", 1) for build in options.builds or [f"aplomb={CHECKOUT / 'target' / 'release' / 'aplomb'}"])
    # `aplomb bench` is the first build's for all of them.
    os.environ.setdefault("APLOMB_BIN", resolved(next(iter(builds.values()))).split()[-1])
    home = options.dir.resolve() / f"small-{os.getpid()}"
    home.mkdir(parents=True)
    runs = {name: [] for name in builds}
    for number in range(options.runs):
        for name, binary in builds.items():
            busy = machine.busy_processors()
            print(f"bench: run {number + 1}, {name}; {busy:.1f} processors are busy already", file=sys.stderr, flush=True)
            runs[name].append(one_run(resolved(binary), options.load, options.seconds, home / f"{number}-{name}"))
    home.rmdir()
    if options.json:
        options.json.write_text(json.dumps({"load": options.load, "at": time.time(), "runs": runs}, indent=1) + "\n")
    print(f"| {options.load}, median of {options.runs} | {' | '.join(runs)} |\n| --- |{' ---: |' * len(runs)}")
    for name, values in rows(list(runs.values())):
        print(f"| {name} | {' | '.join(f'{value:,.3f}' for value in values)} |")


if __name__ == "__main__":
    main()
