"""The first record that a new broker acknowledges: raw frames, because a client library would add its own start and its back-offs.

Always holds: a broker that is not ready is asked again every few milliseconds; any error code counts as not ready, and the last one is
named if it stays."""

import time

import frames
from suite import wire

TOPIC = "first-record"
PAUSE = 0.002


class NeverAcknowledged(Exception):
    """The broker ended, or acknowledged nothing in time."""


def acknowledged(port, alive, deadline):
    """When the broker at `port` acknowledged a record with acks=all, on the clock of time.monotonic."""
    last = "it was never there"
    while time.monotonic() < deadline and alive():
        try:
            with wire.Connection(port, timeout=5) as connection:
                while time.monotonic() < deadline:
                    last = _attempt(connection)
                    if last is None:
                        return time.monotonic()
                    time.sleep(PAUSE)
        except OSError as refused:
            last = refused
        time.sleep(PAUSE)
    raise NeverAcknowledged(f"no record was acknowledged: {last}")


def _attempt(connection):
    """None for an acknowledgement, or what was in the way. Asking for a topic creates it."""
    _, topics = wire.read_metadata(connection.ask(wire.metadata([TOPIC])))
    error, partitions = topics[TOPIC]
    if error or not partitions:
        return f"Metadata answers with error {error} and {partitions} partitions"
    answer = connection.ask(frames.produce(TOPIC, [0], frames.batch(b"first")))
    (error,) = frames.read_produce(answer).values()
    return f"Produce answers with error {error}" if error else None
