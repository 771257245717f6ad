"""The librdkafka client of the end-to-end suite, by way of confluent-kafka."""

import time

import member
import suite
import transfers
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException, Producer, TopicPartition


def produce(options):
    acks = options.get("--acks", "all")
    producer = Producer(
        {
            "bootstrap.servers": options["--bootstrap"],
            "acks": acks,
            "enable.idempotence": "--idempotent" in options,
            "compression.type": options.get("--compression", "none"),
            "linger.ms": 5,
            "message.timeout.ms": 60000,
            # Without idempotence, more than one request in flight could reorder records on a retry.
            "max.in.flight": 5 if "--idempotent" in options else 1,
            **dict(options["--config"]),
        }
    )
    acknowledged = 0

    def on_delivery(seq):
        def report(error, message):
            nonlocal acknowledged
            if error is not None:
                suite.emit({"seq": seq, "error": error.name(), "message": error.str()})
                return
            acknowledged += 1
            if acks != "0":
                suite.emit({"partition": message.partition(), "offset": message.offset(), "seq": seq})

        return report

    rate = options.number("--rate", 0)
    start = time.monotonic()
    for seq in range(options.number("--count", 1)):
        while rate and (early := start + seq / rate - time.monotonic()) > 0:
            producer.poll(early)  # which ends early for every report
        record = {"key": options.key(seq), "headers": options.headers(), "on_delivery": on_delivery(seq)}
        if "--partition" in options:
            record["partition"] = options.number("--partition", 0)
        if "--timestamp" in options:
            record["timestamp"] = options.number("--timestamp", 0) + seq
        _send(producer, options, seq, record)
    unsent = producer.flush(90)
    if unsent:
        raise RuntimeError(f"{unsent} records were neither acknowledged nor refused")
    if acks == "0":
        suite.emit({"count": acknowledged})


def _send(producer, options, seq, record):
    while True:
        try:
            producer.produce(options["--topic"], value=options.value(seq), **record)
            producer.poll(0)
            return
        except BufferError:
            producer.poll(0.1)
        except KafkaException as refused:
            error = refused.args[0]
            suite.emit({"seq": seq, "error": error.name(), "message": error.str()})
            return


def consume(options):
    consumer = Consumer(
        {
            "bootstrap.servers": options["--bootstrap"],
            # The library wants a name; with assign() and no commits there is no group.
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
            # Closing waits for the fetch that is parked at the broker.
            "fetch.wait.max.ms": 100,
            "fetch.message.max.bytes": options.number("--max-partition-bytes", 1 << 20),
            **dict(options["--config"]),
        }
    )
    try:
        consumer.assign([_start(consumer, options)])
        deadline = time.monotonic() + options.number("--timeout", 30)
        wanted = options.number("--count", 1)
        seen = 0
        while seen < wanted and time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is not None:
                raise KafkaException(message.error())
            seen += 1
            _print(message)
    finally:
        consumer.close()


def _start(consumer, options):
    topic, partition = options["--topic"], options.number("--partition", 0)
    if "--timestamp" in options:
        asked = TopicPartition(topic, partition, options.number("--timestamp", 0))
        return consumer.offsets_for_times([asked], timeout=30)[0]
    names = {"earliest": OFFSET_BEGINNING, "latest": OFFSET_END}
    offset = options.get("--offset", "earliest")
    return TopicPartition(topic, partition, names[offset] if offset in names else int(offset))


def _print(message):
    def text(data):
        return None if data is None else data.decode()

    suite.emit(
        {
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": message.timestamp()[1],
            "key": text(message.key()),
            "value_sha": suite.sha256(message.value()),
            "headers": [[key, text(data)] for key, data in message.headers() or []],
        }
    )


def group(options):
    me = member.Member(options)
    config = {
        "bootstrap.servers": options["--bootstrap"],
        "group.id": options["--group"],
        "enable.auto.commit": me.commits == "auto",
        "auto.commit.interval.ms": 500,
        "auto.offset.reset": "error" if me.reset == "none" else me.reset,
        "fetch.wait.max.ms": 100,
        "topic.metadata.refresh.interval.ms": 1000,
        "reconnect.backoff.max.ms": 500,
        # What goes wrong on the way is reported by the records that are not there.
        "log_level": 0,
    }
    if options.get("--protocol") == "consumer":
        config["group.protocol"] = "consumer"
        if "--assignor" in options:
            config["group.remote.assignor"] = options["--assignor"]
    else:
        config["session.timeout.ms"] = me.session_ms
        config["heartbeat.interval.ms"] = member.HEARTBEAT_MS
        if "--assignor" in options:
            config["partition.assignment.strategy"] = options["--assignor"]
    if "--instance" in options:
        config["group.instance.id"] = options["--instance"]
    consumer = Consumer({**config, **dict(options["--config"])})

    def pairs(partitions):
        return [(each.topic, each.partition) for each in partitions]

    def on_revoke(consumer, partitions):
        _commit(consumer, me, waits=True)
        me.revoked(pairs(partitions))

    consumer.subscribe(
        [options["--pattern"]] if "--pattern" in options else me.topics,
        on_assign=lambda _, partitions: me.assigned(pairs(partitions)),
        on_revoke=on_revoke,
        on_lost=lambda _, partitions: me.lost(pairs(partitions)),
    )
    try:
        while me.goes_on():
            for message in consumer.consume(500, 0.1):
                if message.error() is None:
                    at = (message.topic(), message.partition(), message.offset(), message.timestamp()[1])
                    me.record(*at, message.key(), message.value(), message.headers())
                elif message.error().fatal():
                    raise KafkaException(message.error())
                else:
                    member.error(message.error().name(), message.error().str())
            _commit(consumer, me, waits=me.commits == "sync")
        _commit(consumer, me, waits=True)
    finally:
        consumer.close()


def _commit(consumer, me, waits):
    offsets = me.uncommitted()
    if not offsets:
        return
    asked = [TopicPartition(*partition, offset) for partition, offset in offsets.items()]
    try:
        if not waits:
            consumer.commit(offsets=asked, asynchronous=True)
            return
        for answer in consumer.commit(offsets=asked, asynchronous=False):
            if answer.error is not None:
                raise KafkaException(answer.error)
    except KafkaException as failed:
        member.error(failed.args[0].name(), failed.args[0].str())
        return
    me.committed(offsets)


if __name__ == "__main__":
    suite.main({"produce": produce, "consume": consume, "group": group, "transfer": transfers.transfer})
