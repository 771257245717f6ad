"""Fixtures of the tests of `aplomb bench`, `aplomb log` and the distribution. Brokers and Apache Kafka's tools come from the end-to-end suite;
each test runs against both kinds of broker, in one session."""

import json
import subprocess

import pytest
from e2e.conftest import _something_to_test, _tools, pytest_configure, start_broker  # noqa: F401  used by being here
from harness import broker as brokers

# Segments roll, and indexes have many entries.
PROPERTIES = {"log.segment.bytes": str(1 << 20), "log.index.interval.bytes": "4096"}


class Ran:
    """How the program ended and what it said."""

    def __init__(self, done):
        self.exit, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr

    def lines(self):
        return self.stdout.splitlines()


def aplomb(*arguments, timeout=90):
    """Runs `aplomb`, whatever its exit code."""
    command = [brokers.binary(), *map(str, arguments)]
    return Ran(subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False))


def bench(broker, *arguments, expect=0):
    """Runs `aplomb bench` on a broker and returns its JSON."""
    workload, *rest = map(str, arguments)
    # Of an option that comes twice, the later one counts.
    options = {}
    while rest:
        name = rest.pop(0)
        options[name] = [rest.pop(0)] if rest and not rest[0].startswith("--") else []
    given = [word for name, value in options.items() for word in (name, *value)]
    ran = aplomb("bench", workload, "-b", broker.bootstrap, "--json", "-", *given)
    assert ran.exit == expect, ran.stderr + ran.stdout
    return json.loads(ran.stdout)


@pytest.fixture(scope="module", params=["aplomb", "kafka"])
def broker(request, start_broker):  # noqa: F811
    """A broker of each kind."""
    started = start_broker(kind=request.param, properties=PROPERTIES)
    yield started
    started.close()
