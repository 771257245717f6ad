"""A broker that clients have used, its page, and a Prometheus beside it: one of each for all tests."""

import os
import shutil
import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from e2e.conftest import pytest_configure, pytest_runtest_makereport, start_broker  # noqa: F401  used by being here
from harness.broker import free_ports
from harness.tools import Tools
from observed import Prometheus

TOPIC, PARTITIONS, RECORDS = "orders", 3, 300


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="only root can make and break file systems"))


def produce(broker, topic, count, partitions, value=None, **settings):
    """Produces records, each batch acknowledged; settings of the client have underscores for dots."""
    settings = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, **settings})
    failed = []
    for n in range(count):
        producer.produce(topic, value or b"v%d" % n, partition=n % partitions, on_delivery=lambda error, _: error and failed.append(error))
    assert producer.flush(30) == 0 and not failed, failed


def consume(broker, topic, count, partitions):
    """Reads records, and polls once more when there are none."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, n, 0) for n in range(partitions)])
    deadline = time.monotonic() + 30
    seen = 0
    while seen < count and time.monotonic() < deadline:
        seen += sum(message.error() is None for message in consumer.consume(count, timeout=1))
    consumer.consume(1, timeout=1.5)
    consumer.close()
    assert seen == count


def group_reads(broker, group, topic, count, properties=()):
    """A member of a group that has read and committed so many records, and stays."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, **dict(properties)})
    consumer.subscribe([topic])
    deadline = time.monotonic() + 60
    seen = 0
    while seen < count and time.monotonic() < deadline:
        message = consumer.poll(1)
        seen += message is not None and message.error() is None
    assert seen == count
    consumer.commit(asynchronous=False)
    return consumer


@pytest.fixture(scope="session")
def tools(tmp_path_factory):
    """Apache Kafka's tools."""
    running = Tools(tmp_path_factory.mktemp("tools") / "tools.err")
    yield running
    running.close()


@pytest.fixture(scope="session")
def observed(start_broker):
    """A broker with a page."""
    (port,) = free_ports(1)
    broker = start_broker(kind="aplomb", properties={"aplomb.metrics.listener": f"127.0.0.1:{port}"}, log_dirs=2)
    broker.page = f"127.0.0.1:{port}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    # Something that is refused, too.
    assert admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].exception(30) is not None
    broker.admin = admin
    produce(broker, TOPIC, RECORDS, PARTITIONS)
    consume(broker, TOPIC, RECORDS, PARTITIONS)
    group_reads(broker, "readers", TOPIC, RECORDS // 2).close()
    return broker


@pytest.fixture(scope="session")
def prometheus(observed, tmp_path_factory):
    """A Prometheus that has scraped the page a few times, while it was used."""
    if shutil.which("prometheus") is None:
        pytest.skip("no prometheus on this machine")
    server = Prometheus(tmp_path_factory.mktemp("prometheus"), observed.page)
    try:
        server.wait_for_scrapes(2)
        produce(observed, TOPIC, 30, PARTITIONS)
        server.wait_for_scrapes(6)
        yield server
    finally:
        server.close()
