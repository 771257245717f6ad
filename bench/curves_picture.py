"""The results of curves.py as a picture, a panel for each axis and figure, and as a table.

Always holds: both scales of a panel are logarithmic and the upright one spans a factor of ten at
least, so that a flat line is a cost that does not grow and noise does not look like growth. What is
not in the results is not drawn. Next: `place`, `picture`, `table`."""

import json
import math
from dataclasses import dataclass
from typing import Callable
from xml.sax.saxutils import escape

from suite import CHECKOUT

PICTURE = CHECKOUT / "docs" / "operating" / "curves.svg"
PAGE = CHECKOUT / "docs" / "operating" / "benchmarks.md"
BEGIN, END = "<!-- curves: written by bench/curves.py --draw -->", "<!-- curves: end -->"
NAMES = {"aplomb": "Aplomb", "kafka": "Apache Kafka"}


@dataclass(frozen=True)
class Figure:
    """One panel, and two columns of the table."""

    name: str
    unit: str
    of: Callable[[dict], float]
    # Only in the table.
    drawn: bool = True


PER_GB = Figure("CPU per GB", "s", lambda point: point["load"]["broker_cpu_seconds_per_gigabyte"])
PER_SECOND = Figure("CPU per second", "s", lambda point: point["cpu_per_second"])
P999 = Figure("produce, p99.9", "ms", lambda point: point["load"]["latency_ms"]["p99.9"])
MEMORY = Figure("memory without the tail", "MB", lambda point: (point["memory"]["resident"] - point["tail_bytes"]) / 1e6)
TAIL = Figure("memory with the tail", "MB", lambda point: point["memory"]["resident"] / 1e6, drawn=False)
RESTART = Figure("restart to first record", "ms", lambda point: point["restart_ms"])
FULL_SPEED = Figure("unthrottled, CPU per GB", "s", lambda point: point["unthrottled"]["broker_cpu_seconds_per_gigabyte"])
THROUGHPUT = Figure("unthrottled", "MB/s", lambda point: point["unthrottled"]["megabytes_per_second"], drawn=False)


@dataclass(frozen=True)
class Axis:
    title: str
    figures: tuple
    # Apache Kafka has no such axis: its one point is drawn as a level.
    level: bool = False


AXES = {
    "partitions": Axis("partitions", (PER_GB, P999, MEMORY, TAIL, RESTART)),
    "connections": Axis("connections", (PER_SECOND, P999, MEMORY, TAIL)),
    "batches": Axis("KiB a batch", (PER_GB, P999, MEMORY, TAIL, FULL_SPEED, THROUGHPUT)),
    "shards": Axis("shards", (PER_GB, P999, MEMORY, TAIL, FULL_SPEED, THROUGHPUT), level=True),
}

# In pixels: a panel's plot, and from one panel to the next.
WIDTH, HEIGHT = 150, 100
ACROSS, DOWN = 272, 176
LEFT, TOP = 50, 86
# Between two labels at the end of lines.
APART = 14
STYLE = """
.curves { --paper: #fcfcfa; --ink: #1b1f24; --soft: #59626d; --faint: #e6e8ea; --aplomb: #0068a8; --kafka: #bf4a00; }
@media (prefers-color-scheme: dark) {
  .curves { --paper: #14171a; --ink: #e8eaed; --soft: #a3adb8; --faint: #2a3036; --aplomb: #5ab4f0; --kafka: #f5914a; }
}
.paper { fill: var(--paper); }
text { font: 11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: var(--soft); }
.axis { font-size: 15px; font-weight: 650; fill: var(--ink); }
.figure { font-size: 12px; font-weight: 600; fill: var(--ink); }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: var(--faint); }
.aplomb { --b: var(--aplomb); } .kafka { --b: var(--kafka); }
.line { fill: none; stroke: var(--b); stroke-width: 2; } .level { stroke-dasharray: 5 4; }
.dot { fill: var(--b); }
.label { fill: var(--b); font-weight: 600; }
"""


def read(results):
    """{axis: {broker: [point, ...]}}, by value."""
    found = {}
    for axis in AXES:
        points = [json.loads(path.read_text()) for path in results.glob(f"{axis}-*.json")]
        points.sort(key=lambda point: point["value"])
        if points:
            found[axis] = {kind: [each for each in points if each["broker"] == kind] for kind in NAMES}
    return found


def place(results):
    """Puts the picture beside the page, and picture and table into the page."""
    PICTURE.write_text(picture(read(results)))
    text = PAGE.read_text()
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    shown = f"![how cost grows, of Aplomb and of Apache Kafka]({PICTURE.name})"
    PAGE.write_text(f"{head}{BEGIN}\n{shown}\n\n{table(results)}{END}{tail}")


def picture(found):
    """A column for each axis, a row for each figure."""
    rows = max(sum(figure.drawn for figure in AXES[axis].figures) for axis in found)
    width, height = ACROSS * len(found) + 40, TOP + DOWN * rows
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'class="curves" role="img" aria-label="How cost grows, of Aplomb and of Apache Kafka">',
        f'<style>{STYLE}</style><rect width="{width}" height="{height}" class="paper"/>',
    ]
    parts.append(_text(LEFT, 22, "Both scales are logarithmic: flat does not grow. × marks what a broker did not finish."))
    for column, (axis, points) in enumerate(found.items()):
        parts.append(_text(LEFT + column * ACROSS, 50, AXES[axis].title, "axis"))
        for row, figure in enumerate(figure for figure in AXES[axis].figures if figure.drawn):
            parts.append(f'<g transform="translate({LEFT + column * ACROSS} {TOP + row * DOWN})">')
            parts += _panel(AXES[axis], figure, points)
            parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(axis, figure, points):
    lines = {kind: [(each["value"], figure.of(each)) for each in some if "failed" not in each] for kind, some in points.items()}
    # Apache Kafka's level, where it has one, is no place on the axis.
    marks = sorted({each["value"] for some in points.values() for each in some})
    values = [y for line in lines.values() for _, y in line]
    yield _text(0, -12, f"{figure.name}, {figure.unit}", "figure")
    if not values:
        return
    across = _scale(marks[0], marks[-1], 0, WIDTH)
    low, high = _span(values)
    up = _scale(low, high, HEIGHT, 0)
    for tick in _ticks(low, high):
        yield f'<path d="M0 {up(tick):.1f}H{WIDTH}" class="grid"/>'
        yield _text(-6, up(tick) + 4, _number(tick), "end")
    for mark in marks:
        yield f'<path d="M{across(mark):.1f} 0V{HEIGHT}" class="grid"/>'
        yield _text(across(mark), HEIGHT + 15, _short(mark), "middle")
    ends = {}
    for kind, line in lines.items():
        for each in points[kind]:
            if "failed" in each:
                yield _text(across(each["value"]), 10, "×", f"label middle {kind}")
        if not line:
            continue
        ends[kind] = up(line[-1][1])
        if axis.level and kind == "kafka":
            yield f'<path d="M0 {ends[kind]:.1f}H{WIDTH}" class="line level {kind}"/>'
            continue
        path = "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in line)
        yield f'<path d="M{path}" class="line {kind}"/>'
        for x, y in line:
            title = f"{NAMES[kind]}, {x:,} {axis.title}: {_number(y)} {figure.unit}"
            yield f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" class="dot {kind}"><title>{escape(title)}</title></circle>'
    for kind, y in _apart(ends).items():
        name = NAMES[kind].removeprefix("Apache ")
        yield _text(WIDTH + 8, y + 4, f"{name} {_number(lines[kind][-1][1])}", f"label {kind}")


def _scale(low, high, start, end):
    """Logarithmic; a single value is in the middle."""
    if low == high:
        return lambda value: (start + end) / 2
    return lambda value: start + (end - start) * math.log(value / low) / math.log(high / low)


def _span(values):
    """What the upright scale spans: all values and a little more, a factor of ten at least."""
    low, high = min(values) / 1.3, max(values) * 1.3
    short = math.sqrt(max(1, 10 / (high / low)))
    return low / short, high * short


def _ticks(low, high):
    """Powers of ten, and what is between them where there are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        found = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        if len(found) >= 3:
            break
    return found


def _apart(ends):
    """The same heights, moved where two labels would be one over the other."""
    if len(ends) < 2:
        return ends
    upper, lower = sorted(ends, key=ends.get)
    missing = max(0, APART - (ends[lower] - ends[upper])) / 2
    return {upper: ends[upper] - missing, lower: ends[lower] + missing}


def _text(x, y, text, classes=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}">{escape(text)}</text>'


def _number(value):
    """Three digits, and never an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}".rstrip("0").rstrip(".") if value > 0 else "0"


def _short(value):
    return f"{value // 1000}k" if value >= 1000 and value % 1000 == 0 else f"{value:,}"


def table(results):
    """Markdown: a table for each axis, and below it what went wrong."""
    facts = json.loads((results / "environment.json").read_text())
    versions = facts["versions"]
    lines = [
        f"Aplomb {versions['aplomb']} ({facts['commit']}), Apache Kafka {versions['kafka']}; {facts['cpu']}, {facts['processors']} processors, "
        f"{facts['memory_bytes'] / 1e9:.0f} GB, Linux {facts['kernel']}, {facts['file_system']['type']}; {facts['open_files']:,} open files a process; "
        f"{facts['began']}; one run a point. Each cell: Aplomb / Apache Kafka.",
        "",
    ]
    found = read(results)
    for axis, points in found.items():
        lines += [*_table(AXES[axis], points), ""]
    lines += _notes(found, facts["plan"]["quick"])
    return "\n".join(lines)


def _table(axis, points):
    yield f"| {axis.title} | " + " | ".join(f"{figure.name}, {figure.unit}" for figure in axis.figures) + " |"
    yield "| ---: |" + " ---: |" * len(axis.figures)
    values = sorted({each["value"] for some in points.values() for each in some})
    for value in values:
        cells = []
        for figure in axis.figures:
            each = [_cell(figure, some, points[some], value, axis.level) for some in NAMES]
            cells.append(" / ".join(each))
        yield f"| {value:,} | " + " | ".join(cells) + " |"


def _cell(figure, kind, points, value, level):
    chosen = points[:1] if level and kind == "kafka" else [each for each in points if each["value"] == value]
    if not chosen:
        return "–"
    return "×" if "failed" in chosen[0] else _number(figure.of(chosen[0]))


def _notes(found, quick):
    every = [(axis, each) for axis, points in found.items() for some in points.values() for each in some]
    for axis, each in every:
        if "failed" in each:
            yield f"× {NAMES[each['broker']]} with {each['value']:,} {AXES[axis].title}: {each['failed']}."
            yield ""
    if (busy := max(_others(each) for _, each in every)) > 0.25:
        yield f"**Something else kept up to {busy:.1f} processors busy during a load.**"
        yield ""
    if quick:
        yield "**A quick run: it shows that the bench works, not how cost grows.**"
        yield ""


def _others(point):
    """How many processors were busy with neither the broker nor the clients."""
    if "load" not in point:
        return 0.0
    meter = point["load"]["meter"]
    # The other connections' process outlives the load, which counts what has ended.
    crowd = point.get("crowd", {"cpu_seconds": 0.0, "seconds": 1.0})
    return meter["other_cpu_seconds"] / meter["seconds"] - crowd["cpu_seconds"] / crowd["seconds"]
