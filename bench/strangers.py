#!/usr/bin/env python3
"""Connections that never say who they are: half of them send most of a hello and nothing more, the others a byte of it a second. Those that
are closed come again, a thousand a second at most. Says "ready" when all are there, and when its input ends one line of JSON: how many there
were at the end, and how many the broker had closed."""

import argparse
import contextlib
import json
import resource
import select
import socket
import sys
import time

# A hello of 16 KiB is announced.
HELLO = b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03" + bytes(12_000)
SLOW = HELLO[:11]
COMES_AGAIN = 1_000


def connect(address, poll, strangers, is_slow):
    try:
        stranger = socket.create_connection(address, timeout=5)
    except OSError:
        return
    stranger.setblocking(False)
    with contextlib.suppress(OSError):
        stranger.send(SLOW if is_slow else HELLO)
    strangers[stranger.fileno()] = (stranger, is_slow)
    poll.register(stranger, select.POLLIN | select.POLLRDHUP)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True)
    parser.add_argument("--count", type=int, required=True)
    options = parser.parse_args()
    host, port = options.address.rsplit(":", 1)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    poll, strangers, closed, ready = select.poll(), {}, 0, False
    poll.register(sys.stdin, select.POLLIN)
    turn = time.monotonic()
    while True:
        # A tenth of a second's newcomers, and of the bytes of those who are slow.
        for _ in range(min(options.count - len(strangers), COMES_AGAIN // 10)):
            connect((host, int(port)), poll, strangers, len(strangers) % 2 == 0)
        if not ready and len(strangers) == options.count:
            ready = True
            print("ready", flush=True)
        some = list(strangers.values())
        for stranger, is_slow in some[int(turn * 10) % 10 :: 10]:
            if is_slow:
                with contextlib.suppress(OSError):
                    stranger.send(b"\x00")
        turn += 0.1
        while (left := turn - time.monotonic()) > 0:
            for descriptor, _ in poll.poll(left * 1000):
                if descriptor == sys.stdin.fileno():
                    print(json.dumps({"strangers": len(strangers), "closed": closed}))
                    return
                poll.unregister(descriptor)
                strangers.pop(descriptor)[0].close()
                closed += 1


if __name__ == "__main__":
    main()
