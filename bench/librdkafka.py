"""A load by librdkafka: several producers, a process each, that together produce records at a rate. Runs under the Python that tests/setup.sh
prepares, which has confluent-kafka, and prints one line of JSON.

Open loop: a record's latency counts from when it was due. Partitions are chosen record by record, as keys would choose them; by itself, without
keys, librdkafka would send ten milliseconds' worth to one partition. So with a short linger most requests carry few records."""

import argparse
import json
import multiprocessing
import random
import resource
import time

from confluent_kafka import Producer

# How long a producer sleeps at most before it sends what is due, in seconds.
TICK = 0.0005
# How long the last records may take, in seconds.
PATIENCE = 60
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def produce(number, options, began, found):
    """One producer's part; `found` gets what became of it."""
    config = {"bootstrap.servers": options.bootstrap, "linger.ms": options.linger, "acks": "all", "enable.idempotence": True}
    producer = Producer(config)
    dice = random.Random(number)
    value = bytes(dice.choices(range(256), k=options.size))
    every = options.producers / options.rate
    total = round((options.warm_up + options.seconds) / every)
    latencies, failed = [], 0

    def delivered(due):
        def on_delivery(error, _):
            nonlocal failed
            if error is not None:
                failed += 1
            elif due >= began + options.warm_up:
                latencies.append(time.monotonic() - due)

        return on_delivery

    for sequence in range(total):
        due = began + sequence * every
        while (early := due - time.monotonic()) > 0:
            producer.poll(0)
            time.sleep(min(early, TICK))
        producer.produce(options.topic, value, partition=dice.randrange(options.partitions), on_delivery=delivered(due))
    unanswered = producer.flush(PATIENCE)
    found.put({"records": total, "failed": failed, "unanswered": unanswered, "latencies": latencies})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--producers", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help="records a second, of all producers together")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm-up", type=float, required=True, help="seconds before those, whose latencies do not count")
    parser.add_argument("--size", type=int, required=True, help="bytes of a record's value")
    parser.add_argument("--linger", type=float, required=True, help="milliseconds")
    options = parser.parse_args()
    found = multiprocessing.Queue()
    # All begin together, once the slowest is there.
    began = time.monotonic() + 1
    parts = [multiprocessing.Process(target=produce, args=(n, options, began, found)) for n in range(options.producers)]
    for part in parts:
        part.start()
    ends = [found.get() for _ in parts]
    for part in parts:
        part.join()
    latencies = sorted(latency for end in ends for latency in end["latencies"])
    at = {name: latencies[min(int(quantile * len(latencies)), len(latencies) - 1)] * 1000 for name, quantile in QUANTILES.items()}
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = {name: sum(end[name] for end in ends) for name in ("records", "failed", "unanswered")}
    print(json.dumps({**said, "latency_ms": at, "client_cpu_seconds": used.ru_utime + used.ru_stime}))


if __name__ == "__main__":
    main()
