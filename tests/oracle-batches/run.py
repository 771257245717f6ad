#!/usr/bin/env python3
"""Compares what Aplomb makes of record batches with what Apache Kafka makes of them.

1. Batches that Java builds and batches that we build are read by both: the same text must come out.
2. Both decide about produced batches: good ones under many rules, and damaged ones (random bytes,
   with a checksum that fits). Where the answers differ, ours must be one of the known, stricter ones
   that `validation.rs` names; anything else fails.

    tests/oracle-batches/run.py [--seed N] [--damaged N] [--write-golden]

Needs a JDK 17 and Maven. Exits with 1 if the two disagree.
"""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from built import example  # noqa: E402

ROOT = HERE.parent.parent
GOLDEN = ROOT / "crates" / "aplomb-model" / "tests" / "golden"
NOW = 1_700_000_000_000
NO_LIMIT = 2**63 - 1
HOUR = 3_600_000
ATTRIBUTES = 21


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def build():
    """Compiles both programs and returns their command lines."""
    java = subprocess.run([HERE.parent / "oracle.sh", "oracle-batches", "aplomb.batches.Main"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    cargo = ["cargo", "build", "-q", "--locked", "--profile", "sim", "--workspace", "--example", "batches"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    return java, [example("batches")]


def run(program, command, lines=()):
    text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
    result = subprocess.run([*program, command], input=text, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{program[-1]} {command} failed:\n{result.stderr[-2000:]}")
    return result.stdout


def sections(text):
    """Splits at lines that begin with '# ': name to lines."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# "):
            lines = found.setdefault(line[2:], [])
        else:
            lines.append(line)
    return found


def batches(program):
    lines = run(program, "build").splitlines()
    return {name: bytes.fromhex(data) for name, data in (line.split("\t") for line in lines)}


def produced(batch):
    """A log's batch as a producer would send it: base offset 0, no leader epoch."""
    return bytes(8) + batch[8:12] + b"\xff" * 4 + batch[16:]


def with_crc(batch):
    return batch[:17] + crc32c(batch[21:]).to_bytes(4, "big") + batch[21:]


def rules(kind="create", before=NO_LIMIT, after=HOUR, compact="delete", codec="producer",
          size=1_048_588, record=2_147_483_639):
    return [NOW, kind, before, after, compact, codec, size, record]


EVERY_RULE = [
    rules(),
    rules(kind="append"),
    rules(before=60_000),
    rules(after=4, before=HOUR),
    rules(compact="compact"),
    rules(compact="compact", before=60_000),
    rules(kind="append", compact="compact"),
    *[rules(codec=codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")],
    rules(kind="append", codec="lz4"),
    rules(size=200),
    rules(codec="none", size=300),
    rules(record=100),
    rules(record=20_000, codec="zstd"),
]


def good_cases(sources):
    for name, batch in sources.items():
        for number, rule in enumerate(EVERY_RULE):
            yield [f"{name} rule {number}", produced(batch).hex(), *rule]


def damaged_cases(sources, seed, count):
    """Random damage: in the header, in the records, at the end; mostly with a checksum that fits."""
    rng = random.Random(seed)
    names = sorted(name for name, batch in sources.items() if len(batch) < 3000)
    for number in range(count):
        name = rng.choice(names)
        batch = bytearray(produced(sources[name]))
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            where = rng.random()
            if where < 0.25:
                at = rng.randrange(ATTRIBUTES, 61)
            elif where < 0.3:
                at = rng.randrange(0, ATTRIBUTES)
            else:
                at = rng.randrange(min(61, len(batch) - 1), len(batch))
            batch[at] = rng.choice([rng.randrange(256), batch[at] ^ 1 << rng.randrange(8)])
        if rng.random() < 0.05:
            batch += bytes(batch[:rng.randrange(len(batch))])
        if rng.random() < 0.05:
            del batch[rng.randrange(len(batch)):]
        if rng.random() < 0.9 and len(batch) > 21:
            batch = with_crc(bytes(batch))
        # A leader overwrites the epoch, whatever it is.
        batch = batch[:12] + (b"\xff" * 4 + batch[16:] if len(batch) > 16 else batch[12:])
        yield [f"damaged {seed}/{number} of {name}", bytes(batch).hex(), *rng.choice(EVERY_RULE)]


def known_difference(case, java, ours):
    """Names the documented difference that explains two answers, or returns None."""
    name, data, _, _, _, _, _, codec, *_ = case
    batch = bytes.fromhex(data)
    attributes = int.from_bytes(batch[21:23], "big") if len(batch) >= 23 else 0
    compressed = attributes & 7 != 0
    java_code = java[0].split()[1] if java[0].startswith("refused") else None
    our_code = ours[0].split()[1] if ours[0].startswith("refused") else None
    if our_code is None:
        if "rebuilt=true" not in ours[0]:
            return None
        if java_code is None and "rebuilt=false" in java[0]:
            return None if compressed else "gaps are renumbered, which Java keeps"
        if java_code is None:
            rebased = [re.sub(r" base=\S+", "", line) for line in java] == [re.sub(r" base=\S+", "", line) for line in ours]
            return "a recompressed batch keeps its base timestamp" if rebased else None
        if java_code == "UNKNOWN_SERVER_ERROR":
            # Java's builder insists on -1, and on times from 1970 on.
            negative_id = batch[43] >= 0x80 and batch[43:51] != b"\xff" * 8
            negative_time = any(line.startswith("record ") and " time=-" in line for line in ours)
            if negative_id or negative_time:
                return "any negative producer id is none" if negative_id else "a time before 1970 is recompressed"
            return None
        return None
    reason = ours[1]
    if "of a compressed batch has offset delta" in reason:
        return "gaps in a compressed batch are refused, which Java fails at or recompresses"
    if attributes & 8 and our_code == "INVALID_TIMESTAMP":
        return "log-append time is refused on every topic"
    if java_code == our_code == "INVALID_TIMESTAMP":
        return "times too far apart for 64 bits" if NOW - int.from_bytes(batch[27:35], "big", signed=True) >= 2**62 \
            else None
    if "not a valid match offset" in reason or "invalid gzip header" in reason:
        return "a codec's reserved bits or values are refused"
    if java_code == "UNKNOWN_SERVER_ERROR":
        return "a reason instead of UNKNOWN_SERVER_ERROR"
    size = int.from_bytes(batch[8:12], "big") + 12 if len(batch) >= 12 else 0
    if len(batch) > size and our_code in ("INVALID_RECORD", "CORRUPT_MESSAGE"):
        return "bytes behind the batch are refused"
    if attributes & 16 and batch[43] >= 0x80 and our_code == "INVALID_RECORD":
        return "a transaction of nobody is refused"
    if compressed and our_code == "INVALID_RECORD" and java_code is None and java[0].endswith("unreadable"):
        return "Java appends what no consumer can read"
    if compressed and our_code == "INVALID_RECORD" and java_code in ("INVALID_RECORD", "INVALID_TIMESTAMP"):
        return "a broken record is told before any other fault"
    return None


def compare(cases, java, ours, tally):
    theirs = sections(run(java, "validate", cases))
    mine = sections(run(ours, "validate", cases))
    unexplained = 0
    for case in cases:
        their, my = theirs[case[0]], mine[case[0]]
        if their == [line for line in my if not line.startswith("because ")]:
            tally["the same: " + " ".join(my[0].split()[:2])] += 1
            continue
        reason = known_difference(case, their, my)
        tally[f"different: {reason}"] += 1
        if reason is None:
            unexplained += 1
            if unexplained <= 5:
                print(f"--- {chr(9).join(map(str, case))}\nJava: {their[:3]}\nours: {my[:3]}")
    return unexplained


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--damaged", type=int, default=4000, help="how many damaged batches")
    parser.add_argument("--write-golden", action="store_true", help="replace the files of the Rust test")
    args = parser.parse_args()

    java, ours = build()
    if args.write_golden:
        text = run(java, "build")
        (GOLDEN / "java-4.4.0.tsv").write_text(text)
        lines = [line.split("\t") for line in text.splitlines()]
        (GOLDEN / "java-4.4.0.txt").write_text(run(java, "read", lines))

    sources = batches(java) | {f"our {name}": batch for name, batch in batches(ours).items()}
    lines = [[name, batch.hex()] for name, batch in sources.items()]
    by_java, by_us = sections(run(java, "read", lines)), sections(run(ours, "read", lines))
    failures = 0
    for name in sources:
        if by_java[name] != by_us[name] or not by_us[name] or "broken" in by_us[name]:
            failures += 1
            print(f"--- {name} is read differently\nJava: {by_java[name]}\nours: {by_us[name]}")
    print(f"read: {len(sources)} batches, {failures} read differently")

    tally = collections.Counter()
    failures += compare(list(good_cases(sources)), java, ours, tally)
    failures += compare(list(damaged_cases(sources, args.seed, args.damaged)), java, ours, tally)
    for outcome, count in sorted(tally.items()):
        print(f"{count:7} {outcome}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
