"""The two brokers as they are deployed: the end-to-end suite's, without the settings that make its tests quick.

Always holds: each has its own defaults, and what both are given is the same. `start` returns when the first record has been acknowledged,
and `first_record_ms` is how long that took from the start of the process; `start_until` waits for something else. Next: `first_record`."""

import time

import first_record
from suite import broker, places

# What the start script of Apache Kafka passes to its JVM: kafka-server-start.sh and kafka-run-class.sh of its source tree at 4.0.0-SNAPSHOT
# (1eb7644349c), since the jars carry no scripts; without a JMX port. A release may have dropped MaxInlineLevel, whose value is the JVM's default.
HEAP = ("-Xmx1G", "-Xms1G")
PERFORMANCE = (
    "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 "
    "-XX:+ExplicitGCInvokesConcurrent -XX:MaxInlineLevel=15 -Djava.awt.headless=true"
).split()
JMX = ["-Dcom.sun.management.jmxremote=true", "-Dcom.sun.management.jmxremote.authenticate=false", "-Dcom.sun.management.jmxremote.ssl=false"]


class _Deployed:
    """What the bench changes in both."""

    # Keys by which the suite makes its brokers quick or strict.
    suite_only = ()

    def __init__(self, directory, properties=None):
        super().__init__(directory, properties)
        for key in self.suite_only:
            del self.properties[key]
        self.first_record_ms = None
        self._spawned = None
        # What a start waits for in place of a record, and what that found.
        self._awaited = self._found = None

    def start_until(self, awaited):
        """Starts it and returns what `awaited` does, which is given the port, whether the broker is alive, when its process was started, and
        when to give up."""
        self._awaited = awaited
        try:
            self.start()
        finally:
            self._awaited = None
        return self._found

    def _command(self, config):
        # The last thing that happens before the process starts; formatting Apache Kafka's directory comes earlier and is not counted.
        self._spawned = time.monotonic()
        return self._program(config)

    def _wait_until_ready(self):
        deadline = self._spawned + self.start_timeout
        if self._awaited is not None:
            self._found = self._awaited(self.port, self.alive, self._spawned, deadline)
            return
        self.first_record_ms = 1000 * (first_record.acknowledged(self.port, self.alive, deadline) - self._spawned)


class Aplomb(_Deployed, broker.Aplomb):
    # The tail's directory stays the suite's: a folder in /dev/shm, which is the default, that is removed in the end.
    suite_only = ("aplomb.guard", "aplomb.tail.bytes", "aplomb.shards")

    def _program(self, config):
        return broker.Aplomb._command(self, config)


class Kafka(_Deployed, broker.Kafka):
    suite_only = ("log.initial.task.delay.ms", "broker.session.timeout.ms", "broker.heartbeat.interval.ms")

    def _program(self, config):
        gc_log = f"-Xlog:gc*:file={self.directory}/kafkaServer-gc.log:time,tags:filecount=10,filesize=100M"
        log = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
        return ["java", *HEAP, *PERFORMANCE, gc_log, *JMX, *log, "-cp", places.class_path("oracle"), "kafka.Kafka", str(config)]
