"""Transactions of several clients: what readers of committed records get, who is fenced, offsets that hold with their transaction, and
what kafka-transactions tells of them. Each with the broker under test, and killed in between where it says so."""

import asyncio
import struct
import time

import confluent_kafka as ck
import pytest
from aiokafka import AIOKafkaProducer
from differential.batches import batch, record
from harness import wire
from kafka import KafkaProducer

PROPERTIES = {
    "transaction.state.log.num.partitions": "5", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "5",
}  # fmt: skip


def producer(broker, identity, **settings):
    made = ck.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": identity, "linger.ms": 0, **settings})
    made.init_transactions(30)
    return made


def committed(broker, topic, partitions=1, isolation="read_committed"):
    """All values that a reader gets, up to the end that it sees, in the order of each partition."""
    consumer = ck.Consumer({
        "bootstrap.servers": broker.bootstrap, "group.id": "r", "isolation.level": isolation, "enable.auto.commit": False,
        "enable.partition.eof": True,
    })
    consumer.assign([ck.TopicPartition(topic, partition, ck.OFFSET_BEGINNING) for partition in range(partitions)])
    values, ended, deadline = [], set(), time.monotonic() + 60
    while len(ended) < partitions:
        assert time.monotonic() < deadline, f"{topic} has no end after {values}"
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            assert message.error().code() == ck.KafkaError._PARTITION_EOF, message.error()
            ended.add(message.partition())
        else:
            values.append(message.value().decode())
    consumer.close()
    return values


def until(condition, what):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_readers_get_what_is_committed(broker, admin, topic):
    admin.create(topic, partitions=3)
    writer = producer(broker, topic)
    for round_, ends in enumerate([writer.commit_transaction, writer.abort_transaction, writer.commit_transaction]):
        writer.begin_transaction()
        for partition in range(3):
            writer.produce(topic, f"{round_}-{partition}".encode(), partition=partition)
        writer.flush(30)  # what was not sent would be forgotten by an abort
        ends(30)
    expected = [f"{round_}-{partition}" for round_ in (0, 2) for partition in range(3)]
    until(lambda: sorted(committed(broker, topic, 3)) == expected, "all that is committed is seen")
    assert len(committed(broker, topic, 3, "read_uncommitted")) == 9


def test_an_open_transaction_holds_readers_of_committed_records_back(broker, admin, topic):
    admin.create(topic)
    first, second = producer(broker, f"{topic}-1"), producer(broker, f"{topic}-2")
    first.begin_transaction()
    first.produce(topic, b"open")
    first.flush(30)
    second.begin_transaction()
    second.produce(topic, b"done")
    second.commit_transaction(30)
    assert committed(broker, topic) == []
    assert committed(broker, topic, isolation="read_uncommitted") == ["open", "done"]
    first.commit_transaction(30)
    until(lambda: committed(broker, topic) == ["open", "done"], "both are seen")


def test_a_zombie_is_fenced(broker, admin, topic):
    admin.create(topic)
    zombie = producer(broker, topic)
    zombie.begin_transaction()
    zombie.produce(topic, b"zombie")
    zombie.flush(30)
    successor = producer(broker, topic)
    successor.begin_transaction()
    successor.produce(topic, b"successor")
    successor.commit_transaction(30)
    with pytest.raises(ck.KafkaException) as fenced:
        zombie.commit_transaction(30)
    assert fenced.value.args[0].fatal(), fenced.value
    until(lambda: committed(broker, topic) == ["successor"], "the successor's is seen")


def test_a_transaction_that_lasts_too_long_is_aborted(broker, admin, topic):
    admin.create(topic)
    slow = producer(broker, topic, **{"transaction.timeout.ms": 2_000, "message.timeout.ms": 2_000})
    slow.begin_transaction()
    slow.produce(topic, b"late")
    slow.flush(30)
    other = producer(broker, f"{topic}-other")
    other.begin_transaction()
    other.produce(topic, b"behind")
    other.commit_transaction(30)
    until(lambda: committed(broker, topic) == ["behind"], "it is aborted when its time is up")
    with pytest.raises(ck.KafkaException):
        slow.commit_transaction(30)


def offsets(broker, group, topic):
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    [found] = consumer.committed([ck.TopicPartition(topic, 0)], timeout=30)
    consumer.close()
    return found.offset


def test_offsets_hold_with_their_transaction(broker, admin, topic):
    """Reads, writes what it has read elsewhere and commits both, or neither."""
    admin.create(topic)
    admin.create(f"{topic}-out")
    writer = ck.Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(20):
        writer.produce(topic, str(n).encode())
    writer.flush(30)
    consumer = ck.Consumer({
        "bootstrap.servers": broker.bootstrap, "group.id": topic, "auto.offset.reset": "earliest", "enable.auto.commit": False,
        "session.timeout.ms": 6_000,
    })
    consumer.subscribe([topic])
    copier, seen = producer(broker, topic), 0
    while seen < 20:
        messages = consumer.consume(5, timeout=30)
        copier.begin_transaction()
        for message in messages:
            copier.produce(f"{topic}-out", message.value())
        copier.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30)
        if seen == 5:  # once it goes wrong, and all of it is done again
            copier.abort_transaction(30)
            back = [ck.TopicPartition(topic, 0, offset) for offset in [messages[0].offset()]]
            consumer.seek(back[0])
            seen += 0.5
            continue
        copier.commit_transaction(30)
        seen = int(seen) + len(messages)
    consumer.close()
    assert offsets(broker, topic, topic) == 20
    until(lambda: committed(broker, f"{topic}-out") == [str(n) for n in range(20)], "each is there once")


@pytest.mark.parametrize("client", ("java", "franz-go", "sarama", "kafkajs"))
def test_other_clients_copy_with_offsets_in_their_transactions(broker, admin, clients, topic, client):
    """Every third transaction is aborted, and done again."""
    admin.create(topic)
    admin.create(f"{topic}-out")
    writer = ck.Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(30):
        writer.produce(topic, str(n).encode())
    writer.flush(30)
    ends = clients[client].run(
        "copy", bootstrap=broker.bootstrap, topic=topic, output=f"{topic}-out", group=topic, transactional_id=topic, count=30, batch=7,
    )  # fmt: skip
    assert sum(end["records"] for end in ends if end["committed"]) == 30
    aborted = sum(end["records"] for end in ends if not end["committed"])
    assert aborted > 0, ends
    until(lambda: committed(broker, f"{topic}-out") == [str(n) for n in range(30)], "each is there once")
    assert len(committed(broker, f"{topic}-out", isolation="read_uncommitted")) == 30 + aborted
    assert offsets(broker, topic, topic) == 30


def test_aiokafka_and_kafka_python_write_in_transactions(broker, admin, topic):
    admin.create(topic)

    async def with_aiokafka():
        writer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=f"{topic}-a")
        await writer.start()
        async with writer.transaction():
            await writer.send_and_wait(topic, b"a1")
        with pytest.raises(ZeroDivisionError):
            async with writer.transaction():
                await writer.send_and_wait(topic, b"a2")
                raise ZeroDivisionError
        await writer.stop()

    asyncio.run(with_aiokafka())
    writer = KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=f"{topic}-k")
    writer.init_transactions()
    for value, ends in ((b"k1", writer.commit_transaction), (b"k2", writer.abort_transaction)):
        writer.begin_transaction()
        writer.send(topic, value).get(30)
        ends()
    writer.close()
    until(lambda: committed(broker, topic) == ["a1", "k1"], "what was committed is seen")


def test_kafka_transactions_tells_what_there_is(broker, admin, tools, topic):
    admin.create(topic)
    writer = producer(broker, topic)
    writer.begin_transaction()
    writer.produce(topic, b"x")
    writer.flush(30)
    at = ("--bootstrap-server", broker.bootstrap)
    listed = tools.ok("kafka-transactions", *at, "list").lines()
    [row] = [line.split() for line in listed if line.split()[0] == topic]
    assert row[-1] == "Ongoing", row
    described = tools.ok("kafka-transactions", *at, "describe", "--transactional-id", topic).output
    assert "Ongoing" in described and f"{topic}-0" in described, described
    producers = tools.ok("kafka-transactions", *at, "describe-producers", "--topic", topic, "--partition", 0).lines()
    assert len(producers) == 2 and producers[1].split()[-1] == "0", producers
    writer.commit_transaction(30)
    until(
        lambda: "CompleteCommit" in tools.ok("kafka-transactions", *at, "describe", "--transactional-id", topic).output,
        "it is complete",
    )


def test_kafka_transactions_aborts_what_is_open(broker, admin, tools, topic):
    """In one partition, which its readers are free to go on from; to the transaction's coordinator it is open all the same."""
    admin.create(topic)
    writer = producer(broker, topic)
    writer.begin_transaction()
    writer.produce(topic, b"x")
    writer.flush(30)
    at = ("--bootstrap-server", broker.bootstrap)
    tools.ok("kafka-transactions", *at, "abort", "--topic", topic, "--partition", 0, "--start-offset", 0)
    other = ck.Producer({"bootstrap.servers": broker.bootstrap})
    other.produce(topic, b"y")
    other.flush(30)
    until(lambda: committed(broker, topic) == ["y"], "readers go on")
    assert "Ongoing" in tools.ok("kafka-transactions", *at, "describe", "--transactional-id", topic).output


def test_a_transaction_that_hangs_is_found_and_ended(start_broker, tools):
    """One that no coordinator knows, as older brokers could leave it behind."""
    broker = start_broker(properties={**PROPERTIES, "transaction.partition.verification.enable": "false"})
    an_hour_ago = int(time.time() * 1000) - 3_600_000
    hanging = batch([record(0)], attributes=0x10, producer=(77_000, 3, 0), first=an_hour_ago, most=an_hour_ago)
    other = ck.Producer({"bootstrap.servers": broker.bootstrap})
    other.produce("hung", b"before", partition=0)
    assert other.flush(30) == 0
    body = wire.string("of-nobody") + struct.pack(">hii", -1, 10_000, 1) + wire.string("hung") + struct.pack(">iii", 1, 0, len(hanging)) + hanging
    with wire.Connection(broker.port) as connection:
        answer = connection.ask(wire.header(wire.PRODUCE, 7) + body)
    assert struct.unpack(">h", answer[4 + 4 + 2 + len("hung") + 4 + 4 :][:2]) == (0,), answer
    other.produce("hung", b"behind", partition=0)
    assert other.flush(30) == 0
    assert committed(broker, "hung") == ["before"]
    at = ("--bootstrap-server", broker.bootstrap)
    found = tools.ok("kafka-transactions", *at, "find-hanging", "--broker-id", 1, "--max-transaction-timeout", 1).lines()
    assert len(found) == 2 and found[1].split()[:3] == ["hung", "0", "77000"], found
    tools.ok("kafka-transactions", *at, "abort", "--topic", "hung", "--partition", 0, "--start-offset", 1)
    until(lambda: committed(broker, "hung") == ["before", "behind"], "readers go on")
    assert len(tools.ok("kafka-transactions", *at, "find-hanging", "--broker-id", 1, "--max-transaction-timeout", 1).lines()) == 1
    broker.close()


def test_the_message_copier_copies_each_once(broker, admin, tools, topic):
    """The program that Apache Kafka's system tests use."""
    admin.create(topic)
    admin.create(f"{topic}-out")
    writer = ck.Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(500):
        writer.produce(topic, key=str(n), value=str(n))
    assert writer.flush(30) == 0
    copied = tools.ok(
        "transactional-message-copier", "--broker-list", broker.bootstrap, "--input-topic", topic, "--input-partition", 0, "--output-topic",
        f"{topic}-out", "--max-messages", 500, "--consumer-group", topic, "--transaction-size", 50, "--transactional-id", topic,
        "--transaction-timeout", 30_000, "--enable-random-aborts", "--group-mode", "--use-group-metadata",
    )  # fmt: skip
    assert '"remaining":0' in copied.stdout.replace(" ", ""), copied.output
    until(lambda: committed(broker, f"{topic}-out") == [str(n) for n in range(500)], "each is there once")
    assert offsets(broker, topic, topic) == 500


def test_the_producer_perf_test_and_the_console_consumer(broker, admin, tools, topic):
    admin.create(topic, partitions=2)
    at = ("--bootstrap-server", broker.bootstrap)
    tools.ok(
        "kafka-producer-perf-test", *at, "--topic", topic, "--num-records", 2000, "--record-size", 100, "--throughput", 4000,
        "--transactional-id", topic, "--transaction-duration-ms", 50,
    )
    read = ("--topic", topic, "--from-beginning", "--isolation-level", "read_committed", "--max-messages", 2000, "--timeout-ms", 20_000)
    assert len(tools.ok("kafka-console-consumer", *at, *read).lines()) == 2000


def test_none_of_many_batches_under_way_is_out_of_order(broker, admin, tools, topic):
    """Five small ones at a time, to eight partitions, from the first moment of each transaction on: some are still on their way to the
    coordinator when those behind them come."""
    admin.create(topic, partitions=8)
    properties = [word for each in ("linger.ms=0", "batch.size=2000") for word in ("--command-property", each)]
    ran = tools.ok(
        "kafka-producer-perf-test", "--bootstrap-server", broker.bootstrap, "--topic", topic, "--num-records", 60_000, "--record-size", 1000,
        "--throughput", 20_000, "--transactional-id", topic, "--transaction-duration-ms", 10, *properties,
    )
    assert "OutOfOrder" not in ran.output
    assert len(committed(broker, topic, 8)) == 60_000


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_transfers_add_up_whenever_the_broker_goes(broker, admin, topic, how):
    """Each transfer takes from one account and gives to another, in one transaction; a reader of committed records never sees one
    without the other."""
    admin.create(topic, partitions=4)
    writer, done = producer(broker, topic), 0
    for round_ in range(4):
        for n in range(40):
            writer.begin_transaction()
            try:
                for partition, amount in ((n % 4, -n), ((n + 1) % 4, n)):
                    writer.produce(topic, f"{round_}.{n}:{amount}".encode(), partition=partition)
                if n == 20 and round_ < 3:
                    getattr(broker, how)()
                    broker.start()
                writer.commit_transaction(60)
                done += 1
            except ck.KafkaException as error:
                assert error.args[0].txn_requires_abort() or error.args[0].retriable(), error
                writer.abort_transaction(60)
    assert done >= 150
    until(lambda: len(committed(broker, topic, 4)) == 2 * done, f"{done} transfers are seen")
    seen = [value.split(":") for value in committed(broker, topic, 4)]
    assert sum(int(amount) for _, amount in seen) == 0
    assert len({name for name, _ in seen}) == done
