"""Fixtures of the lab's tests: slow disks made by hand, which are gone when the test is, however it ended."""

import contextlib
import os

import pytest
from slow_disks import SlowDisk, aplomb


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="only root can make disks and mount them"))


def pytest_terminal_summary(terminalreporter, config):
    """Without root, tells which incidents did not run; pytest itself only counts them."""
    skipped = [report.nodeid for report in terminalreporter.stats.get("skipped", [])]
    names = [nodeid.split("[")[1].rstrip("]") for nodeid in skipped if "test_incidents" in nodeid and "[" in nodeid]
    if names:
        terminalreporter.write_line(f"left out, since only root can make slow disks: {', '.join(names)}")


@pytest.fixture
def disk(request):
    """Makes slow disks: `disk("xfs", "--cache", "write-through")`."""
    made = []

    def make(filesystem="xfs", *options):
        name = f"test-{os.getpid()}-{request.node.name[:20].strip('_')}-{len(made)}".replace("[", "-").replace("]", "")
        made.append(SlowDisk(name, filesystem, *options))
        return made[-1]

    yield make
    for each in made:
        with contextlib.suppress(AssertionError):
            aplomb("lab", "disk", "destroy", each.name)
