"""Every client, every compression, every kind of acknowledgement: what was sent is read back exactly, by the client that sent it
and by every other."""

import pytest
from harness import expect
from harness.clients import ALL, Admin

COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
# acks, idempotent: the protocol allows idempotence with acks=all only.
ACKNOWLEDGEMENTS = (("0", False), ("1", False), ("all", False), ("all", True))
COUNT = 25
SIZE = 300


def name(acknowledgement):
    acks, idempotent = acknowledgement
    return f"acks={acks}{'-idempotent' if idempotent else ''}"


def reader(client):
    """Who reads back what this client wrote: itself, if it can read without a group."""
    return client if ALL[client].consumes else "java"


@pytest.mark.parametrize("acknowledgement", ACKNOWLEDGEMENTS, ids=name)
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("client", ALL)
def test_what_is_sent_is_read_back(broker, admin, clients, topic, client, compression, acknowledgement):
    acks, idempotent = acknowledgement
    admin.create(topic, partitions=2)
    run = {"seed": 7, "count": COUNT, "size": SIZE, "key_prefix": "k", "headers": True, "tombstones": True}
    sent = clients[client].produce(broker, topic, partition=1, compression=compression, acks=acks, idempotent=idempotent, **run)
    if acks == "0":
        assert sent == [{"count": COUNT}]
    else:
        expect.check_acknowledged(sent, COUNT, partition=1)
    records = clients[reader(client)].consume(broker, topic, partition=1, offset="earliest", count=COUNT)
    expect.check(records, expect.consumed(client, **run), partition=1)


@pytest.fixture(scope="module")
def produced(broker, clients, java):
    """`produced(client, compression)`: a topic with that client's records, written once for all readers."""
    topics = {}

    def topic_of(client, compression):
        if (client, compression) not in topics:
            topic = f"from-{client}-{compression}"
            Admin(java, broker).create(topic)
            clients[client].produce(broker, topic, partition=0, compression=compression, acks="all", **RUN)
            topics[client, compression] = topic
        return topics[client, compression]

    return topic_of


RUN = {"seed": 11, "count": 40, "size": 200, "key_prefix": "key-", "headers": True, "tombstones": True}


@pytest.mark.parametrize("consumer", [client.name for client in ALL.values() if client.consumes])
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("producer", ALL)
def test_what_one_client_sends_another_reads(broker, clients, produced, producer, compression, consumer):
    topic = produced(producer, compression)
    records = clients[consumer].consume(broker, topic, partition=0, offset="earliest", count=RUN["count"])
    expect.check(records, expect.consumed(producer, **RUN))


@pytest.mark.parametrize("client", ALL)
def test_the_partitioner_spreads_keys_and_every_record_is_where_the_acknowledgement_says(broker, admin, clients, topic, client):
    admin.create(topic, partitions=3)
    run = {"seed": 3, "count": 60, "size": 50, "key_prefix": "p"}
    sent = clients[client].produce(broker, topic, compression="none", acks="all", **run)
    assert len({line["partition"] for line in sent}) > 1
    values = expect.consumed(client, **run)
    for partition in range(3):
        seqs = [line["seq"] for line in sorted(sent, key=lambda line: line["offset"]) if line["partition"] == partition]
        records = clients[reader(client)].consume(broker, topic, partition=partition, offset="earliest", count=len(seqs))
        if client == "kcat":
            # kcat's report tells where records went, not which ones.
            assert len(records) == len(seqs)
        else:
            expect.check(records, [values[seq] for seq in seqs], partition=partition)


def test_kafkajs_sees_the_first_and_the_next_offset(broker, admin, clients, topic):
    admin.create(topic, partitions=2)
    clients["python"].produce(broker, topic, partition=1, count=12, size=20)
    admin.call("delete-records", topic=topic, partition=1, before=5)
    lines = clients["kafkajs"].run("offsets", bootstrap=broker.bootstrap, topic=topic)
    assert sorted(lines, key=lambda line: line["partition"]) == [
        {"partition": 0, "low": 0, "high": 0},
        {"partition": 1, "low": 5, "high": 12},
    ]
