"""Tests that take long run by turns where every change is tested.

With APLOMB_TURN, a whole number, each test that turns.tsv says takes long runs in one turn of LENGTH; of one with several parameters some run in each
turn, and others in the next. Without it all run: so they do by `make test`, and by a suite that is called by itself.

turns.tsv is written by running a suite with APLOMB_TURNS=write: a line for each function whose tests take MUCH seconds or more, by the median of their times."""

import os
import statistics
import zlib
from pathlib import Path

FILE = Path(__file__).with_name("turns.tsv")
LENGTH = 3
# In seconds, what fixtures of a test take among them.
MUCH = 4

_times = {}


def pytest_report_header():
    turn = _turn()
    return "all tests, whatever their turn" if turn is None else f"turn {turn}: tests that take long run in one turn of {LENGTH}"


def pytest_collection_modifyitems(config, items):
    turn = _turn()
    if turn is None:
        return
    known, counts, now, later = _read(), {}, [], []
    for item in items:
        name = _function(item.nodeid, Path(config.rootpath).name)
        if name not in known:
            now.append(item)
            continue
        # Parameters are counted, and not hashed each: so none of them has no turn, and no turn has all of a test with many.
        number = counts[name] = counts.get(name, zlib.crc32(name.encode())) + 1
        (now if (number + turn) % LENGTH == 0 else later).append(item)
    items[:] = now
    if later:
        config.hook.pytest_deselected(items=later)


def pytest_runtest_logreport(report):
    _times[report.nodeid] = _times.get(report.nodeid, 0) + report.duration


def pytest_sessionfinish(session):
    if os.environ.get("APLOMB_TURNS") != "write" or hasattr(session.config, "workerinput"):
        return
    suite, times = Path(session.config.rootpath).name, {}
    for node, seconds in _times.items():
        times.setdefault(_function(node, suite), []).append(seconds)
    known = {name: seconds for name, seconds in _read().items() if name not in times}
    known |= {name: round(statistics.median(all_of)) for name, all_of in times.items() if statistics.median(all_of) >= MUCH}
    FILE.write_text("".join(f"{name}\t{seconds}\n" for name, seconds in sorted(known.items())))


def _function(node, suite):
    """`suite/file.py::function` of a test."""
    return f"{suite}/{node.split('[')[0]}"


def _read():
    if not FILE.exists():
        return {}
    rows = (line.split("\t") for line in FILE.read_text().splitlines())
    return {name: int(seconds) for name, seconds in rows}


def _turn():
    text = os.environ.get("APLOMB_TURN", "")
    return int(text) if text else None
