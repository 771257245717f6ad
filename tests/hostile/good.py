"""A good client: a record produced with acks=all and fetched back, fifty times a second; beside it a probe of the health page each second.
good.py PORT HTTP_PORT SECONDS; prints what it saw as JSON."""

import gc
import json
import struct
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from differential import batches
from harness import wire

TOPIC, PARTITION = "good", 2
PERIOD = 0.02


def produce(records):
    body = struct.pack(">hhii", -1, -1, 30_000, 1) + wire.string(TOPIC) + struct.pack(">iii", 1, PARTITION, len(records)) + records
    return wire.header(wire.PRODUCE, 3) + body


def fetch(offset):
    head = struct.pack(">iiiibi", -1, 30_000, 1, 1 << 20, 0, 1)
    return wire.header(wire.FETCH, 4) + head + wire.string(TOPIC) + struct.pack(">iiqi", 1, PARTITION, offset, 1 << 20)


def base_of(response):
    reader = wire.Reader(response)
    reader.int32()
    assert reader.int32() == 1
    reader.string()
    reader.int32()
    _, error, base = reader.int32(), reader.int16(), reader.int64()
    assert error == 0, f"the batch was refused with {error}"
    return base


def has_records(response):
    reader = wire.Reader(response)
    reader.int32()
    reader.int32()
    assert reader.int32() == 1
    reader.string()
    reader.int32()
    _, error, _, _, aborted = reader.int32(), reader.int16(), reader.int64(), reader.int64(), reader.int32()
    assert (error, aborted) == (0, -1) or (error, aborted) == (0, 0), (error, aborted)
    return reader.int32() > 0


def main(port, http_port, seconds):
    gc.disable()
    records = batches.batch()
    took, probes, failed = [], [], []
    began = time.monotonic()
    with wire.Connection(port, timeout=120) as producer, wire.Connection(port, timeout=120) as consumer:
        while (asked := time.monotonic()) < began + seconds:
            base = base_of(producer.ask(produce(records)))
            assert has_records(consumer.ask(fetch(base)))
            took.append(time.monotonic() - asked)
            if len(took) % 50 == 0:
                probe = time.monotonic()
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/healthz", timeout=20) as page:
                        assert page.status == 200
                except OSError as error:
                    failed.append(str(error))
                probes.append(time.monotonic() - probe)
            time.sleep(max(0, asked + PERIOD - time.monotonic()))
    took.sort()
    at = lambda share: round(1000 * took[min(len(took) - 1, int(share * len(took)))], 1)
    probe_max = round(1000 * max(probes, default=0), 1)
    print(json.dumps({"requests": len(took), "p50": at(0.5), "p99": at(0.99), "p999": at(0.999), "max": at(1), "probe_max": probe_max, "probes_failed": len(failed)}))


main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
