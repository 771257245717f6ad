"""Command-line tools that people have, beside Apache Kafka's own: kcat, kafka-python's, kcl, kaf and
topicctl. Each is used as it comes, for what it can do. kafka-python's are the newest release, by
tests/setup.sh; the others are run where they are on this machine."""

import ast
import itertools
import os
import re
import shutil
import subprocess
import threading

import pytest
from harness import places

PROPERTIES = {"auto.create.topics.enable": "false"}
RECORDS = "one\ntwo\nthree\n"


class Tool:
    """Runs a command to its end, with what every call of it has in common."""

    def __init__(self, command, version, environment=None):
        self._command = list(map(str, command))
        self._environment = {**os.environ, **(environment or {})}
        self.version = version

    def run(self, *arguments, stdin="", timeout=60):
        command = [*self._command, *map(str, arguments)]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout, env=self._environment, check=False)

    def ok(self, *arguments, **options):
        """What it printed, on both of its outputs; any exit code but 0 fails the test."""
        done = self.run(*arguments, **options)
        assert done.returncode == 0, f"{self.version}: {arguments} left with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def rows(self, *arguments):
        """The words of each line."""
        return [line.split() for line in self.ok(*arguments).splitlines()]

    def lines_of(self, count, *arguments, patience=30):
        """The first lines of a command that does not end by itself."""
        command = [*self._command, *map(str, arguments)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self._environment) as reading:
            ending = threading.Timer(patience, reading.kill)
            ending.start()
            try:
                return [line.rstrip("\n") for line in itertools.islice(reading.stdout, count)]
            finally:
                ending.cancel()
                reading.kill()


def on_this_machine(name):
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on this machine")
    return found


@pytest.fixture
def told(record_property):
    """Tells which release a test is about to use."""

    def tell(tool):
        record_property("release", tool.version)
        return tool

    return tell


def says(*command):
    """What it says in one line."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return " ".join((done.stdout + done.stderr).split())


def test_kcat(broker, admin, topic, told):
    program = on_this_machine("kcat")
    version = re.search(r"Version (\S+) .*(librdkafka \S+)", says(program, "-V"))
    kcat = told(Tool([program, "-b", broker.bootstrap], f"kcat {' with '.join(version.groups())}"))
    admin.create(topic, 3)
    listed = kcat.ok("-L")
    assert "1 brokers:" in listed and f'topic "{topic}" with 3 partitions:' in listed
    assert "partition 2, leader 1, replicas: 1, isrs: 1" in kcat.ok("-L", "-t", topic)
    kcat.ok("-P", "-t", topic, "-p", 1, stdin=RECORDS)
    assert kcat.ok("-C", "-q", "-e", "-t", topic, "-p", 1) == RECORDS
    assert kcat.ok("-C", "-q", "-e", "-t", topic, "-p", 1, "-o", -1) == "three\n"
    assert kcat.ok("-Q", "-t", f"{topic}:1:-1").split() == [topic, "[1]", "offset", "3"]
    assert "Unknown topic or partition" in kcat.ok("-L", "-t", "missing")


def test_kafka_python(broker, topic, told):
    python = places.WORK / "newest" / "bin" / "python"
    if not python.exists():
        pytest.skip("tests/setup.sh could not install the newest clients: the package index was not there")
    release = says(python, "-c", "import kafka; print('kafka-python', kafka.__version__)")
    admin = told(Tool([python, "-m", "kafka.admin", "-b", broker.bootstrap], release))

    def said(*arguments):
        return ast.literal_eval(admin.ok(*arguments))

    admin.ok("topics", "create", "-t", topic, "--num-partitions", 3, "--replication-factor", 1)
    assert topic in said("topics", "list")
    (described,) = said("topics", "describe", "-t", topic)
    assert [part["leader_id"] for part in described["partitions"]] == [1, 1, 1]
    (missing,) = said("topics", "describe", "-t", "missing")
    assert missing["error_code"] == 3
    assert len(said("cluster", "describe")["brokers"]) == 1
    settings = said("configs", "describe", "-r", "topic", "-n", topic, "--default")
    assert "'cleanup.policy'" in str(settings)
    with_records = ["-b", broker.bootstrap, "-t", topic]
    Tool([python, "-m", "kafka.producer"], release).ok(*with_records, stdin=RECORDS)
    consumer = Tool([python, "-u", "-m", "kafka.consumer"], release)
    # It spreads them over the partitions, and reads from all of them.
    assert sorted(consumer.lines_of(3, *with_records, "-C", "auto_offset_reset=earliest")) == sorted(RECORDS.split())
    admin.ok("topics", "delete", "-t", topic)
    assert topic not in said("topics", "list")


def test_kcl(broker, topic, told):
    program = on_this_machine("kcl")
    kcl = told(Tool([program, "-B", broker.bootstrap], says(program, "--version"), {"KCL_NO_CONFIG_FILE": "1"}))
    assert ["1*", "127.0.0.1", str(broker.port)] in kcl.rows("cluster", "metadata")
    assert kcl.rows("topic", "create", topic, "-p", "3", "-r", "1")[1][::2] == [topic, "OK"]
    assert [topic, "3", "1"] in [[row[0], *row[2:]] for row in kcl.rows("topic", "list")]
    assert ["2", "1", "0", "[1]", "[1]", "[]"] in kcl.rows("topic", "describe", topic)
    assert ["cleanup.policy", "delete", "DEFAULT_CONFIG"] in kcl.rows("config", "describe", topic, "-t", "topic")
    kcl.ok("produce", topic, "-p", 1, stdin=RECORDS)
    assert kcl.ok("consume", topic, "-p", 1, "-n", 3) == RECORDS
    assert "UNKNOWN_TOPIC_OR_PARTITION" in str(kcl.run("topic", "describe", "missing"))
    assert "__cluster_metadata partition 0: leader 1" in kcl.ok("cluster", "describe-quorum")
    assert ["1", str(broker.log_dirs[0]), topic, "2", "0", "0", "false"] in kcl.rows("logdirs", "describe")
    assert kcl.rows("topic", "delete", topic)[1] == [topic, "OK"]
    assert topic not in kcl.ok("topic", "list")


def test_kaf(broker, topic, told, tmp_path):
    program = on_this_machine("kaf")
    kaf = told(Tool([program, "-b", broker.bootstrap], says(program, "--version"), {"HOME": str(tmp_path)}))
    assert ["1", broker.bootstrap, "true"] in kaf.rows("nodes")
    assert "Created topic!" in kaf.ok("topic", "create", topic, "-p", 3, "-r", 1)
    assert [topic, "3", "1"] in kaf.rows("topics")
    described = kaf.rows("topic", "describe", topic)
    assert ["2", "0", "1", "[1]", "[1]"] in described and ["cleanup.policy", "delete", "false", "false"] in described
    assert "Sent record to partition 1 at offset 2." in kaf.ok("produce", topic, "-p", 1, stdin=RECORDS)
    read = kaf.ok("consume", topic, "-p", 1, "--offset", "oldest", "-l", 3, "--output", "raw")
    assert read.split() == RECORDS.split()
    assert "Topic missing not found" in str(kaf.run("topic", "describe", "missing"))
    assert "Deleted topic" in kaf.ok("topic", "delete", topic)
    assert [topic, "3", "1"] not in kaf.rows("topics")


TOPICCTL_CLUSTER = """
meta: {{name: local, environment: test, region: here}}
spec: {{bootstrapAddrs: ["{bootstrap}"]}}
"""
TOPICCTL_TOPIC = """
meta: {{name: {topic}, cluster: local, environment: test, region: here}}
spec: {{partitions: {partitions}, replicationFactor: 1, retentionMinutes: {minutes}, placement: {{strategy: any}}}}
"""


def test_topicctl(broker, topic, told, tmp_path):
    """It makes a topic what a file says, and again when the file says something else. It writes no
    records, and deletes for those only who answer its question at a terminal."""
    topicctl = told(Tool([on_this_machine("topicctl")], says("topicctl", "--version")))
    at = ["--broker-addr", broker.bootstrap]
    cluster, file = tmp_path / "cluster.yaml", tmp_path / "topic.yaml"
    cluster.write_text(TOPICCTL_CLUSTER.format(bootstrap=broker.bootstrap))

    def apply(**wanted):
        file.write_text(TOPICCTL_TOPIC.format(topic=topic, **wanted))
        topicctl.ok("apply", "--skip-confirm", "--sleep-loop-duration", "1s", "--cluster-config", cluster, file)
        return [word for word in re.split(r"[ |]+", topicctl.ok("get", "topics", *at).split(topic)[1].splitlines()[0]) if word]

    assert apply(partitions=3, minutes=60)[:3] == ["3", "1", "60"]
    assert apply(partitions=4, minutes=120)[:3] == ["4", "1", "120"]
    assert re.search(r"retention\.ms +\| +7200000", topicctl.ok("get", "config", topic, *at))
    assert re.search(rf"{topic} +\| 3 +\| 1 +\| \[1\] \| \[1\] .*OK", topicctl.ok("get", "partitions", topic, *at))
    assert re.search(rf" 1 +\| 127\.0\.0\.1 \| {broker.port} ", topicctl.ok("get", "brokers", *at))
    failed = topicctl.run("get", "config", "missing", *at)
    assert "missing" in failed.stdout + failed.stderr
