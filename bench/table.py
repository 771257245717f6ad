"""Runs side by side as a Markdown table: the median, the lowest and the highest of each figure, and the ratio of the medians.

Always holds: what makes figures doubtful (a busy machine, too few runs) is said under them."""

from dataclasses import dataclass
from statistics import median
from typing import Callable

import machine

# More of the machine than this fraction of one processor used by neither broker nor clients: the machine was not quiet.
OTHERS = 0.25
MEGABYTE = 1e6


@dataclass(frozen=True)
class Row:
    name: str
    figure: Callable[[dict], float]
    digits: int = 0


def rows(rates, has_librdkafka):
    for rate in rates:
        for key, name in (("p50", "p50"), ("p99", "p99"), ("p99.9", "p99.9")):
            yield Row(f"produce at {rate:,} records/s: {name}, ms", lambda run, rate=rate, key=key: run["produce_at"][str(rate)]["latency_ms"][key], 2)
        yield Row(f"produce at {rate:,} records/s: CPU s per GB", lambda run, rate=rate: run["produce_at"][str(rate)]["broker_cpu_seconds_per_gigabyte"], 2)
    yield Row("many small requests: p99.9, ms", lambda run: run["small"]["latency_ms"]["p99.9"], 2)
    yield Row("many small requests: CPU s per s", lambda run: run["small"]["broker_cpu_per_second"], 3)
    if has_librdkafka:
        yield Row("three librdkafka producers: p99.9, ms", lambda run: run["librdkafka"]["latency_ms"]["p99.9"], 2)
        yield Row("three librdkafka producers: CPU s per s", lambda run: run["librdkafka"]["broker_cpu_per_second"], 3)
    yield Row("produce, unthrottled: MB/s", lambda run: run["produce"]["megabytes_per_second"], 1)
    yield Row("produce, unthrottled: CPU s per GB", lambda run: run["produce"]["broker_cpu_seconds_per_gigabyte"], 2)
    yield Row("consume: MB/s", lambda run: run["consume"]["megabytes_per_second"], 1)
    yield Row("consume: CPU s per GB", lambda run: run["consume"]["broker_cpu_seconds_per_gigabyte"], 2)
    yield Row("resident memory at the end, MB", lambda run: run["memory"]["resident"] / MEGABYTE)
    yield Row("the same without the tail, MB", lambda run: (run["memory"]["resident"] - run["tail_bytes"]) / MEGABYTE)
    yield Row("start to first acknowledged record, ms", lambda run: run["first_record_ms"])


def markdown(environment, bare, many, runs, count):
    """`bare` is what plain TCP costs, `many` the memory with many partitions; `runs` by broker, `count` of each: {"aplomb": [run, ...], "kafka": [run, ...]}."""
    versions = environment["versions"]
    lines = [
        headline(environment, count),
        "",
        f"| | Aplomb {versions['aplomb']} | Apache Kafka {versions['kafka']} | Aplomb ÷ Kafka |",
        "| --- | ---: | ---: | ---: |",
    ]
    # Earlier results have no such load.
    has_librdkafka = all("librdkafka" in run for kind in runs.values() for run in kind)
    for row in rows(environment["plan"]["rates"], has_librdkafka):
        ours, theirs = ([row.figure(run) for run in runs[kind]] for kind in ("aplomb", "kafka"))
        lines.append(f"| {row.name} | {cell(row, ours)} | {cell(row, theirs)} | {ratio(median(ours), median(theirs))} |")
    lines += ["", *_notes(bare, many, runs)]
    doubts = list(_doubts(environment, runs))
    return "\n".join(lines + ([""] + [f"**{doubt}**" for doubt in doubts] if doubts else [])) + "\n"


def headline(environment, count):
    """The machine, when it was, and how many runs."""
    return f"{where(environment)}; {'one run' if count == 1 else f'median of {count} runs (lowest to highest)'}."


def where(environment):
    """The machine, and when it was."""
    return (
        f"{environment['cpu']}, {environment['processors']} processors, {environment['memory_bytes'] / 1e9:.0f} GB, Linux {environment['kernel']}, "
        f"{environment['file_system']['type']}; {environment['began']}"
    )


def _notes(bare, many, runs):
    limit = {name: each["cpu_seconds_per_gigabyte"] for name, each in bare.items()}
    cost = {name: median(run[name]["broker_cpu_seconds_per_gigabyte"] for run in runs["aplomb"]) for name in ("produce", "consume")}
    yield (
        f"The bare limit here, CPU s per GB: a TCP sink {limit['sink']:.2f}, one that writes to a file {limit['sink_to_file']:.2f}; a source "
        f"{limit['source']:.2f}, one that reads a file {limit['source_from_file']:.2f}, by sendfile {limit['source_by_sendfile']:.2f}. Aplomb takes "
        f"{cost['produce'] / limit['sink']:.1f} times the sink's and {cost['consume'] / limit['source']:.1f} times the source's, unthrottled."
    )
    yield ""
    resident = many["memory"]["resident"] - many["memory"]["shared"]
    yield f"Aplomb with {many['partitions']:,} partitions, a record in each: {resident / MEGABYTE:.0f} MB resident without the tail."


def loads(run):
    """The loads of a run by name."""
    yield from ((f"produce at {rate}/s", load) for rate, load in run["produce_at"].items())
    yield from ((name, run[name]) for name in ("small", "librdkafka", "produce", "consume") if name in run)


def others(load):
    """How many processors were busy with neither the broker nor the clients."""
    return load["meter"]["other_cpu_seconds"] / load["meter"]["seconds"]


def _doubts(environment, runs):
    every = [run for kind in runs.values() for run in kind]
    loaded = [run["busy_before"] for run in every if run["busy_before"] > machine.QUIET]
    if loaded:
        yield f"These figures mean nothing: before {len(loaded)} of {len(every)} runs something kept up to {max(loaded):.1f} processors busy."
    busy = max(others(load) for run in every for _, load in loads(run))
    if busy > OTHERS:
        yield f"Something else kept up to {busy:.1f} processors busy during a load."
    if environment["plan"]["quick"]:
        yield "A quick run: it shows that the bench works, not how fast a broker is."


def cell(row, values):
    """The median, and the lowest and the highest where there are several."""
    if len(values) == 1:
        return _number(row, values[0])
    return f"{_number(row, median(values))} ({_number(row, min(values))} to {_number(row, max(values))})"


def _number(row, value):
    return f"{value:,.{row.digits}f}"


def ratio(ours, theirs):
    """One divided by the other, with two digits."""
    return f"{ours / theirs:.2f}" if theirs else "–"
