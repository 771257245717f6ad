#!/usr/bin/env python3
"""Many connections that hardly do anything: each produces one small record a second, acks=all, and
waits for the answer. One process holds them all, so that thousands of clients fit on the machine.

Writes "ready" when all are connected, goes on until its standard input ends, then writes one line
of JSON. A connection that the broker closes, or an answer with an error, is a failure."""

import argparse
import json
import resource
import selectors
import socket
import struct
import sys
import time

import frames
from suite import wire

TICK = 0.005
# How long the last answers may take, in seconds.
PATIENCE = 10


class Member:
    """One connection, and when its record without an answer was due."""

    def __init__(self, port, topic, partition, first):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.request = wire.frame(frames.produce(topic, [partition], frames.batch(b"of a crowd")))
        self.next = first
        self.due = None
        self.received = b""

    def send(self):
        """False while the last answer is missing: a record that is late counts from when it was due."""
        if self.due is not None:
            return False
        self.due, self.next = self.next, self.next + 1
        if self.socket.send(self.request) != len(self.request):
            raise ConnectionError("a small request did not fit into the socket's buffer")
        return True

    def receive(self):
        """Seconds from when the record was due to its answer, or nothing before the whole answer."""
        part = self.socket.recv(4096)
        if not part:
            raise ConnectionError("the broker closed a connection")
        self.received += part
        if len(self.received) < 4 or len(self.received) < 4 + struct.unpack_from(">i", self.received)[0]:
            return None
        (error,) = frames.read_produce(self.received[4:]).values()
        if error:
            raise frames.Refused(f"error {error}")
        took, self.received, self.due = time.monotonic() - self.due, b"", None
        return took


def run(members, selector):
    """Sends what is due in turn until standard input ends; returns the latencies."""
    took, at, ends = [], 0, None
    while ends is None or (any(member.due for member in members) and time.monotonic() < ends):
        now = time.monotonic()
        # All have the same pace, so that they are due in turn.
        while ends is None and members and members[at].next <= now and members[at].send():
            at = (at + 1) % len(members)
        for key, _ in selector.select(TICK):
            if key.data is None:
                ends = time.monotonic() + PATIENCE
                selector.unregister(sys.stdin)
            elif (each := key.data.receive()) is not None:
                took.append(each)
    if unanswered := sum(member.due is not None for member in members):
        raise TimeoutError(f"{unanswered} records were not answered")
    return sorted(took)


def main():
    parser = argparse.ArgumentParser(description="Many connections that hardly do anything.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--connections", type=int, required=True)
    options = parser.parse_args()
    members = [
        Member(options.port, options.topic, number % options.partitions, number / options.connections)
        for number in range(options.connections)
    ]
    began = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        for member in members:
            member.next += began
            selector.register(member.socket, selectors.EVENT_READ, member)
        print("ready", flush=True)
        took = run(members, selector)
    used = resource.getrusage(resource.RUSAGE_SELF)
    quantiles = {name: 1000 * took[int(part * (len(took) - 1))] for name, part in (("p50", 0.5), ("p99.9", 0.999))} if took else {}
    print(json.dumps({"records": len(took), "seconds": time.monotonic() - began, "latency_ms": quantiles, "cpu_seconds": used.ru_utime + used.ru_stime}))


if __name__ == "__main__":
    main()
