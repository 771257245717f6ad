"""kafka-dump-log over everything that a stopped broker left, and what it says when something is wrong."""

import re

# What the tool prints for a fault; on good files it says none of this, on either stream.
FAULTS = re.compile(
    r"isvalid: false|Found |Mismatches in|indexed offsets are not found|Non-consecutive offsets|invalid bytes|"
    r"Could not |[Ee]xception|Error|corrupt",
)


def check(tools, broker, compacted=()):
    """Dumps and verifies every file of every partition; returns how many batches were seen, by directory name. The logs of `compacted`
    topics have holes."""
    batches = {}
    for directory in broker.partition_directories():
        if directory.name.endswith(("-delete", "-stray")):
            continue
        metadata = directory.name == "__cluster_metadata-0"
        holes = directory.name.rsplit("-", 1)[0] in compacted
        batches[directory.name] = _check_logs(tools, directory, metadata, holes)
        indexes = sorted([*directory.glob("*.index"), *directory.glob("*.timeindex")])
        if metadata:
            # Apache Kafka never trims the active indexes of the metadata log, and its own checks fail on the unused rest.
            indexes = [index for index in indexes if not _preallocated(index)]
        if indexes:
            files = ",".join(map(str, indexes))
            _sound(tools.ok("kafka-dump-log", "--index-sanity-check", "--files", files))
            _sound(tools.ok("kafka-dump-log", "--verify-index-only", "--files", files), _NO_TIMES if holes else None)
        others = [*directory.glob("*.snapshot"), *directory.glob("*.txnindex")]
        if others:
            _sound(tools.ok("kafka-dump-log", "--files", ",".join(sorted(map(str, others)))))
        for snapshot in sorted(directory.glob("*.checkpoint")):
            _sound(tools.ok("kafka-dump-log", "--cluster-metadata-decoder", "--files", snapshot))
    return batches


def _preallocated(index):
    with open(index, "rb") as file:
        file.seek(max(0, index.stat().st_size - 12))
        return index.stat().st_size > 12 and file.read() == bytes(12)


def _check_logs(tools, directory, metadata, holes):
    logs = ",".join(sorted(map(str, directory.glob("*.log"))))
    if not logs:
        # Nothing was ever written here. Apache Kafka makes the first segment when it opens such a directory.
        return 0
    decoder = ("--cluster-metadata-decoder",) if metadata else ()
    dumped = tools.ok("kafka-dump-log", "--deep-iteration", *decoder, "--files", logs)
    _sound(dumped, _HOLE if holes else _SEGMENT_START)
    return sum(line.startswith("baseOffset:") for line in dumped.lines())


# The tool counts from -1 in every segment, so it says this of the first record of each but the log's first.
_SEGMENT_START = re.compile(r"Non-consecutive offsets in \S*/0*(\d+)\.log\n  -1 is followed by \1\n")
_HOLE = re.compile(r"Non-consecutive offsets in \S*\.log\n(  -?\d+ is followed by \d+\n)+")


# Compaction leaves batches without records, whose times the tool does not see; those of Apache Kafka's own cleaner neither.
_NO_TIMES = re.compile(r"Found timestamp mismatch in :\S*\.timeindex\n(  Index timestamp: \d+, log timestamp: -1\n)+")


def _sound(ran, usual=None):
    said = (usual or _SEGMENT_START).sub("", ran.output)
    faults = [line for line in said.splitlines() if FAULTS.search(line.split(" payload: ")[0])]
    assert faults == [], "\n".join(faults)


def records(tools, directory, option="--print-data-log"):
    """The `| offset: ...` lines of a partition directory, all segments in order, each as a dictionary of what is printed."""
    logs = ",".join(sorted(map(str, directory.glob("*.log"))))
    lines = tools.ok("kafka-dump-log", "--deep-iteration", option, "--files", logs).lines()
    return [line for line in lines if line.startswith("| offset:")]
