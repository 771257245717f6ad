"""Whether acknowledgements or records kept coming: the longest time without one."""

import os

# Seconds. A broker that waits for a frozen disk is silent for as long as it is frozen, ten times as long.
TOLERATED = float(os.environ.get("APLOMB_CRASH_SILENCE", "2"))


class Silent(AssertionError):
    """A client waited that should not have."""


def longest(moments, begin, end):
    """The longest gap, in seconds, between these moments (milliseconds) within the interval, its ends included."""
    inside = [begin, *sorted(moment for moment in moments if begin <= moment <= end), end]
    return max(later - earlier for earlier, later in zip(inside, inside[1:], strict=False)) / 1000


def by_partition(events, partitions):
    """{partition: moments} of (moment, partition) pairs, with an empty list where nothing happened."""
    moments = {partition: [] for partition in partitions}
    for moment, partition in events:
        if partition in moments:
            moments[partition].append(moment)
    return moments


def check(who, events, partitions, begin, end):
    """Every partition had news all the time."""
    gaps = {partition: longest(moments, begin, end) for partition, moments in by_partition(events, partitions).items()}
    silent = {partition: gap for partition, gap in gaps.items() if gap > TOLERATED}
    if silent:
        raise Silent(f"{who} heard nothing for so many seconds, by partition: {silent}; the interval was {(end - begin) / 1000} s")
