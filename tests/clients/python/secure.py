"""kafka-python or aiokafka, by TLS and SASL: writes records, reads them from the start, and prints their values, or the error. The
command line is that of the other clients that come in so, behind the library's name: see ../README.md."""

import argparse
import asyncio
import json
import ssl
import sys


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=["kafka-python", "aiokafka"])
    for name in ("bootstrap", "topic", "mechanism", "user", "password", "token", "ca", "cert", "key"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--count", type=int, default=10)
    return parser.parse_args()


def settings(o):
    protocol = ("SASL_" if o.mechanism else "") + ("SSL" if o.ca else "PLAINTEXT")
    pairs = {"bootstrap_servers": o.bootstrap, "security_protocol": protocol}
    if o.library == "kafka-python":
        # It tries again for so long, whatever it was told: 30 s unless one says otherwise.
        pairs["bootstrap_timeout_ms"] = 8000
    if o.ca:
        context = ssl.create_default_context(cafile=o.ca)
        if o.cert:
            context.load_cert_chain(o.cert, o.key)
        pairs["ssl_context"] = context
    if o.token:
        pairs |= {"sasl_mechanism": o.mechanism, "sasl_oauth_token_provider": provider(o)}
    elif o.mechanism:
        pairs |= {"sasl_mechanism": o.mechanism, "sasl_plain_username": o.user, "sasl_plain_password": o.password}
    return pairs


def provider(o):
    """A token that is known already, in the form that each library takes it in."""
    if o.library == "kafka-python":
        from kafka.net.sasl.oauth import AbstractTokenProvider

        class Known(AbstractTokenProvider):
            def token(self):
                return o.token

    else:
        from aiokafka.abc import AbstractTokenProvider

        class Known(AbstractTokenProvider):
            async def token(self):
                return o.token

    return Known()


def values(o):
    return [b"value-%d" % n for n in range(o.count)]


def kafka_python(o):
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

    producer = KafkaProducer(**settings(o), acks="all", max_block_ms=15000)
    for future in [producer.send(o.topic, value) for value in values(o)]:
        future.get(timeout=15)
    producer.close()
    consumer = KafkaConsumer(**settings(o), auto_offset_reset="earliest", consumer_timeout_ms=30000)
    consumer.assign([TopicPartition(o.topic, 0)])
    found = [record.value.decode() for _, record in zip(range(o.count), consumer, strict=False)]
    consumer.close()
    return found


async def aiokafka(o):
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    producer = AIOKafkaProducer(**settings(o), acks="all")
    try:
        await producer.start()
        for value in values(o):
            await producer.send_and_wait(o.topic, value)
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(**settings(o), auto_offset_reset="earliest")
    try:
        await consumer.start()
        consumer.assign([TopicPartition(o.topic, 0)])
        return [(await asyncio.wait_for(consumer.getone(), 30)).value.decode() for _ in range(o.count)]
    finally:
        await consumer.stop()


def main():
    o = options()
    try:
        line = {"values": kafka_python(o) if o.library == "kafka-python" else asyncio.run(asyncio.wait_for(aiokafka(o), 60))}
    except Exception as error:
        line = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(line))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
