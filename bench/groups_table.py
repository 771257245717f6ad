"""Runs of groups.py side by side as a Markdown table: the median, the lowest and the highest of each figure, the ratio of the medians, and what it
was meant to be at most.

Always holds: what makes figures doubtful is said under them."""

from statistics import median

import machine
import table
from table import Row

# What Aplomb is to need of Apache Kafka's, at most.
GOALS = {"held": "1/4", "joined": "1/2", "loaded": "1/3"}
DELAYS = {"default": "by default", "none": "0"}


def rows(plan):
    """(row, goal); a goal may be empty."""
    for protocol in ("classic", "consumer"):
        what = f"{plan['groups']:,} groups of {plan['members']}, {protocol}"
        yield Row(f"{what}: CPU s per s", lambda run, p=protocol: run["held"][p]["cpu_per_second"]["broker"], 3), GOALS["held"]
        for request in ("heartbeat", "commit"):
            for key in ("p50", "p99", "p99.9"):
                figure = lambda run, p=protocol, r=request, k=key: run["held"][p]["said"][f"{r}_us"][k] / 1000  # noqa: E731
                yield Row(f"{what}: {request}, {key}, ms", figure, 2), ""
    for protocol in ("classic", "consumer"):
        for delay, words in DELAYS.items():
            figure = lambda run, p=protocol, d=delay: median(each["all_stable_ms"] for each in run["joined"][d][p])  # noqa: E731
            yield Row(f"join to stable, {plan['large']} members, {protocol}, initial delay {words}, ms", figure), GOALS["joined"]
    all_offsets = plan["committing"] * plan["partitions"]
    what = f"start after kill -9 with {all_offsets:,} offsets"
    yield Row(f"{what}: to an answer of every coordinator, ms", lambda run: run["loaded"]["all"]["all_loaded_ms"]), GOALS["loaded"]
    yield Row("the same with hardly any offsets, ms", lambda run: run["loaded"]["few"]["all_loaded_ms"]), ""
    yield Row(f"{what}: CPU s until then", lambda run: run["loaded"]["all"]["cpu_seconds"], 2), ""
    yield Row("the same with hardly any offsets, CPU s", lambda run: run["loaded"]["few"]["cpu_seconds"], 2), ""
    yield Row("committing them, one request at a time, s", lambda run: run["loaded"]["all"]["committing_seconds"], 1), ""


def markdown(environment, runs, count):
    """`runs` by broker, `count` of each: {"aplomb": [run, ...], "kafka": [run, ...]}."""
    versions = environment["versions"]
    lines = [
        table.headline(environment, count),
        "",
        f"| | Aplomb {versions['aplomb']} | Apache Kafka {versions['kafka']} | Aplomb ÷ Kafka | goal, at most |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row, goal in rows(environment["plan"]):
        ours, theirs = ([row.figure(run) for run in runs[kind]] for kind in ("aplomb", "kafka"))
        ratio = table.ratio(median(ours), median(theirs))
        lines.append(f"| {row.name} | {table.cell(row, ours)} | {table.cell(row, theirs)} | {ratio} | {goal} |")
    doubts = list(_doubts(environment, runs))
    return "\n".join(lines + ([""] + [f"**{doubt}**" for doubt in doubts] if doubts else [])) + "\n"


def _doubts(environment, runs):
    every = [run for kind in runs.values() for run in kind]
    loaded = [run["busy_before"] for run in every if run["busy_before"] > machine.QUIET]
    if loaded:
        yield f"These figures mean nothing: before {len(loaded)} of {len(every)} runs something kept up to {max(loaded):.1f} processors busy."
    held = [(kind, protocol, each) for kind, all_of in runs.items() for run in all_of for protocol, each in run["held"].items()]
    busy = max(each["cpu_per_second"]["other"] for _, _, each in held)
    if busy > table.OTHERS:
        yield f"Something else kept up to {busy:.1f} processors busy while groups were held."
    for kind, protocol, each in held:
        if each["said"]["rebalances"] or each["said"]["errors"]:
            yield f"{kind}, {protocol}: {each['said']['rebalances']} rebalances while groups were held, errors {each['said']['errors']}."
    if environment["plan"]["quick"]:
        yield "A quick run: it shows that the bench works, not how fast a broker is."
