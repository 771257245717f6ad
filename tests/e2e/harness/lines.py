"""A child process that is spoken to in JSON lines, with a deadline on every answer."""

import json
import queue
import subprocess
import threading
import time


class NoAnswer(Exception):
    """The process ended or did not answer in time."""


class LineProcess:
    """Standard error goes to a file, whose end is quoted when the process fails."""

    def __init__(self, command, stderr_file):
        self._stderr_file = stderr_file
        with open(stderr_file, "ab") as stderr:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            # What a killed process did not say to the end, it did not say.
            if line.endswith(b"\n"):
                self._lines.put(line)
        self._lines.put(None)

    def send(self, value):
        try:
            self._process.stdin.write(json.dumps(value).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise NoAnswer(self._obituary("is gone")) from None

    def receive(self, timeout):
        """The next line, or NoAnswer after `timeout` seconds."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise NoAnswer(self._obituary(f"said nothing for {timeout:.0f} s")) from None
        if line is None:
            self._lines.put(None)
            raise NoAnswer(self._obituary("ended"))
        return json.loads(line)

    def received(self):
        """The next line if there is one already, or None."""
        return None if self._lines.empty() else self.receive(1)

    def receive_until_end(self, timeout):
        """All lines up to the one with "end", which comes last in the list."""
        deadline = time.monotonic() + timeout
        lines = []
        while not lines or "end" not in lines[-1]:
            lines.append(self.receive(max(0.1, deadline - time.monotonic())))
        return lines

    def end_input(self):
        """No more will be said to it."""
        self._process.stdin.close()

    def alive(self):
        return self._process.poll() is None

    def close(self):
        if self.alive():
            self._process.kill()
        self._process.wait()
        self._reader.join(5)

    def _obituary(self, what):
        with open(self._stderr_file, "rb") as stderr:
            end = stderr.read()[-3000:].decode(errors="replace")
        return f"{self._process.args[0]} {what}; the end of its standard error:\n{end}"
