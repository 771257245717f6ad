#!/usr/bin/env python3
"""How long Aplomb takes to start with many partitions: after a clean stop, after a kill -9 at rest, and after one right behind a record
in each partition, when many of these are only in the tail.

Of each start: until the first record is acknowledged, in a topic of its own, and until each of the many partitions has taken another one,
all from the start of the process. The second includes the requests for it, a thousand partitions each; what a round of these takes without
a start is measured right before each. Start reading at `measure`."""

import argparse
import os
import shutil
import time

import brokers
import frames
from run import RESULTS, say, write
from suite import CHECKOUT, wire

TOPIC = "many"
# Before a stop or kill at rest, in seconds: the disk has been told of everything.
REST = 10
# For whatever a start or a round of records may take, in seconds.
LIMIT = 240


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3, help="of each kind of start, in turn")
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
        starts = [one(broker, partitions, how) for _ in range(runs) for how in ("clean stop", "kill -9 at rest", "kill -9 behind records")]
        return {"partitions": partitions, "starts": starts}
    finally:
        broker.close()


def one(broker, partitions, how):
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
    began = time.monotonic()
    broker.start()
    fill(broker, partitions)
    start = {"after": how, "round_ms": round_ms, "first_record_ms": broker.first_record_ms, "all_ms": 1000 * (time.monotonic() - began)}
    say(f"{how}: first record after {start['first_record_ms']:.0f} ms, one in each partition after {start['all_ms']:.0f}, without a start {round_ms:.0f}")
    return start


def fill(broker, partitions):
    """A record in each of the many partitions."""
    with wire.Connection(broker.port, timeout=LIMIT) as connection:
        frames.fill(connection, TOPIC, partitions, time.monotonic() + LIMIT)


if __name__ == "__main__":
    main()
