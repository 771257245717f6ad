"""What the page says of transactions is what their producers did and what the tools say."""

import time

from confluent_kafka import Producer
from conftest import produce
from harness.pages import one, samples

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
COORDINATOR = "kafka_server_transaction_coordinator_metrics_"


def ids(page):
    return {state: one(page, "aplomb_transactional_ids", state=state) for state in STATES}


def until(observed, wanted, patience=30):
    """The page that says so many ids are in these states, and in no others."""
    deadline = time.monotonic() + patience
    while ids(page := samples(observed.page)) != {**dict.fromkeys(STATES, 0), **wanted}:
        assert time.monotonic() < deadline, f"wanted {wanted}, and the page says {ids(page)}"
        time.sleep(0.1)
    return page


def begun(observed, name):
    producer = Producer({"bootstrap.servers": observed.bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    return producer


def test_ids_are_counted_by_the_state_of_their_transaction(observed, tools):
    produce(observed, "paid", 10, 1)
    first, second = begun(observed, "first"), begun(observed, "second")
    page = until(observed, {"Empty": 2})
    assert one(page, f"{COORDINATOR}partition_load_time_max") >= one(page, f"{COORDINATOR}partition_load_time_avg") >= 0
    for producer in (first, second):
        producer.begin_transaction()
        producer.produce("paid", b"x")
        producer.flush(30)
    page = until(observed, {"Ongoing": 2})
    listed = tools.ok("kafka-transactions", "--bootstrap-server", observed.bootstrap, "list").stdout
    assert listed.count("Ongoing") == 2
    first.commit_transaction(30)
    until(observed, {"Ongoing": 1, "CompleteCommit": 1})
    second.abort_transaction(30)
    page = until(observed, {"CompleteCommit": 1, "CompleteAbort": 1})
    assert one(page, "aplomb_transactions_bytes") > 0
    for name in ("aplomb_transactions_deciding", "aplomb_transaction_markers_unanswered"):
        assert one(page, name) == 0
    for queue in ("unknowndestinationqueuesize", "logappendretryqueuesize"):
        assert one(page, f"kafka_coordinator_transaction_transactionmarkerchannelmanager_{queue}") == 0
