"""Tests that take long and seldom fail run by turns where every change is tested.

With APLOMB_TURN, a whole number, a test marked `turns(n)` runs in one turn of n; of one with several parameters every n-th runs in each turn, and another
n-th in the next. Without it all run: so does `make test`, and so does every suite that is called by itself."""

import os
import zlib


def pytest_configure(config):
    config.addinivalue_line("markers", "turns(n): takes long; where APLOMB_TURN is set it runs in one turn of n")


def pytest_report_header():
    turn = _turn()
    return "all tests, whatever their turn" if turn is None else f"turn {turn}: tests that take long run by turns"


def pytest_collection_modifyitems(config, items):
    turn = _turn()
    if turn is None:
        return
    counts, now, later = {}, [], []
    for item in items:
        marker = item.get_closest_marker("turns")
        if marker is None:
            now.append(item)
            continue
        (length,) = marker.args
        # Parameters of one test are counted, and not hashed each: so none of them has no turn, and no turn has all.
        name = f"{item.location[0]}::{item.originalname}"
        number = counts[name] = counts.get(name, zlib.crc32(name.encode())) + 1
        (now if (number + turn) % length == 0 else later).append(item)
    items[:] = now
    if later:
        config.hook.pytest_deselected(items=later)


def _turn():
    text = os.environ.get("APLOMB_TURN", "")
    return int(text) if text else None
