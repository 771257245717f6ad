"""What clients did is what the counters say."""

import re
import time

from confluent_kafka.admin import NewTopic
from conftest import PARTITIONS, RECORDS, TOPIC, produce
from harness.pages import get, one, samples

STAGES = ("requestqueuetimems", "localtimems", "remotetimems", "responsequeuetimems", "responsesendtimems", "totaltimems")


def test_records_are_counted_by_topic_and_in_all_in_both_spellings(observed):
    page = samples(observed.page)
    of_topic = {name: value for (name, labels), value in page.items() if dict(labels) == {"topic": TOPIC}}
    messages = of_topic["kafka_server_brokertopicmetrics_messagesin_total"]
    ends = sum(one(page, "kafka_log_log_logendoffset", topic=TOPIC, partition=str(n)) for n in range(PARTITIONS))
    assert messages == ends >= RECORDS
    # What was produced was read back whole, and perhaps some of it again.
    assert of_topic["kafka_server_brokertopicmetrics_bytesout_total"] > 0
    sizes = sum(one(page, "kafka_log_log_size", topic=TOPIC, partition=str(n)) for n in range(PARTITIONS))
    assert of_topic["kafka_server_brokertopicmetrics_bytesin_total"] == sizes
    twins = [name for name, _ in page if re.fullmatch(r"kafka_server_(brokertopicmetrics|replicamanager)_\w+_total", name)]
    assert len(twins) > 15
    for (name, labels), value in page.items():
        if name in twins:
            assert page[name.removesuffix("_total") + "persec", labels] == value, name


def test_totals_do_not_fall_when_a_topic_goes(observed):
    observed.admin.create_topics([NewTopic("passing", 2, 1)])["passing"].result(30)
    produce(observed, "passing", 50, 2)
    before = samples(observed.page)
    assert one(before, "kafka_server_brokertopicmetrics_messagesin_total", topic="passing") == 50
    observed.admin.delete_topics(["passing"])["passing"].result(30)
    after = samples(observed.page)
    assert not any(("topic", "passing") in labels for _, labels in after)
    total = "kafka_server_brokertopicmetrics_messagesin_total"
    assert one(after, total) >= one(before, total) >= RECORDS + 50
    assert one(after, "kafka_controller_kafkacontroller_globaltopiccount") == one(before, "kafka_controller_kafkacontroller_globaltopiccount") - 1


def test_a_long_poll_is_remote_time_and_not_local_time(observed):
    page = samples(observed.page)
    slowest = {stage: one(page, f"kafka_network_requestmetrics_{stage}", request="FetchConsumer", quantile="0.999") for stage in STAGES}
    # The consumer of the fixture has waited for records that did not come: half a second (`fetch.wait.max.ms`), within a bucket.
    assert slowest["remotetimems"] > 400 and slowest["totaltimems"] > 400, slowest
    assert slowest["localtimems"] < slowest["remotetimems"]
    assert one(page, "kafka_network_requestmetrics_totaltimems_count", request="FetchConsumer") > 0
    for request in ("Produce", "Metadata", "ApiVersions", "CreateTopics"):
        counts = {one(page, f"kafka_network_requestmetrics_{stage}_count", request=request) for stage in STAGES}
        assert len(counts) == 1 and counts.pop() > 0, request
        sums = {stage: one(page, f"kafka_network_requestmetrics_{stage}_sum", request=request) for stage in STAGES}
        assert 0 < sums.pop("totaltimems") <= sum(sums.values()) * 1.01 + 1, request
        versions = {labels: value for (name, labels), value in page.items() if name == "kafka_network_requestmetrics_requests_total"}
        assert sum(value for labels, value in versions.items() if dict(labels)["request"] == request) > 0


def test_who_is_throttled_is_so_in_no_stage_but_one(observed, tools):
    client = ("--bootstrap-server", observed.bootstrap, "--alter", "--entity-type", "clients", "--entity-name", "hurried")
    tools.ok("kafka-configs", *client, "--add-config", "producer_byte_rate=500")
    stage = "kafka_network_requestmetrics_throttletimems"
    before = samples(observed.page)
    assert one(before, stage, request="Produce", quantile="0.999") == one(before, f"{stage}_sum", request="Produce") == 0
    produce(observed, TOPIC, 600, 1, client_id="hurried", linger_ms=50)
    produce(observed, TOPIC, 600, 1, client_id="hurried", linger_ms=50)
    page = samples(observed.page)
    assert one(page, f"{stage}_sum", request="Produce") > 100
    assert one(page, f"{stage}_count", request="Produce") == one(page, "kafka_network_requestmetrics_totaltimems_count", request="Produce")
    assert one(page, "kafka_network_requestmetrics_totaltimems", request="Produce", quantile="0.999") < one(page, stage, request="Produce", quantile="0.999")
    tools.ok("kafka-configs", *client, "--delete-config", "producer_byte_rate")


def test_error_codes_of_responses_are_counted_by_name(observed):
    def errors(request):
        """{error: count}, the same in both spellings."""
        both = [{}, {}]
        for (name, labels), value in page.items():
            labels = dict(labels)
            if name.startswith("kafka_network_requestmetrics_errors") and labels["request"] == request:
                both[name.endswith("persec")][labels["error"]] = value
        assert both[0] == both[1]
        return both[0]

    page = samples(observed.page)
    before = errors("CreateTopics")
    assert errors("Produce")["NONE"] > 0 and errors("Fetch")["NONE"] > 0 and errors("FetchConsumer") == {}
    exception = observed.admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].exception(30)
    assert exception.args[0].name() == "TOPIC_ALREADY_EXISTS"
    page = samples(observed.page)
    assert errors("CreateTopics") == {**before, "TOPIC_ALREADY_EXISTS": before.get("TOPIC_ALREADY_EXISTS", 0) + 1}


def test_connections_and_their_software_come_and_go(observed):
    def connections(page):
        return sum(value for (name, _), value in page.items() if name == "kafka_server_socket_server_metrics_connection_count")

    page = samples(observed.page)
    software = {dict(labels)["clientSoftwareName"] for name, labels in page if name == "kafka_server_socket_server_metrics_connections_software"}
    assert "confluent-kafka-python" in software
    before = connections(page)
    produce(observed, TOPIC, 3, PARTITIONS)
    deadline = time.monotonic() + 20
    while connections(samples(observed.page)) > before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert connections(samples(observed.page)) <= before


def test_a_broker_at_work_is_alive_and_ready(observed):
    assert get(observed.page, "/healthz") == (200, "alive\n")
    assert get(observed.page, "/readyz") == (200, "ready\n")
    assert get(observed.page, "/other")[0] == 404
