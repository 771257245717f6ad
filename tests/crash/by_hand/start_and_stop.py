#!/usr/bin/env python3
"""Start and stop times with much data or many partitions, after clean and unclean stops, as a table.

    by_hand/run.sh start_and_stop.py --partitions 1000 --gigabytes 20
    by_hand/run.sh start_and_stop.py --partitions 10000 --gigabytes 1
    APLOMB_E2E_BROKER=kafka by_hand/run.sh start_and_stop.py --partitions 1000 --gigabytes 20

The data goes under --directory (default .work/crash/by_hand), which needs the room, and is removed at the end. The first column of
each line is what the broker had gone through before; "start" is until clients are served, and "first ack" until an idempotent producer,
itself started then, has been acknowledged in every partition that it writes to.
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

from harness import broker as brokers
from harness import clients
from rig.kills import timed_start
from rig.load import WORK, Load, existing_topics

SIZE = 10_000


def main():
    arguments = parse()
    home = Path(arguments.directory)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    broker = brokers.under_test()(home / "broker", {"aplomb.tail.bytes": str(arguments.tail << 20)})
    session = clients.Session(clients.ALL["java"], home / "admin.err")
    try:
        row("with", "start", "first ack", "stop", "memory", "threads")
        first = timed_start(broker)
        row("nothing", seconds(first), "", "", *process(broker))
        topics = create(clients.Admin(session, broker), arguments.partitions)
        fill(broker, topics, arguments.gigabytes << 30, home)
        row(f"{written(broker) >> 20} MiB", "", "", "", *process(broker))
        for how in ("kill -9", "clean stop", "kill -9 under load", "clean stop under load"):
            measure(broker, topics, how, home)
    finally:
        session.close()
        broker.close()
        shutil.rmtree(home, ignore_errors=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--gigabytes", type=int, default=20)
    parser.add_argument("--tail", type=int, default=256, help="MiB for aplomb.tail.bytes")
    parser.add_argument("--directory", default=str(WORK / "by_hand"))
    return parser.parse_args()


def create(admin, partitions):
    """Topics of a hundred partitions each."""
    topics = {f"hand-{number}": range(min(100, partitions - number * 100)) for number in range((partitions + 99) // 100)}
    for name, numbers in topics.items():
        admin.create(name, partitions=len(numbers), retention_ms=-1)
    return topics


def fill(broker, topics, wanted, home):
    """Writes the same share to every topic, a few of them at a time."""
    share = max(wanted // len(topics) // SIZE, 200)
    names = list(topics)
    for start in range(0, len(names), 2):
        loads = [Load("franz-go", broker, name, topics[name], home, size=SIZE, name="fill") for name in names[start : start + 2]]
        for load in loads:
            load.wait_for_acks(patience=3600, count=share - len(load.acks))
            load.wait_until_known(600)
        for load in loads:
            load.stop(600)


def measure(broker, topics, how, home):
    name = next(iter(topics))
    load = Load("franz-go", broker, name, topics[name], home, rate=2000, size=1000, name="during") if "load" in how else None
    if load:
        load.wait_until_known(120)
    began = time.monotonic()
    broker.kill() if "kill" in how else broker.stop()
    stopped = time.monotonic() - began
    started = timed_start(broker)
    began = time.monotonic()
    probe = Load("franz-go", broker, name, topics[name], home, rate=1000, name="probe")
    probe.wait_until_known(120)
    acknowledged = time.monotonic() - began
    for each in filter(None, (probe, load)):
        each.stop()
    assert len(existing_topics(broker)) == len(topics)
    row(how, seconds(started), seconds(acknowledged), seconds(stopped), *process(broker))


def written(broker):
    return sum(file.stat().st_blocks * 512 for directory in broker.log_dirs for file in directory.rglob("*") if file.is_file())


def process(broker):
    status = dict(line.split(":", 1) for line in Path(f"/proc/{broker.pid}/status").read_text().splitlines())
    return f"{int(status['VmRSS'].split()[0]) // 1024} MiB", status["Threads"].strip()


def seconds(value):
    return f"{value:.2f} s"


def row(first, *rest):
    print(f"{first:24}" + "".join(f"{each:>12}" for each in rest), flush=True)


if __name__ == "__main__":
    sys.exit(main())
