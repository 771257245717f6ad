"""Fixtures of the adoption tests. Brokers, clients and tools come from the end-to-end suite."""

from e2e.conftest import (  # noqa: F401  fixtures and hooks are used by being here
    _tools,
    pytest_configure,
    pytest_runtest_makereport,
    start_broker,
)
from harness import broker as brokers


class Kafka40(brokers.Kafka):
    """The oldest release whose directories are taken over."""

    release = "oracle-4.0"


brokers.KINDS["kafka-4.0"] = Kafka40

