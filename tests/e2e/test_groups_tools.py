"""The tools that read as members of groups, and kafka-dump-log on what groups leave in the files."""

import json

import pytest
from harness import dump, groups
from harness.groups import committed, span

PROPERTIES = groups.QUICK
PROTOCOLS = ("classic", "consumer")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_console_consumer_reads_on(broker, admin, fill, tools, topic, protocol):
    admin.create(topic, partitions=2)
    fill(topic, 2)
    read = ("kafka-console-consumer", "--bootstrap-server", broker.bootstrap, "--topic", topic, "--group", topic, "--from-beginning")
    read += ("--command-property", f"group.protocol={protocol}", "--formatter-property", "print.value=false")
    read += ("--formatter-property", "print.offset=true", "--formatter-property", "print.partition=true", "--max-messages")
    lines = tools.ok(*read, 20).lines()
    assert sorted(lines) == sorted(f"Partition:{partition}\tOffset:{offset}" for _, partition, offset in span(topic, 2, 0, 10))
    assert committed(admin, topic) == {f"{topic}-0": 10, f"{topic}-1": 10}
    fill(topic, 2, 3)
    lines = tools.ok(*read, 6).lines()
    assert sorted(lines) == sorted(f"Partition:{partition}\tOffset:{offset}" for _, partition, offset in span(topic, 2, 10, 13))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_verifiable_consumer_counts_what_it_commits(broker, admin, fill, tools, topic, protocol):
    admin.create(topic, partitions=2)
    fill(topic, 2)
    asked = ("--group-id", topic, "--max-messages", 20, "--reset-policy", "earliest", "--group-protocol", protocol)
    ran = tools.ok("kafka-verifiable-consumer", "--bootstrap-server", broker.bootstrap, "--topic", topic, *asked)
    said = [json.loads(line) for line in ran.lines()]
    assert [line["name"] for line in said[:2]] == ["startup_complete", "partitions_assigned"]
    assert sum(line["count"] for line in said if line["name"] == "records_consumed") == 20
    assert all(line["success"] for line in said if line["name"] == "offsets_committed")
    assert committed(admin, topic) == {f"{topic}-0": 10, f"{topic}-1": 10}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_performance_tool_reads_everything_as_a_group(broker, admin, fill, tools, topic, tmp_path, protocol):
    admin.create(topic, partitions=2)
    fill(topic, 2, 500)
    config = tmp_path / "consumer.properties"
    config.write_text(f"group.protocol={protocol}\n")
    at = ("--bootstrap-server", broker.bootstrap, "--topic", topic, "--group", topic, "--command-config", config)
    ran = tools.ok("kafka-consumer-perf-test", *at, "--num-records", 1000, "--timeout", 30_000)
    names, values = (line.split(", ") for line in ran.lines()[-2:])
    assert int(dict(zip(names, values, strict=True))["data.consumed.in.nMsg"]) == 1000


def test_kafka_dump_log_decodes_the_records_of_groups(broker, admin, party, fill, tools, topic):
    admin.create(topic)
    fill(topic, 1)
    for kind in ("python", "python-consumer"):
        member = party(kind, kind, topic)
        party.until(lambda member=member: member.committed == {(topic, 0): 10}, "all is committed")
        party.leave(member)
    broker.stop()
    directory = broker.log_dirs[0] / "__consumer_offsets-0"
    logs = ",".join(sorted(map(str, directory.glob("*.log"))))
    dumped = tools.ok("kafka-dump-log", "--deep-iteration", "--offsets-decoder", "--files", logs)
    assert not dump.FAULTS.search(dumped.output)
    text = dumped.stdout
    # Of each protocol: the group, what was committed; and of the consumer protocol members, targets and assignments beside it.
    for kind, group, field in ((1, "python", "group"), (1, "python-consumer", "group"), (2, "python", "group")):
        assert f'"type":"{kind}","data":{{"{field}":"{group}"' in text
    for kind in (3, 5, 6, 7, 8):
        assert f'"type":"{kind}","data":{{"groupId":"python-consumer"' in text
    broker.start()
