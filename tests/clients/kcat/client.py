"""The kcat client of the end-to-end suite: the common command line put into kcat's own options, and its output into JSON lines.
kcat sends lines and takes no time stamp, so --timestamp and --rate are refused, and --tombstones sends what kcat calls NULL."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import member  # noqa: E402  the path to it is set just above
import suite  # noqa: E402

_DELIVERED = re.compile(r"Message delivered to partition (\d+) \(offset (-?\d+)\)")
# "assigned" and "revoked", or with the cooperative protocol "incremental assignment of" and "incremental revoke of".
_REBALANCED = re.compile(r"% Group \S+ rebalanced.*?\b(assign|revoke)\w*.*?:\s*(.*)")
_PARTITION = re.compile(r"(\S+) \[(\d+)\]")
_FAILED = re.compile(r"Delivery failed[^:]*: (.*)")


def produce(options):
    for name in ("--timestamp", "--rate"):
        if name in options:
            raise ValueError(f"kcat has no {name}")
    acks = options.get("--acks", "all")
    command = ["kcat", "-P", "-vvv", "-b", options["--bootstrap"], "-t", options["--topic"]]
    command += ["-p", options.get("--partition", "-1"), "-z", options.get("--compression", "none")]
    command += ["-X", f"acks={acks}", "-X", f"enable.idempotence={str('--idempotent' in options).lower()}"]
    command += ["-X", "message.timeout.ms=60000"]
    if "--idempotent" not in options:
        command += ["-X", "max.in.flight=1"]
    for pair in options["--config"]:
        command += ["-X", "=".join(pair)]
    for name, value in options.headers():
        command += ["-H", name if value is None else f"{name}={value}"]
    if "--tombstones" in options:
        command.append("-Z")
    if "--key-prefix" in options:
        command += ["-K", "\\t"]
    count = options.number("--count", 1)
    lines = b"".join(_line(options, seq) for seq in range(count))
    done = subprocess.run(command, input=lines, capture_output=True, timeout=120)
    log = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        raise RuntimeError(f"kcat ended with {done.returncode}: {log[-2000:]}")
    # Reports come in the order of delivery, which within the one partition is the order of sending.
    delivered = [(int(partition), int(offset)) for partition, offset in _DELIVERED.findall(log)]
    if acks == "0":
        suite.emit({"count": count})
        return
    for seq, (partition, offset) in enumerate(delivered):
        suite.emit({"partition": partition, "offset": offset, "seq": seq})
    for reason in _FAILED.findall(log):
        suite.emit({"seq": -1, "error": reason})


def _line(options, seq):
    key = options.key(seq)
    return (b"" if key is None else key.encode() + b"\t") + (options.value(seq) or b"") + b"\n"


def consume(options):
    offset = options.get("--offset", "earliest")
    start = {"earliest": "beginning", "latest": "end"}.get(offset, offset)
    if "--timestamp" in options:
        start = f"s@{options['--timestamp']}"
    command = ["kcat", "-C", "-J", "-u", "-q", "-b", options["--bootstrap"], "-t", options["--topic"]]
    command += ["-p", options.get("--partition", "0"), "-o", start, "-c", options.get("--count", "1")]
    command += ["-X", "check.crcs=true", "-X", "topic.auto.offset.reset=error"]
    if "--max-partition-bytes" in options:
        command += ["-X", f"fetch.message.max.bytes={options['--max-partition-bytes']}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=options.number("--timeout", 30))
    except subprocess.TimeoutExpired as late:
        _print(late.stdout or b"")
        return
    if done.returncode != 0:
        raise RuntimeError(f"kcat ended with {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
    _print(done.stdout)


def _print(output):
    for line in output.decode().splitlines():
        suite.emit(_described(json.loads(line)))


def _described(record):
    flat = record.get("headers", [])
    payload = record["payload"]
    return {
        "partition": record["partition"],
        "offset": record["offset"],
        "timestamp": record["ts"],
        "key": record["key"],
        "value_sha": suite.sha256(None if payload is None else payload.encode()),
        "headers": [list(pair) for pair in zip(flat[::2], flat[1::2], strict=True)],
    }


def group(options):
    """kcat commits by itself and does not tell when."""
    me = member.Member(options)
    # A program that is killed takes its kcat with it.
    command = ["setpriv", "--pdeathsig", "KILL", "kcat", "-J", "-u", "-b", options["--bootstrap"]]
    settings = {
        "auto.commit.interval.ms": 500,
        "auto.offset.reset": "error" if me.reset == "none" else me.reset,
        "session.timeout.ms": me.session_ms,
        "heartbeat.interval.ms": member.HEARTBEAT_MS,
        "fetch.wait.max.ms": 100,
        "topic.metadata.refresh.interval.ms": 1000,
        "reconnect.backoff.max.ms": 500,
        "partition.assignment.strategy": options.get("--assignor", "range,roundrobin"),
        **({"group.instance.id": options["--instance"]} if "--instance" in options else {}),
        **dict(options["--config"]),
    }
    for name, value in settings.items():
        command += ["-X", f"{name}={value}"]
    command += ["-G", options["--group"], *([options["--pattern"]] if "--pattern" in options else me.topics)]
    kcat = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = threading.Thread(target=_tell_rebalances, args=(kcat.stderr,))
    read = threading.Thread(target=_tell_records, args=(kcat.stdout,))
    said.start()
    read.start()
    try:
        while me.goes_on() and kcat.poll() is None:
            time.sleep(0.05)
        ended_early = kcat.poll() is not None
    finally:
        with contextlib.suppress(ProcessLookupError):
            kcat.send_signal(signal.SIGINT)
        kcat.wait(30)
        said.join()
        read.join()
    if ended_early:
        raise RuntimeError(f"kcat ended with {kcat.returncode}")


def _tell_rebalances(lines):
    for line in lines:
        if rebalanced := _REBALANCED.match(line):
            partitions = [[topic, int(partition)] for topic, partition in _PARTITION.findall(rebalanced[2])]
            member.say({rebalanced[1].removesuffix("e") + "ed": partitions})
        elif "ERROR" in line:
            member.error("kcat", line.strip())


def _tell_records(lines):
    for line in lines:
        record = json.loads(line)
        member.say({"topic": record["topic"], **_described(record)})


if __name__ == "__main__":
    suite.main({"produce": produce, "consume": consume, "group": group})
