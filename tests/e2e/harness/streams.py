"""Instances of the Kafka Streams application of tests/clients/streams, and waiting for what several of them say."""

import time

from harness import places
from harness.lines import LineProcess

PATIENCE = 60


class Instance:
    """One running process."""

    def __init__(self, broker, group, source, result, directory, guarantee="at_least_once"):
        self.state = None
        # The tasks that are active in it.
        self.tasks = set()
        # Classes of exceptions that ended a thread, which was replaced.
        self.errors = []
        self.ended = False
        directory.mkdir(parents=True, exist_ok=True)
        options = {"bootstrap": broker.bootstrap, "group": group, "from": source, "to": result, "state": directory / "state", "guarantee": guarantee}
        command = [*places.java("streams"), "aplomb.streams.Main"]
        command += [text for name, value in options.items() for text in (f"--{name}", str(value))]
        self._process = LineProcess(command, directory / "streams.err")

    def hear(self):
        """Takes in what it has said."""
        while not self.ended and (line := self._process.received()) is not None:
            self.state = line.get("state", self.state)
            self.tasks = set(line.get("tasks", self.tasks))
            self.errors += [line["error"]] if "error" in line else []
            self.ended = "end" in line

    def close(self):
        """A clean end, waited for."""
        self._process.end_input()
        until(lambda: self.ended, "it ends", self)
        self.tasks = set()

    def kill(self):
        """kill -9."""
        self._process.close()
        self.ended = True
        self.tasks = set()

    def __repr__(self):
        return f"{self.state} with {sorted(self.tasks)}, errors {self.errors}"


def until(condition, what, *instances):
    """Waits for the condition while these instances are heard."""
    deadline = time.monotonic() + PATIENCE
    while True:
        for instance in instances:
            instance.hear()
        if condition():
            return
        assert time.monotonic() < deadline, f"{what}, which is not so: {instances}"
        time.sleep(0.05)


def until_shared(tasks, *instances):
    """Each task is active in one of these, and each of these runs some."""

    def shared():
        active = sorted(task for instance in instances for task in instance.tasks)
        return active == sorted(tasks) and all(instance.tasks and instance.state == "RUNNING" for instance in instances)

    until(shared, f"{len(instances)} share {sorted(tasks)}", *instances)
