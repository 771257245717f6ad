"""Transactions by librdkafka, one after the other. Runs under the Python that tests/setup.sh prepares, which has confluent-kafka, and prints one
line of JSON: how long each took from its beginning until it was committed."""

import argparse
import json
import resource
import time

from confluent_kafka import Producer

QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def quantiles(latencies):
    latencies = sorted(latencies)
    return {name: latencies[min(int(quantile * len(latencies)), len(latencies) - 1)] * 1000 for name, quantile in QUANTILES.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True, help="each transaction writes to all of them, as far as it has records")
    parser.add_argument("--records", type=int, required=True, help="of each transaction")
    parser.add_argument("--size", type=int, required=True, help="bytes of a record's value")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm-up", type=float, required=True, help="seconds before those, whose transactions do not count")
    options = parser.parse_args()
    producer = Producer({"bootstrap.servers": options.bootstrap, "transactional.id": options.topic, "linger.ms": 1})
    producer.init_transactions(60)
    value = bytes(range(256)) * (options.size // 256 + 1)
    value = value[: options.size]
    whole, ends, count = [], [], 0
    counted = time.monotonic() + options.warm_up
    until = counted + options.seconds
    while (began := time.monotonic()) < until:
        producer.begin_transaction()
        for n in range(options.records):
            producer.produce(options.topic, value, partition=n % options.partitions)
        written = time.monotonic()
        producer.commit_transaction(60)
        ended = time.monotonic()
        count += 1
        if began >= counted:
            whole.append(ended - began)
            ends.append(ended - written)
    used = resource.getrusage(resource.RUSAGE_SELF)
    said = {"transactions": count, "counted": len(whole), "whole_ms": quantiles(whole), "commit_ms": quantiles(ends)}
    print(json.dumps({**said, "client_cpu_seconds": used.ru_utime + used.ru_stime}))


if __name__ == "__main__":
    main()
