"""What is done to a broker: records produced at a rate with `aplomb bench` and with librdkafka, as fast as they go with
kafka-producer-perf-test, and read back with kcat.

Always holds: a load whose records were not all acknowledged, or not all read back, is an error and never a figure. kafka-consumer-perf-test is
not used because it reads as a member of a group, which Aplomb had not got when the first figures were made; kcat reads all partitions by assignment."""

import json
import random
import re
import string
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import machine
from brokers import PERFORMANCE
from suite import broker as suite_broker
from suite import places

RECORD_BYTES = 1024
PARTITIONS = 8
# Short, so that a latency is the broker's more than the client's.
LINGER = "1ms"
# Work that a broker has put off (Aplomb syncs every second) is charged to the load that caused it.
SETTLE = 2.0
TIMEOUT = 900
# The Python that has librdkafka, and what it runs.
PYTHON = places.WORK / "venv" / "bin" / "python"
LIBRDKAFKA = Path(__file__).with_name("librdkafka.py")

_SUMMARY = re.compile(
    r"^(?P<records>\d+) (?P<steady>steady state )?records sent, (?P<rate>[\d.]+) records/sec \([\d.]+ MB/sec\), (?P<mean>[\d.]+) ms avg latency, "
    r"(?P<max>[\d.]+) ms max latency, (?P<p50>\d+) ms 50th, (?P<p95>\d+) ms 95th, (?P<p99>\d+) ms 99th, (?P<p999>\d+) ms 99\.9th\.$",
    re.MULTILINE,
)
_END = re.compile(r"^% Reached end of topic \S+ \[\d+\] at offset (\d+)")


class LoadFailed(Exception):
    """A client failed, or not everything arrived."""


@dataclass(frozen=True)
class Latencies:
    """What the tool reports for the records after the warm-up, in milliseconds; it counts whole ones."""

    records: int
    records_per_second: float
    mean: float
    max: float
    p50: float
    p95: float
    p99: float
    p999: float


def write_payloads(path):
    """Values to choose from. The tool would otherwise make up every byte of every record, which costs it more than sending them."""
    source = random.Random(0)
    path.write_text("\n".join("".join(source.choices(string.ascii_letters, k=RECORD_BYTES)) for _ in range(500)))


def produce(broker, topic, payloads, warmup, records, *properties):
    """`warmup` records, which count for nothing, then `records`, as many as go. acks=all, and the producer's own defaults, idempotence
    among them, but for `properties`."""
    total = warmup + records
    # The options of kafka-producer-perf-test.sh.
    jvm = ["java", "-Xmx512M", *PERFORMANCE, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", places.class_path("tools")]
    tool = [*jvm, "org.apache.kafka.tools.ProducerPerformance", "--bootstrap-server", broker.bootstrap, "--topic", topic]
    tool += ["--payload-file", payloads, "--num-records", total, "--warmup-records", warmup, "--throughput", -1]
    with machine.Meter(broker.pid, SETTLE) as meter:
        said = _run([*map(str, tool), "--command-property", "acks=all", *properties])
    found = {bool(match["steady"]): match for match in _SUMMARY.finditer(said)}
    if set(found) != {False, True} or int(found[False]["records"]) != total:
        raise LoadFailed(f"kafka-producer-perf-test did not get all of {total} records acknowledged:\n{said}")
    figures = {name: float(text) for name, text in found[True].groupdict().items() if name not in ("steady", "records", "rate")}
    steady = Latencies(int(found[True]["records"]), float(found[True]["rate"]), **figures)
    return {
        "latency_ms": asdict(steady),
        "megabytes_per_second": steady.records_per_second * RECORD_BYTES / 1e6,
        **_cost(meter, total),
        # It names its file, which lies where this machine has it.
        "said": said.replace(str(payloads), payloads.name).splitlines(),
    }


def produce_at(broker, topic, rate, seconds, warmup, *options, partitions=PARTITIONS, linger=LINGER, settle=SETTLE):
    """`rate` records a second for `warmup` seconds, which count for nothing, then for `seconds`; each record's latency counts from when it
    was due. acks=all, idempotent."""
    tool = [suite_broker.binary(), "bench", "produce", "-b", broker.bootstrap, "-t", topic, "--partitions", partitions, "-r", rate]
    tool += ["-d", f"{seconds}s", "--warm-up", f"{warmup}s", "--record-size", RECORD_BYTES, "--linger", linger, "--json", "-", "--quiet", *options]
    with machine.Meter(broker.pid, settle) as meter:
        done = subprocess.run([*map(str, tool)], capture_output=True, text=True, timeout=TIMEOUT)
    if not done.stdout.startswith("{"):
        raise LoadFailed(f"aplomb bench left with {done.returncode}:\n{done.stdout}{done.stderr}")
    said = json.loads(done.stdout)
    records, ended = rate * seconds, said["totals"]
    if done.returncode or ended["acknowledged"] != records or ended["failed"] or ended["unanswered"]:
        raise LoadFailed(f"aplomb bench got {ended['acknowledged']} of {records} records acknowledged:\n{ended} {said['errors']} {done.stderr}")
    latency = {name: value / 1000 for name, value in said["latency_us"]["produce"].items() if name != "count"}
    # A row a second and every bucket: more than is wanted in a commit.
    for bulky in ("rows", "histogram_us"):
        del said[bulky]
    spent = meter.spent["broker_cpu_seconds"] / (seconds + warmup)
    return {"latency_ms": latency, "broker_cpu_per_second": spent, **_cost(meter, rate * (seconds + warmup)), "said": said}


def produce_by_librdkafka(broker, topic, rate, seconds, warmup, producers=3, settle=SETTLE):
    """The same by so many librdkafka producers, which choose a partition for each record: as many small requests as such clients make."""
    tool = [places.prepared(PYTHON), LIBRDKAFKA, "--bootstrap", broker.bootstrap, "--topic", topic, "--partitions", PARTITIONS]
    tool += ["--producers", producers, "--rate", rate, "--seconds", seconds, "--warm-up", warmup, "--size", RECORD_BYTES, "--linger", 1]
    with machine.Meter(broker.pid, settle) as meter:
        done = subprocess.run([*map(str, tool)], capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        raise LoadFailed(f"librdkafka.py left with {done.returncode}:\n{done.stdout}{done.stderr}")
    said = json.loads(done.stdout)
    if said["failed"] or said["unanswered"] or abs(said["records"] - rate * (seconds + warmup)) > producers:
        raise LoadFailed(f"librdkafka.py did not get all of {rate * (seconds + warmup)} records acknowledged: {said}")
    spent = meter.spent["broker_cpu_seconds"] / (seconds + warmup)
    return {"latency_ms": said["latency_ms"], "broker_cpu_per_second": spent, **_cost(meter, said["records"]), "said": said}


def librdkafka_version():
    program = "import confluent_kafka; print(confluent_kafka.libversion()[0])"
    return subprocess.run([places.prepared(PYTHON), "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def fill(broker, partitions):
    """A few records in each of so many partitions, of two topics: one request may not make as many."""
    for topic in ("many-0", "many-1"):
        produce_at(broker, topic, partitions // 4, 8, 2, "--keys", "round-robin", partitions=partitions // 2)


def consume(broker, topic, records, *options):
    """Reads all partitions from the start to the end; `options` are kcat's."""
    tool = ["kcat", "-C", "-b", broker.bootstrap, "-t", topic, "-o", "beginning", "-e", "-f", "", "-X", "fetch.wait.max.ms=100", *options]
    said, ends = [], []
    with machine.Meter(broker.pid) as meter:
        began = time.monotonic()
        process = subprocess.Popen(tool, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                said.append(line.rstrip())
                if match := _END.match(line):
                    ends.append(int(match[1]))
                    seconds = time.monotonic() - began
            process.wait(TIMEOUT)
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0 or len(ends) != PARTITIONS or sum(ends) != records:
        raise LoadFailed(f"kcat left with {process.returncode} and did not read all of {records} records:\n" + "\n".join(said))
    return {"megabytes_per_second": records * RECORD_BYTES / 1e6 / seconds, "seconds_to_the_end": seconds, **_cost(meter, records), "said": said}


def _cost(meter, records):
    gigabytes = records * RECORD_BYTES / 1e9
    return {"broker_cpu_seconds_per_gigabyte": meter.spent["broker_cpu_seconds"] / gigabytes, "gigabytes": gigabytes, "meter": meter.spent}


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        raise LoadFailed(f"kafka-producer-perf-test left with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
