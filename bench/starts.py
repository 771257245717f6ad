#!/usr/bin/env python3
"""How long Aplomb takes to start with many partitions: after a clean stop, after a kill -9 at rest, and after one right behind a record
in each partition, when many of these are only in the tail.

Of each start, all from the start of the process: until the first record is acknowledged, in a topic of its own; until all partitions are
loaded, by the line in the broker's log; and until each has taken another record. Half of the starts have no client until all is loaded. In
the others one asks for all partitions from the first record on, a thousand a request and again after 0.1 s, on the same processors;
what a round of these requests takes without a start is measured right before each. Start reading at `measure`."""

import argparse
import datetime
import os
import re
import shutil
import time

import brokers
import frames
from run import RESULTS, say, write
from suite import CHECKOUT, wire

TOPIC = "many"
# Before a stop or kill at rest, in seconds: the disk has been told of everything.
REST = 10
# What the broker says when all partitions are loaded, and when.
LOADED = re.compile(r"^(\S+) INFO wiring/load: loaded \d+ partitions after .* in \d+ ms(?:, (\d+) of them as that stop had noted them)?$", re.MULTILINE)
# For whatever a start or a round of records may take, in seconds.
LIMIT = 240


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3, help="of each kind of start, with and without a client, in turn")
    parser.add_argument("--dir", default=str(CHECKOUT / ".work" / "bench"), help="where the broker's data goes")
    parser.add_argument("--keep", metavar="NAME", help="write the raw figures to bench/results/starts/NAME.json")
    arguments = parser.parse_args()
    home = os.path.join(arguments.dir, f"starts-{os.getpid()}")
    found = measure(brokers.Aplomb(home), arguments.partitions, arguments.runs)
    shutil.rmtree(home)
    if arguments.keep:
        results = RESULTS / "starts"
        results.mkdir(parents=True, exist_ok=True)
        write(results / f"{arguments.keep}.json", found)


def measure(broker, partitions, runs):
    """Every start, in milliseconds."""
    try:
        broker.start()
        with wire.Connection(broker.port, timeout=LIMIT) as connection:
            frames.create(connection, TOPIC, partitions)
        kinds = [(how, asked) for how in ("clean stop", "kill -9 at rest", "kill -9 behind records") for asked in (False, True)]
        starts = [one(broker, partitions, how, asked) for _ in range(runs) for how, asked in kinds]
        return {"partitions": partitions, "starts": starts}
    finally:
        broker.close()


def one(broker, partitions, how, asked):
    """Ends the broker in this way and starts it again."""
    began = time.monotonic()
    fill(broker, partitions)
    round_ms = 1000 * (time.monotonic() - began)
    if how != "kill -9 behind records":
        time.sleep(REST)
    if how == "clean stop":
        broker.stop()
    else:
        broker.kill()
    said = broker.log_file.stat().st_size
    began, clock = time.monotonic(), time.time()
    broker.start()
    if not asked:
        loaded(broker, said)
    fill(broker, partitions)
    at, noted = loaded(broker, said)
    start = {
        "after": how,
        "asked": asked,
        "round_ms": round_ms,
        "first_record_ms": broker.first_record_ms,
        "loaded_ms": 1000 * (at - clock),
        "noted": noted,
        "all_ms": 1000 * (time.monotonic() - began),
    }
    whom = "asked for all" if asked else "asked for one"
    say(
        f"{how}, {whom}: first record after {start['first_record_ms']:.0f} ms, all loaded after {start['loaded_ms']:.0f}, "
        f"a record in each after {start['all_ms']:.0f}, without a start {round_ms:.0f}"
    )
    return start


def loaded(broker, said):
    """When the broker had loaded all partitions, in seconds since 1970, and how many without a look into their files, by its log behind this
    byte. Waits for it."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        with open(broker.log_file, "rb") as log:
            log.seek(said)
            found = LOADED.search(log.read().decode(errors="replace"))
        if found:
            return datetime.datetime.fromisoformat(found[1].replace("Z", "+00:00")).timestamp(), int(found[2] or 0)
        time.sleep(0.05)
    raise brokers.broker.BrokerDied(f"not all partitions were loaded within {LIMIT} s:\n{broker.log_tail()}")


def fill(broker, partitions):
    """A record in each of the many partitions."""
    with wire.Connection(broker.port, timeout=LIMIT) as connection:
        frames.fill(connection, TOPIC, partitions, time.monotonic() + LIMIT)


if __name__ == "__main__":
    main()
