"""A thousand partitions: made, written to, killed, told to stop while they are loaded, started, stopped, started; every record is
there each time. Times and memory are printed and not judged."""

import os
from pathlib import Path

import pytest
from rig.kills import stop_while_it_starts, timed_start
from rig.load import existing_topics, read

PARTITIONS = int(os.environ.get("APLOMB_CRASH_PARTITIONS", "1000"))
TOPICS = 10


def memory_of(broker):
    """Resident memory by kind, in MiB; the tail is the shared part."""
    lines = Path(f"/proc/{broker.pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) // 1024 for name in ("VmRSS", "RssAnon", "RssFile", "RssShmem")}


@pytest.mark.timeout(300 + PARTITIONS)
def test_a_kill_a_start_a_stop_and_a_start(prepare, admin_of, load, capsys):
    broker = prepare().start()
    admin = admin_of(broker)
    each = PARTITIONS // TOPICS
    names = [f"many-{number}" for number in range(TOPICS)]
    figures = [("empty", 0.0, memory_of(broker))]
    sent = {}
    for name in names:
        admin.create(name, partitions=each, retention_ms=-1)

    def write():
        producers = {name: load("franz-go", broker, name, range(each), rate=2000, size=100, name=f"run{len(figures)}") for name in names}
        for name, producer in producers.items():
            producer.wait_until_known(120)
            counts = producer.stop()
            sent.setdefault(name, []).append((producer, counts))

    def check(when):
        topics = existing_topics(broker)
        assert {name: partitions for name, (_, partitions) in topics.items()} == dict.fromkeys(names, each), when
        for name in names:
            reading = read(broker, name, range(each))
            expected = {partition: [] for partition in range(each)}
            for producer, counts in sent[name]:
                for partition, count in counts.items():
                    expected[partition] += [(producer.name, seq) for seq in range(count)]
            found = {partition: [entry[1:] for entry in records] for partition, records in reading.records.items()}
            assert found == expected, f"{when}: {name}"
            for producer, _ in sent[name]:
                for ack in producer.acks:
                    assert found[ack.partition][ack.offset] == (producer.name, ack.seq), when

    write()
    figures.append(("written to", 0.0, memory_of(broker)))
    broker.kill()
    if broker.kind == "aplomb":
        code, said = stop_while_it_starts(broker)
        assert (code, "told to stop before all partitions were loaded" in said) == (0, True), said
    figures.append(("after a kill", timed_start(broker), memory_of(broker)))
    check("after a kill")
    write()
    broker.stop()
    figures.append(("after a clean stop", timed_start(broker), memory_of(broker)))
    check("after a clean stop")
    with capsys.disabled():
        print(f"\n{PARTITIONS} partitions of {broker.kind}")
        for state, seconds, memory in figures:
            started = f"{seconds:6.2f} s to start" if seconds else " " * 17
            print(f"  {state:20} {started}   " + "  ".join(f"{name} {size} MiB" for name, size in memory.items()))
