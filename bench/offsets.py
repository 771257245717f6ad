"""A million committed offsets: written by requests by hand, read back, and waited for after a broker was killed.

Each group is one of its own kind, without members, as a program has it that assigns its partitions itself; each commits an offset for every partition of
one topic in one request. Always holds: an offset is the number of its group times a thousand plus its partition's, so that what is read can be told from
what another group has committed. The versions are the newest before Kafka's compact encoding. Next: `commit`."""

import struct
import time

from suite import wire

TOPIC = "committed"
OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
COMMIT_VERSION, FETCH_VERSION, FIND_VERSION = 5, 5, 2
LOADING, NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16
# What is answered while a coordinator is still being found or loaded.
PASSING = (LOADING, NOT_AVAILABLE, NOT_COORDINATOR)
PAUSE = 0.002
# How long a broker may take to have coordinators, in seconds.
PATIENCE = 60


class Wrong(Exception):
    """An offset was refused, or is not what was committed."""


def name(group):
    return f"offsets-{group}"


def value(group, partition):
    return 1_000 * group + partition


def coordinator_partition(group, partitions):
    """The partition of __consumer_offsets for a group: by Java's hash of its name."""
    found = 0
    for character in name(group):
        found = (31 * found + ord(character)) & 0xFFFFFFFF
    signed = found - (1 << 32) if found >> 31 else found
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def commit(port, groups, partitions):
    """Commits for all partitions of all groups; what is not yet ready is asked again."""
    with wire.Connection(port, timeout=PATIENCE) as connection:
        _await_coordinator(connection)
        for group in range(groups):
            each = b"".join(struct.pack(">iq", partition, value(group, partition)) + wire.string("") for partition in range(partitions))
            body = wire.string(name(group)) + struct.pack(">i", -1) + wire.string("") + _one_topic(partitions) + each
            _ask_until_ready(connection, wire.header(OFFSET_COMMIT, COMMIT_VERSION) + body, _committed)


def check(port, groups, partitions):
    """Every offset of every group is what was committed."""
    with wire.Connection(port, timeout=PATIENCE) as connection:
        for group in range(groups):
            wanted = {partition: value(group, partition) for partition in range(partitions)}
            found = _ask_until_ready(connection, _fetch(group, range(partitions)), _fetched)
            if found != wanted:
                raise Wrong(f"group {name(group)} has {len(found)} offsets that are not the {partitions} that were committed")


def loaded(groups, coordinators):
    """For `Deployed.start_until`: waits until a group of each coordinator's partition has been answered with what was committed."""
    chosen = {}
    for group in range(groups):
        chosen.setdefault(coordinator_partition(group, coordinators), group)
    if len(chosen) < coordinators:
        raise Wrong(f"{groups} groups are in {len(chosen)} of {coordinators} partitions")

    def wait(port, alive, began, deadline):
        first_answer, left, last = None, dict(chosen), "it was never there"
        times = {}
        while left and time.monotonic() < deadline and alive():
            try:
                with wire.Connection(port, timeout=PATIENCE) as connection:
                    while left and time.monotonic() < deadline:
                        for partition, group in list(left.items()):
                            error, offsets = _fetched(connection.ask(_fetch(group, [0])))
                            first_answer = first_answer or time.monotonic()
                            if not error and offsets == {0: value(group, 0)}:
                                times[partition] = 1000 * (time.monotonic() - began)
                                del left[partition]
                            elif error and error not in PASSING:
                                last = f"error {error}"
                            elif not error:
                                raise Wrong(f"group {name(group)} has {offsets}")
                        time.sleep(PAUSE)
            except OSError as refused:
                last = refused
            time.sleep(PAUSE)
        if left:
            raise Wrong(f"{len(left)} of {coordinators} partitions were not loaded: {last}")
        each = sorted(times.values())
        return {"first_answer_ms": 1000 * (first_answer - began), "first_loaded_ms": each[0], "all_loaded_ms": each[-1]}

    return wait


def _await_coordinator(connection):
    """Whoever asks first has __consumer_offsets made."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        reader = wire.Reader(connection.ask(wire.header(FIND_COORDINATOR, FIND_VERSION) + wire.string(name(0)) + struct.pack(">b", 0)))
        reader.take(4 + 4)
        error = reader.int16()
        if not error:
            return
        time.sleep(0.1)
    raise Wrong(f"no coordinator was found: error {error}")


def _ask_until_ready(connection, request, read):
    deadline = time.monotonic() + PATIENCE
    while True:
        error, found = read(connection.ask(request))
        if not error:
            return found
        if error not in PASSING or time.monotonic() > deadline:
            raise Wrong(f"error {error}")
        time.sleep(PAUSE)


def _one_topic(partitions):
    return struct.pack(">i", 1) + wire.string(TOPIC) + struct.pack(">i", partitions)


def _fetch(group, partitions):
    body = wire.string(name(group)) + _one_topic(len(partitions)) + b"".join(struct.pack(">i", partition) for partition in partitions)
    return wire.header(OFFSET_FETCH, FETCH_VERSION) + body


def _committed(response):
    """(the first error, nothing) of an OffsetCommit response."""
    reader, first = wire.Reader(response), 0
    reader.take(4 + 4)
    for _ in range(reader.int32()):
        reader.string()
        for _ in range(reader.int32()):
            reader.int32()
            first = first or reader.int16()
            if first:
                return first, None
    return first, None


def _fetched(response):
    """(the first error, {partition: offset}) of an OffsetFetch response."""
    reader, first, found = wire.Reader(response), 0, {}
    reader.take(4 + 4)
    for _ in range(reader.int32()):
        reader.string()
        for _ in range(reader.int32()):
            partition, found[partition] = reader.int32(), reader.int64()
            reader.int32()
            reader.string()
            first = reader.int16() or first
    return reader.int16() or first, found
