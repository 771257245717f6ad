#!/usr/bin/env python3
"""TLS 1.3 of Aplomb beside Apache Kafka: what it costs to produce and consume by it, what a handshake costs, and whether clients without TLS
notice a storm of handshakes, or thousands of connections that never finish one.

The brokers take turns, as in run.py, each with a listener without TLS and one with it, a key on P-256; the raw figures of each run go to
results/secure/, one JSON file a run, and a Markdown table is made of them. Start reading at `one_run`."""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import brokers
import load
import machine
import run
from suite import broker as suite_broker
from suite import certificates

RESULTS = run.RESULTS / "secure"
HANDSHAKES = Path(__file__).with_name("handshakes.py")
STRANGERS = Path(__file__).with_name("strangers.py")


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    quick: bool
    runs: int
    # Produced and read back by TLS before anything is measured.
    broker_warmup_records: int
    # As fast as they go, after a warm-up; read back together.
    records: int
    warmup_records: int
    # Handshakes as fast as they go: for how long, after so long of them that count for nothing.
    handshake_seconds: int
    handshake_warmup_seconds: int
    # Records a second without TLS, calm, beside so many handshakes a second, and beside so many connections that never finish one, for so long.
    rate: int
    storm: int
    strangers: int
    seconds: int
    warmup_seconds: int
    # How long to wait for a quiet machine before each run, in seconds.
    patience: int


FULL = Plan(
    quick=False, runs=3, broker_warmup_records=400_000, records=1_000_000, warmup_records=100_000, handshake_seconds=15,
    handshake_warmup_seconds=10, rate=5_000, storm=1_000, strangers=10_000, seconds=25, warmup_seconds=5, patience=240,
)  # fmt: skip
QUICK = Plan(
    quick=True, runs=1, broker_warmup_records=60_000, records=120_000, warmup_records=30_000, handshake_seconds=4,
    handshake_warmup_seconds=2, rate=5_000, storm=300, strangers=1_000, seconds=8, warmup_seconds=2, patience=0,
)  # fmt: skip


@dataclass(frozen=True)
class Door:
    """One listener of a broker, to those who only want its address and whose processor time it is."""

    bootstrap: str
    pid: int


def one_run(kind, plan, home, payloads):
    """Everything that is measured of one broker, from its start to its end."""
    os.sync()
    quiet = machine.wait_until_quiet(plan.patience)
    if quiet > machine.QUIET:
        run.say(f"{quiet:.1f} processors are busy already: these figures will mean nothing")
    found = {"broker": kind.kind, "began": run.now(), "busy_before": quiet}
    home.mkdir(parents=True)
    authority = certificates.Authority(home)
    authority.issue("broker", "/CN=localhost")
    with started(kind, home / "broker", authority) as (broker, secure):
        run.create_topics(broker, ["warm-up", "plain", "tls", "calm", "storm", "strangers"])
        java = ("security.protocol=SSL", "ssl.truststore.type=PEM", f"ssl.truststore.location={authority.certificate}")
        kcat = ("-X", "security.protocol=ssl", "-X", f"ssl.ca.location={authority.certificate}")
        load.produce(secure, "warm-up", payloads, 1, plan.broker_warmup_records - 1, *java)
        load.consume(secure, "warm-up", plan.broker_warmup_records, *kcat)
        total = plan.warmup_records + plan.records
        for topic, door, properties, options in (("plain", broker, (), ()), ("tls", secure, java, kcat)):
            found[topic] = {
                "produce": load.produce(door, topic, payloads, plan.warmup_records, plan.records, *properties),
                "consume": load.consume(door, topic, total, *options),
            }
        shake(secure, authority, plan.handshake_warmup_seconds).wait()
        with machine.Meter(broker.pid) as meter:
            said = json.loads(shake(secure, authority, plan.handshake_seconds).communicate()[0])
        found["handshakes"] = {**said, "per_cpu_second": said["handshakes"] / meter.spent["broker_cpu_seconds"], "meter": meter.spent}
        found["calm"] = load.produce_at(broker, "calm", plan.rate, plan.seconds, plan.warmup_seconds)
        storm = shake(secure, authority, plan.seconds + plan.warmup_seconds, "--rate", plan.storm)
        found["storm"] = load.produce_at(broker, "storm", plan.rate, plan.seconds, plan.warmup_seconds)
        found["storm"]["handshakes"] = json.loads(storm.communicate()[0])
        with estranged(secure, plan.strangers) as said:
            found["strangers"] = load.produce_at(broker, "strangers", plan.rate, plan.seconds, plan.warmup_seconds)
        found["strangers"]["connections"] = said
    shutil.rmtree(home)
    return found


@contextlib.contextmanager
def started(kind, directory, authority):
    """(broker, its listener with TLS), on an empty directory."""
    broker = kind(directory)
    (port,) = suite_broker.free_ports(1)
    broker.properties["listeners"] += f",SECURE://127.0.0.1:{port}"
    broker.properties["listener.security.protocol.map"] = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SSL"
    broker.properties["listener.name.secure.ssl.keystore.type"] = "PEM"
    broker.properties["listener.name.secure.ssl.keystore.location"] = authority.directory / "broker.both.pem"
    try:
        broker.start()
        yield broker, Door(f"127.0.0.1:{port}", broker.pid)
        broker.stop()
    except Exception as failure:
        raise run.RunFailed(f"{kind.kind}: {failure}\nThe end of the broker's log:\n{broker.log_tail(20)}") from failure
    finally:
        broker.close()


def shake(door, authority, seconds, *options):
    """handshakes.py, which runs."""
    command = [sys.executable, HANDSHAKES, "--address", door.bootstrap, "--authority", authority.certificate, "--processes", 3, "--seconds", seconds]
    return subprocess.Popen([*map(str, command), *map(str, options)], stdout=subprocess.PIPE, text=True)


@contextlib.contextmanager
def estranged(door, count):
    """strangers.py, from when all of them are there; what it gives is filled when it ends. It has what broker and client leave of the processors:
    strangers have machines of their own."""
    command = [sys.executable, STRANGERS, "--address", door.bootstrap, "--count", count]
    said = {}
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.nice(19)) as strangers:
        try:
            if strangers.stdout.readline() != "ready\n":
                raise run.RunFailed("the strangers are not there")
            yield said
            said |= json.loads(strangers.communicate("\n")[0])
        finally:
            strangers.kill()


ROWS = {
    "produce by TLS, MB/s": lambda r: r["tls"]["produce"]["megabytes_per_second"],
    "produce by TLS, CPU s/GB": lambda r: r["tls"]["produce"]["broker_cpu_seconds_per_gigabyte"],
    "produce without, CPU s/GB": lambda r: r["plain"]["produce"]["broker_cpu_seconds_per_gigabyte"],
    "consume by TLS, MB/s": lambda r: r["tls"]["consume"]["megabytes_per_second"],
    "consume by TLS, CPU s/GB": lambda r: r["tls"]["consume"]["broker_cpu_seconds_per_gigabyte"],
    "consume without, CPU s/GB": lambda r: r["plain"]["consume"]["broker_cpu_seconds_per_gigabyte"],
    "handshakes a CPU second": lambda r: r["handshakes"]["per_cpu_second"],
    "p99.9 without TLS, calm, ms": lambda r: r["calm"]["latency_ms"]["p99.9"],
    "p99.9 without TLS, storm, ms": lambda r: r["storm"]["latency_ms"]["p99.9"],
    "p99.9 without TLS, strangers, ms": lambda r: r["strangers"]["latency_ms"]["p99.9"],
    "p99.9 beside strangers to calm": lambda r: r["strangers"]["latency_ms"]["p99.9"] / r["calm"]["latency_ms"]["p99.9"],
    "p99.9 in the storm to calm": lambda r: r["storm"]["latency_ms"]["p99.9"] / r["calm"]["latency_ms"]["p99.9"],
    "handshakes a second in the storm": lambda r: r["storm"]["handshakes"]["handshakes"] / r["storm"]["handshakes"]["seconds"],
}


def table(runs):
    """Medians, least and most of each broker, and the ratio of the medians."""
    lines = ["| | Apache Kafka | Aplomb | ratio |", "| --- | --- | --- | --- |"]
    for name, read in ROWS.items():
        cells, medians = [], []
        for kind in ("kafka", "aplomb"):
            values = [read(each) for each in runs if each["broker"] == kind]
            medians.append(statistics.median(values))
            cells.append(f"{medians[-1]:.3g} ({min(values):.3g}–{max(values):.3g})")
        lines.append(f"| {name} | {cells[0]} | {cells[1]} | {medians[1] / medians[0]:.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a few minutes, for whether it works")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--out", type=Path, help="where the raw figures go")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    if options.runs:
        plan = replace(plan, runs=options.runs)
    out = options.out or RESULTS / run.now()[:10]
    home = Path(run.__file__).resolve().parents[1] / ".work" / "bench" / "secure"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    out.mkdir(parents=True, exist_ok=True)
    payloads = home / "payloads"
    load.write_payloads(payloads)
    runs = []
    about = {"plan": asdict(plan), "machine": machine.describe(home)}
    for number in range(plan.runs):
        for kind in (brokers.Kafka, brokers.Aplomb):
            run.say(f"run {number + 1} of {plan.runs}: {kind.kind}")
            runs.append(one_run(kind, plan, home / f"{kind.kind}-{number}", payloads))
            (out / f"{kind.kind}-{number + 1}.json").write_text(json.dumps({**about, **runs[-1]}, indent=1) + "\n")
    made = table(runs)
    (out / "table.md").write_text(made + "\n")
    print(made)


if __name__ == "__main__":
    main()
