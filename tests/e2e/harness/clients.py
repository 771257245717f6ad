"""The client programs of tests/clients behind one interface, each kept running as a session so that a case costs no start."""

import json
import shutil
import sys
import time
from dataclasses import dataclass

from harness import places
from harness.lines import LineProcess


class ClientError(Exception):
    """The command failed as a whole; `name` is the client's own name for the failure."""

    def __init__(self, client, line):
        self.name = line["error"]
        super().__init__(f"{client}: {line['error']}: {line.get('message', '')}")


@dataclass(frozen=True)
class Client:
    """A client library: how to start it, and what it cannot do. What is missing here is asserted, not skipped."""

    name: str
    needs: str
    consumes: bool = True
    # KafkaJS cannot encode a null header value.
    null_headers: bool = True
    # kcat takes no time stamps.
    timestamps: bool = True
    # What it can do as a member of a group: KafkaJS knows no static members, and kcat does not tell when it commits.
    instances: bool = True
    tells_commits: bool = True
    protocols: tuple = ("classic",)

    def command(self):
        clients = places.CLIENTS
        return {
            "java": lambda: [*places.java("clients-java"), "aplomb.clients.Main"],
            "python": lambda: [sys.executable, str(clients / "python" / "client.py")],
            "franz-go": lambda: [str(places.prepared(places.WORK / "bin" / "franz-go"))],
            "sarama": lambda: [str(places.prepared(places.WORK / "bin" / "sarama"))],
            "kafkajs": lambda: ["node", str(clients / "kafkajs" / "client.js")],
            "kcat": lambda: [sys.executable, str(clients / "kcat" / "client.py")],
            "kafka-python": lambda: [sys.executable, str(clients / "python" / "kafka_python_client.py")],
            "aiokafka": lambda: [sys.executable, str(clients / "python" / "aiokafka_client.py")],
        }[self.name]()

    def available(self):
        """Whether the toolchain it needs is on this machine."""
        return shutil.which(self.needs) is not None


ALL = {
    client.name: client
    for client in (
        Client("java", needs="java", protocols=("classic", "consumer")),
        Client("python", needs="python3", protocols=("classic", "consumer")),
        Client("franz-go", needs="go", protocols=("classic", "consumer")),
        Client("sarama", needs="go"),
        Client("kafkajs", needs="node", consumes=False, null_headers=False, instances=False),
        Client("kcat", needs="kcat", timestamps=False, tells_commits=False),
    )
}

# Those that are here as members of groups only, beside all others.
MEMBERS = {
    **ALL,
    "kafka-python": Client("kafka-python", needs="python3"),
    "aiokafka": Client("aiokafka", needs="python3"),
}


class Session:
    """One running client. `run` waits for a whole command; `begin`, `line` and `end` are for a command that runs beside the test."""

    def __init__(self, client, stderr_file):
        self.client = client
        self._process = LineProcess([*client.command(), "session"], stderr_file)

    def run(self, verb, **options):
        self.begin(verb, **options)
        return self.end()

    def begin(self, verb, **options):
        self._process.send([verb, *arguments(options)])

    def line(self, patience=60):
        """The next line of the running command."""
        line = self._process.receive(patience)
        if "end" in line and "error" in line:
            raise ClientError(self.client.name, line)
        return line

    def said(self):
        """The next line of the running command if there is one already, or None; the last one has "end"."""
        return self._process.received()

    def end(self, patience=120):
        """The rest of the running command's lines."""
        *lines, end = self._process.receive_until_end(patience)
        if "error" in end:
            raise ClientError(self.client.name, end)
        return lines

    def produce(self, broker, topic, **options):
        """Sends records and returns their acknowledgements; a refused record fails the test."""
        lines = self.attempt(broker, topic, **options)
        refused = [line for line in lines if "error" in line]
        assert refused == [], f"{self.client.name} into {topic}, {len(refused)} of {len(lines)} refused, first {refused[0]}"
        return lines

    def attempt(self, broker, topic, **options):
        """Sends records that may be refused."""
        return self.run("produce", bootstrap=broker.bootstrap, topic=topic, **options)

    def consume(self, broker, topic, **options):
        return self.run("consume", bootstrap=broker.bootstrap, topic=topic, **options)

    def alive(self):
        return self._process.alive()

    def close(self):
        self._process.close()


class Admin:
    """The Java admin client, by way of the Java client's `admin` verb."""

    def __init__(self, session, broker):
        self._session = session
        self._broker = broker

    def answer(self, op, config=(), **fields):
        """{"result": ...} or {"error": exception class, "message": ...}."""
        text = json.dumps({"op": op, **fields})
        [line] = self._session.run("admin", bootstrap=self._broker.bootstrap, op=text, config=config)
        return line

    def call(self, op, **fields):
        """The result; an exception of the admin client fails the test."""
        answer = self.answer(op, **fields)
        assert "error" not in answer, f"{op} {fields}: {answer['error']}: {answer['message']}"
        return answer["result"]

    def create(self, name, partitions=1, **configs):
        """Creates a topic, and waits until its partitions are led; configs are given with underscores for dots."""
        settings = {key.replace("_", "."): str(value) for key, value in configs.items()}
        made = self.call("create-topic", name=name, partitions=partitions, replication=1, configs=settings)
        # In Apache Kafka the answer comes before the broker leads, or knows the topic at all. Most clients retry until it does; acks=0
        # and raw frames do not. Aplomb leads when it answers, so it is asked once.
        deadline = time.monotonic() + (10 if self._broker.kind == "kafka" else 0)
        listed = {"topic": name, "partition": partitions - 1, "spec": "latest"}
        while "UnknownTopicOrPartition" in (listing := self.answer("list-offset", **listed)).get("error", "") and time.monotonic() < deadline:
            time.sleep(0.1)
        assert "error" not in listing, f"{name} was made, and cannot be listed: {listing}"
        return made

    def offset(self, topic, spec, partition=0):
        return self.call("list-offset", topic=topic, partition=partition, spec=str(spec))["offset"]


def arguments(options):
    """Keyword options as a command line: True is a bare flag, a list repeats the option, None and False leave it out."""
    line = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            line.append(flag)
        elif isinstance(value, (list, tuple)):
            for each in value:
                line += [flag, str(each)]
        elif value is not None and value is not False:
            line += [flag, str(value)]
    return line
