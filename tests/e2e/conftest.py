"""Fixtures of the end-to-end suite. The broker under test is Aplomb, or with APLOMB_E2E_BROKER=kafka Apache Kafka, against which
the tests themselves are proved. Each module has a broker of its own; clients and tools run for the whole session."""

import os
import re

import pytest
from harness import broker as brokers
from harness import clients, groups, places, tools


def pytest_configure():
    """Keeps brokers' directories away from /tmp, where pytest runs of others clean up after three more."""
    root = places.WORK / "runs"
    root.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(root))


def pytest_collection_modifyitems(items):
    if brokers.under_test().kind == "kafka":
        for item in items:
            if item.get_closest_marker("aplomb"):
                item.add_marker(pytest.mark.skip(reason="a promise of Aplomb's own; this run is against Apache Kafka"))


# Every broker that `start_broker` made in this session.
_STARTED = []


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A failed test quotes the end of the log of every broker that it used or that is in use."""
    report = (yield).get_result()
    if report.failed:
        used = [value for value in getattr(item, "funcargs", {}).values() if isinstance(value, brokers.Broker)]
        for broker in {*used, *(broker for broker in _STARTED if not broker.closed)}:
            state = "running" if broker.alive() else f"gone, exit code {broker.process.poll() if broker.process else None}"
            report.sections.append((f"{broker.kind} ({state}), {broker.log_file}", broker.log_tail()))


def pytest_terminal_summary(terminalreporter):
    """Tells which releases ran of what is not pinned."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])]
    ran = sorted({value for report in reports for name, value in report.user_properties if name == "release"})
    if ran:
        terminalreporter.write_line(f"releases: {'; '.join(ran)}")


@pytest.fixture(scope="session")
def start_broker(tmp_path_factory):
    """Starts brokers, `start_broker(kind=None, properties=None, log_dirs=1)`, and ends them with the session; with
    `after=BROKER` on the directories of one that has stopped."""

    def start(kind=None, properties=None, log_dirs=1, after=None, **options):
        make = brokers.under_test() if kind is None else brokers.KINDS[kind]
        broker = make(tmp_path_factory.mktemp(make.kind), properties, log_dirs, **options)
        _STARTED.append(broker)
        return broker.start() if after is None else broker.take_over(after)

    yield start
    for broker in _STARTED:
        broker.close()


@pytest.fixture(scope="module")
def broker(request, start_broker):
    """The module's broker, with the module's PROPERTIES on top of the usual ones."""
    started = start_broker(properties=getattr(request.module, "PROPERTIES", None))
    yield started
    died = not started.alive()
    started.close()
    assert not died, f"the broker did not survive this module:\n{started.log_tail()}"


@pytest.fixture(scope="module")
def both(request, broker, start_broker):
    """(the broker under test, Apache Kafka with the same properties)."""
    properties = getattr(request.module, "PROPERTIES", None)
    kafka = start_broker(kind="kafka", properties=properties)
    yield broker, kafka
    kafka.close()


class _Clients:
    """`clients["java"]` is the running client of that name; `clients.open("java")` one more, for use beside it."""

    def __init__(self, directory):
        self._directory = directory
        self._running = {}
        self._opened = []

    def __getitem__(self, name):
        running = self._running.get(name)
        if running is None or not running.alive():
            running = self._running[name] = self.open(name)
        return running

    def open(self, name):
        client = clients.MEMBERS[name]
        if not client.available():
            pytest.skip(f"{client.needs} is not on this machine, so there is no {name} client")
        session = clients.Session(client, self._directory / f"{name}.err")
        self._opened.append(session)
        return session

    def close(self):
        for session in self._opened:
            session.close()


@pytest.fixture(scope="session", name="clients")
def _clients(tmp_path_factory):
    running = _Clients(tmp_path_factory.mktemp("clients"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def java(clients):
    return clients["java"]


@pytest.fixture
def admin(java, broker):
    return clients.Admin(java, broker)


@pytest.fixture(scope="session")
def _idle_members():
    """Sessions whose membership ended, by client: a JVM is used for more than one."""
    return {}


@pytest.fixture
def party_on(clients, _idle_members, tmp_path):
    """`party_on(broker)`: what `party` is, on that broker."""
    parties = []

    def on(broker):
        parties.append(groups.Party(broker, clients.open, _idle_members, tmp_path / str(len(parties))))
        return parties[-1]

    yield on
    for each in parties:
        each.close()


@pytest.fixture
def party(broker, party_on):
    """`party("java", group, topics, **options)`: a member, which leaves with the test at the latest."""
    return party_on(broker)


@pytest.fixture
def fill(broker, clients):
    """`fill(topic, partitions)`: ten records more in each partition, or `count`."""

    def write(topic, partitions, count=10):
        for partition in range(partitions):
            clients["python"].produce(broker, topic, partition=partition, count=count, size=40)

    return write


@pytest.fixture(scope="session", name="tools")
def _tools(tmp_path_factory):
    runner = tools.Tools(tmp_path_factory.mktemp("tools") / "tools.err")
    yield runner
    runner.close()


@pytest.fixture
def topic(request):
    """A topic name of the test's own."""
    return re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name).strip("-")[:200]


@pytest.fixture(scope="session", autouse=True)
def _something_to_test():
    """Ends the session at once when the broker or what tests/setup.sh prepares is missing."""
    if brokers.under_test().kind == "aplomb" and not os.path.exists(brokers.binary()):
        pytest.exit(f"{brokers.binary()} does not exist: build it with `cargo build --release`, or set APLOMB_E2E_BROKER=kafka", 2)
    places.prepared(places.WORK)
