"""What plain TCP costs on this machine: a sink that reads and a source that writes, between two processes, and nothing else; and the same with a
file in the page cache behind it, which is the least that a broker does with what it does not have in its own memory.

A broker cannot produce or consume a GB for less processor time than these; the source without a file sends the same megabyte over and over, so
that it does not even read memory that is not in a processor's cache. And what it would cost to write past the page cache. Next: `measure`."""

import fcntl
import mmap
import os
import resource
import socket
import tempfile
from statistics import median

BYTES = 1 << 30
CHUNK = 1 << 20


def measure(runs, directory):
    """CPU seconds a GB of each: every run, and the median. The file is made in `directory`."""
    with tempfile.TemporaryFile(dir=directory) as file:
        file.truncate(BYTES)
        kinds = {
            "sink": (_send, _receive),
            "sink_to_file": (_send, lambda connection: _receive_to_file(connection, file)),
            "sink_past_cache": (_send, lambda connection: _receive_past_cache(connection, file)),
            "source": (_receive, _send),
            "source_from_file": (_receive, lambda connection: _send_file(connection, file)),
            "source_by_sendfile": (_receive, lambda connection: connection.sendfile(file)),
            "source_by_pipe": (_receive, lambda connection: _send_by_pipe(connection, file)),
        }
        found = {}
        for name, (other, measured) in kinds.items():
            costs = []
            for _ in range(runs):
                file.seek(0)
                costs.append(_between(other, measured))
            found[name] = {"cpu_seconds_per_gigabyte": median(costs), "runs": costs}
        return found


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


def _receive_to_file(connection, file):
    buffer = memoryview(bytearray(CHUNK))
    while count := connection.recv_into(buffer):
        os.write(file.fileno(), buffer[:count])


def _receive_past_cache(connection, file):
    """By O_DIRECT, a full buffer at a time: it asks for whole blocks, of the file and of memory."""
    direct = os.open(f"/proc/self/fd/{file.fileno()}", os.O_WRONLY | os.O_DIRECT)
    buffer, filled = memoryview(mmap.mmap(-1, CHUNK)), 0
    while count := connection.recv_into(buffer[filled:]):
        filled += count
        if filled == CHUNK:
            os.write(direct, buffer)
            filled = 0
    os.close(direct)


def _send_file(connection, file):
    buffer = memoryview(bytearray(CHUNK))
    while count := os.readv(file.fileno(), [buffer]):
        connection.sendall(buffer[:count])


def _send_by_pipe(connection, file):
    """As a broker could whose disks' threads fill pipes with pages, and whose request threads empty these into sockets."""
    taken, given = os.pipe()
    fcntl.fcntl(given, fcntl.F_SETPIPE_SZ, CHUNK)
    while count := os.splice(file.fileno(), given, CHUNK):
        while count:
            count -= os.splice(taken, connection.fileno(), count)
    os.close(taken)
    os.close(given)


def _spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
