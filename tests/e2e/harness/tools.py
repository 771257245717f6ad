"""Apache Kafka's command-line tools, unmodified, by the names of their scripts."""

from dataclasses import dataclass

from harness import places
from harness.lines import LineProcess

_MAIN = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "transactional-message-copier": "org.apache.kafka.tools.TransactionalMessageCopier",
    "log-compaction-tester": "org.apache.kafka.tools.LogCompactionTester",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
}


def main_class(tool):
    """The class that the tool's script starts."""
    return _MAIN[tool]


@dataclass(frozen=True)
class Ran:
    """How a tool ended and what it said."""

    exit: int
    stdout: str
    stderr: str

    @property
    def output(self):
        return self.stdout + self.stderr

    def lines(self):
        return [line.rstrip() for line in self.stdout.splitlines() if line.strip()]


class Tools:
    """One JVM that runs tools in turn; a tool that never ends is a failure, and the next one gets a new JVM."""

    def __init__(self, stderr_file):
        self._stderr_file = stderr_file
        self._process = None

    def run(self, tool, *arguments, stdin="", timeout=120):
        """Runs the tool to its end, whatever its exit code."""
        if self._process is None or not self._process.alive():
            self._process = LineProcess([*places.java("tools"), "aplomb.tools.ToolRunner"], self._stderr_file)
        try:
            self._process.send({"main": _MAIN[tool], "args": list(map(str, arguments)), "stdin": stdin})
            return Ran(**self._process.receive(timeout))
        except Exception:
            self.close()
            raise

    def ok(self, tool, *arguments, **options):
        """Runs the tool and expects exit code 0."""
        ran = self.run(tool, *arguments, **options)
        assert ran.exit == 0, f"{tool} {' '.join(map(str, arguments))} left with {ran.exit}:\n{ran.output}"
        return ran

    def close(self):
        if self._process is not None:
            self._process.close()
            self._process = None
