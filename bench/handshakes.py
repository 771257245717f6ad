"""Handshakes of TLS 1.3, each a whole one on a connection of its own, by several processes; prints one line of JSON: how many there were, how
many failed, and how long one took. With a rate as many a second as that, if the broker and these processes can; without one as fast as they go."""

import argparse
import json
import multiprocessing
import socket
import ssl
import time


def shake(number, options, began, found):
    """One process's part."""
    context = ssl.create_default_context(cafile=options.authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    every = options.processes / options.rate if options.rate else 0
    host, port = options.address.rsplit(":", 1)
    took, failed, until = [], 0, began + options.seconds
    due = began + number * every / options.processes
    while (now := time.monotonic()) < until:
        if now < due:
            time.sleep(due - now)
        due += every
        start = time.monotonic()
        try:
            with socket.create_connection((host, int(port)), timeout=10) as plain, context.wrap_socket(plain, server_hostname=host):
                took.append(time.monotonic() - start)
        except OSError:
            failed += 1
    found.put((took, failed))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--authority", required=True, help="whose certificates are trusted, as PEM")
    parser.add_argument("--processes", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rate", type=float, default=0, help="handshakes a second, of all processes together")
    options = parser.parse_args()
    found = multiprocessing.Queue()
    began = time.monotonic() + 0.5
    parts = [multiprocessing.Process(target=shake, args=(n, options, began, found)) for n in range(options.processes)]
    for part in parts:
        part.start()
    ends = [found.get() for _ in parts]
    for part in parts:
        part.join()
    took = sorted(each for some, _ in ends for each in some)
    at = {name: took[min(int(q * len(took)), len(took) - 1)] * 1000 for name, q in {"p50": 0.5, "p99": 0.99}.items()} if took else {}
    print(json.dumps({"handshakes": len(took), "failed": sum(failed for _, failed in ends), "seconds": options.seconds, "handshake_ms": at}))


if __name__ == "__main__":
    main()
