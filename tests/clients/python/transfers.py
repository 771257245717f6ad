"""Takes from one account and gives to another, each time in one transaction of librdkafka, until a file is there."""

import random
import sys
from pathlib import Path

import suite
from confluent_kafka import KafkaError, KafkaException, Producer

FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


class Fenced(Exception):
    pass


def say(line):
    suite.emit(line)
    sys.stdout.flush()


def transfer(options):
    chance, until, counter = random.Random(options.number("--seed", 0)), Path(options["--until"]), [0]
    while not until.exists():
        try:
            _go_on(options, chance, until, counter)
        except Fenced:
            say({"fenced": True})
            return
        except KafkaException as failed:
            # How this one has ended is not known; another producer of the same id aborts it if it has not.
            say({"failed": failed.args[0].name()})


def _go_on(options, chance, until, counter):
    producer = Producer(
        {
            "bootstrap.servers": options["--bootstrap"],
            "transactional.id": options["--transactional-id"],
            "transaction.timeout.ms": 10_000,
            "linger.ms": 0,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    _until_done(lambda: producer.init_transactions(10))
    while not until.exists():
        name = f"{options['--name']}.{counter[0]}"
        counter[0] += 1
        partitions = options.number("--partitions", 1)
        giver = chance.randrange(partitions)
        taker = (giver + 1 + chance.randrange(partitions - 1)) % partitions
        amount, commits = 1 + chance.randrange(100), chance.randrange(5) != 0
        refused = []
        producer.begin_transaction()
        for partition, part in ((giver, -amount), (taker, amount)):
            on_delivery = lambda error, _: refused.append(error) if error is not None else None
            producer.produce(options["--topic"], f"{name}:{part}", partition=partition, on_delivery=on_delivery)
        producer.flush(30)
        commits = commits and not refused
        try:
            _until_done(lambda: producer.commit_transaction(10) if commits else producer.abort_transaction(10))
        except KafkaException as failed:
            if not failed.args[0].txn_requires_abort():
                raise
            commits = False
            _until_done(lambda: producer.abort_transaction(10))
        say({"ended": name, "committed": commits})


def _until_done(call):
    """What has not ended in time is asked for again: so the library's documentation wants it."""
    while True:
        try:
            return call()
        except KafkaException as failed:
            error = failed.args[0]
            if error.code() in FENCED:
                raise Fenced from None
            if not error.retriable() and error.code() != KafkaError._TIMED_OUT:
                raise
