"""What plain TCP costs on this machine: a sink that reads and a source that writes, between two processes, and nothing else.

A broker cannot produce or consume a GB for less processor time than these; the source sends the same megabyte over and over, so that it
does not even read memory that is not in a processor's cache. Next: `measure`."""

import os
import resource
import socket
from statistics import median

BYTES = 4 << 30
CHUNK = 1 << 20


def measure(runs):
    """CPU seconds a GB of each: every run, and the median."""
    found = {"sink": [_between(_send, _receive) for _ in range(runs)], "source": [_between(_receive, _send) for _ in range(runs)]}
    return {name: {"cpu_seconds_per_gigabyte": median(each), "runs": each} for name, each in found.items()}


def _between(other, measured):
    """What `measured` costs in this process while a child does `other`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = os.fork()
        if child == 0:
            # Without the parent's clean-up: this is not the parent.
            status = 1
            try:
                with socket.create_connection(listener.getsockname()) as connection:
                    other(connection)
                status = 0
            finally:
                os._exit(status)
        connection, _ = listener.accept()
        with connection:
            before = _spent()
            measured(connection)
            spent = _spent() - before
        _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError("the other end failed")
    return spent / (BYTES / 1e9)


def _send(connection):
    data = bytes(CHUNK)
    for _ in range(BYTES // CHUNK):
        connection.sendall(data)


def _receive(connection):
    buffer = bytearray(CHUNK)
    while connection.recv_into(buffer):
        pass


def _spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
