"""Fixtures of the crash tests. Brokers, clients and tools come from the end-to-end suite; what is added here is breakage."""

import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from e2e.conftest import (  # noqa: F401  fixtures and hooks are used by being here
    _clients,
    _idle_members,
    _something_to_test,
    _tools,
    java,
    party_on,
    topic,
)
from e2e.conftest import pytest_collection_modifyitems as skip_what_is_only_promised_by_aplomb
from harness import broker as brokers
from harness import clients
from rig import disks, silence
from rig.load import CLIENTS, FRANZ_GO, Load

SEED = int(os.environ.get("APLOMB_CRASH_SEED", random.SystemRandom().randrange(1 << 31)))


BROKERS = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A failed test quotes the end of the log of every broker it used."""
    report = (yield).get_result()
    if report.failed:
        for broker in item.stash.get(BROKERS, ()):
            ended = broker.process.poll() if broker.process else "never started"
            state = "running" if broker.alive() else f"gone, exit code {ended}"
            report.sections.append((f"{broker.kind} ({state}), {broker.log_file}", broker.log_tail()))


def pytest_report_header():
    return f"crash tests against {brokers.under_test().kind}; APLOMB_CRASH_SEED={SEED} repeats the moments of this run"


def pytest_collection_modifyitems(items):
    skip_what_is_only_promised_by_aplomb(items)
    for item in items:
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="only root can make, freeze and break file systems"))
        if item.get_closest_marker("stalls_kafka") and brokers.under_test().kind == "kafka":
            item.add_marker(pytest.mark.xfail(reason="Apache Kafka waits for its disks", raises=silence.Silent, strict=True))
        if not FRANZ_GO.exists():
            item.add_marker(pytest.mark.skip(reason="Go is not on this machine, so there is no reader"))


@pytest.fixture(scope="session", autouse=True)
def _nothing_left_over():
    """File systems of an earlier run that was itself killed are thawed and unmounted."""
    disks.sweep()


@pytest.fixture
def moments(request):
    """Random moments, the same in every run with the same APLOMB_CRASH_SEED."""
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture
def memory():
    """A directory of the test's own on a memory file system, for tails."""
    with tempfile.TemporaryDirectory(prefix="crash-tests-", dir="/dev/shm") as directory:
        yield Path(directory)


@pytest.fixture
def prepare(request, tmp_path, memory, disk):  # noqa: ARG001  disks go after the brokers on them
    """Brokers that are yet to be started: `prepare(properties=None, log_dirs=1)`, where log_dirs is a number or a list of places."""
    made = request.node.stash.setdefault(BROKERS, [])

    def make(properties=None, log_dirs=1, name="broker"):
        kind = brokers.under_test()
        settings = {"aplomb.tail.dir": str(memory), **(properties or {})}
        count = log_dirs if isinstance(log_dirs, int) else 1
        broker = kind(tmp_path / name, settings, count)
        if not isinstance(log_dirs, int):
            broker.log_dirs = [Path(place) for place in log_dirs]
            broker.properties["log.dirs"] = ",".join(map(str, broker.log_dirs))
        made.append(broker)
        return broker

    yield make
    for broker in made:
        broker.close()
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def admin_of(java):  # noqa: F811
    """The Java admin client for a broker."""
    return lambda broker: clients.Admin(java, broker)


@pytest.fixture
def load(tmp_path):
    """Starts producers, `load(client, broker, topic, partitions, rate=..., size=...)`, and ends them with the test."""
    started = []

    def start(client, broker, topic, partitions, **options):  # noqa: F811
        started.append(Load(client, broker, topic, partitions, tmp_path, **options))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def loads(load):
    """Both clients at once over the same partitions, until each is known to each of them."""

    def start(broker, name, partitions, **options):
        producers = [load(client, broker, name, partitions, **options) for client in CLIENTS]
        for producer in producers:
            producer.wait_until_known()
        return producers

    return start


@pytest.fixture
def disk(tmp_path):
    """Makes file systems of their own to freeze, fill and break: `disk("ext4", megabytes)`."""
    made = []

    def make(kind="ext4", megabytes=1024, backing=None):
        made.append(disks.Disk(kind, megabytes, backing))
        return made[-1]

    yield make
    for each in reversed(made):
        each.close()
