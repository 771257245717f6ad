"""What consumers have to report for what producers were told to send."""

import functools

import suite

from harness import clients


def consumed(producer, seed, count, size, key_prefix=None, headers=False, tombstones=False, timestamp=None):
    """The records of one run, as every consumer reports them, without offsets. Time stamps only if the run set them."""
    lines = []
    for seq in range(count):
        sent = suite.headers(seed) if headers else []
        if not clients.ALL[producer].null_headers:
            sent = [(key, value) for key, value in sent if value is not None]
        line = {
            "key": None if key_prefix is None else f"{key_prefix}{seq}",
            "value_sha": _digest(seed, seq, size, tombstones),
            "headers": [list(header) for header in sent],
        }
        if timestamp is not None:
            line["timestamp"] = timestamp + seq
        lines.append(line)
    return lines


@functools.lru_cache(maxsize=100_000)
def _digest(seed, seq, size, tombstones):
    return suite.sha256(suite.value(seed, seq, size, tombstones))


def without(records, *names):
    """The records without these fields."""
    return [{name: value for name, value in record.items() if name not in names} for record in records]


def check(records, expected, first_offset=0, partition=0):
    """Records of one partition, read from `first_offset` on: the expected ones, in order, without gap or addition."""
    assert [record["offset"] for record in records] == list(range(first_offset, first_offset + len(expected)))
    assert {record["partition"] for record in records} <= {partition}
    fields = expected[0].keys() if expected else ()
    assert [{name: record[name] for name in fields} for record in records] == expected


def check_acknowledged(lines, count, first_offset=0, partition=0):
    """Every record acknowledged once, in order of sending, at consecutive offsets."""
    wanted = [{"partition": partition, "offset": first_offset + seq, "seq": seq} for seq in range(count)]
    assert sorted(lines, key=lambda line: line["seq"]) == wanted
