"""Quotas: who may change them and how they are told; and that who uses too much is told how long to wait, waits, and nobody else does."""

import socket
import struct
import time

import pytest
from differential.batches import batch, record
from harness import wire
from harness.clients import Admin
from harness.wire import string

# Short windows: as much as one second brings is had at once, and what is used is forgotten soon.
PROPERTIES = {"quota.window.num": "2", "controller.quota.window.num": "2"}
RATE = 100_000
METADATA_WITH_THROTTLE = 3
PRODUCE_VERSION = 7


def alter(admin, entity, **quotas):
    return admin.call("alter-quotas", entity=entity, quotas=quotas)


def produce(topic, size, client, acks=1):
    """A Produce request with one batch of about so many bytes."""
    records = batch([record(0, value=b"x" * size)])
    body = string(None) + struct.pack(">hii", acks, 10_000, 1) + string(topic) + struct.pack(">iii", 1, 0, len(records)) + records
    return wire.header(wire.PRODUCE, PRODUCE_VERSION, client_id=client) + body


def produced(response, topic):
    """(error code, throttle time) of the answer."""
    reader = wire.Reader(response)
    reader.int32()
    assert (reader.int32(), reader.string(), reader.int32(), reader.int32()) == (1, topic, 1, 0)
    error = reader.int16()
    reader.take(8 + 8 + 8)
    return error, reader.int32()


def metadata(client):
    return wire.header(wire.METADATA, METADATA_WITH_THROTTLE, client_id=client) + struct.pack(">i", 0)


def throttle_of_metadata(response):
    reader = wire.Reader(response)
    reader.int32()
    return reader.int32()


def fetch(topic, offset, client):
    """A Fetch request of version 4 for everything that is there."""
    body = struct.pack(">iiiib", -1, 100, 1, 50 << 20, 0) + struct.pack(">i", 1) + string(topic)
    body += struct.pack(">iiqi", 1, 0, offset, 50 << 20)
    return wire.header(wire.FETCH, 4, client_id=client) + body


def fetched(response):
    """(throttle time, number of topics, bytes behind them)."""
    reader = wire.Reader(response)
    reader.int32()
    return reader.int32(), reader.int32(), len(reader.rest())


def test_quotas_are_told_as_they_were_given(broker, admin):
    entities = ({"user": "alice"}, {"user": None}, {"client-id": "app"}, {"user": "alice", "client-id": None}, {"ip": "10.1.2.3"})
    for entity in entities:
        quotas = {"connection_creation_rate": 5} if "ip" in entity else {"producer_byte_rate": 1e6, "request_percentage": 12.5}
        alter(admin, entity, **quotas)
    try:
        clients = {"producer_byte_rate": 1e6, "request_percentage": 12.5}
        assert admin.call("describe-quotas", filter={"user": "alice"}) == {"{client-id=null, user=alice}": clients, "{user=alice}": clients}
        assert admin.call("describe-quotas", filter={"user": "alice"}, strict=True) == {"{user=alice}": clients}
        assert admin.call("describe-quotas", filter={"user": None}) == {"{user=null}": clients}
        assert admin.call("describe-quotas", filter={"client-id": "*"}, strict=True) == {"{client-id=app}": clients}
        assert admin.call("describe-quotas", filter={"ip": "*"}) == {"{ip=10.1.2.3}": {"connection_creation_rate": 5.0}}
        assert len(admin.call("describe-quotas")) == len(entities)
        alter(admin, {"user": "alice"}, producer_byte_rate=None)
        assert admin.call("describe-quotas", filter={"user": "alice"}, strict=True) == {"{user=alice}": {"request_percentage": 12.5}}
    finally:
        for entity in entities:
            names = ["connection_creation_rate"] if "ip" in entity else ["producer_byte_rate", "request_percentage"]
            alter(admin, entity, **dict.fromkeys(names))
    assert admin.call("describe-quotas") == {}


def test_quotas_that_cannot_be_change_nothing(broker, admin):
    for entity, quotas in (
        ({"user": "a", "ip": "10.0.0.1"}, {"connection_creation_rate": 1}),
        ({"group": "a"}, {"producer_byte_rate": 1}),
        ({"user": "a"}, {"connection_creation_rate": 1}),
        ({"user": "a"}, {"producer_byte_rate": 0.5}),
        ({"user": "a"}, {"producer_byte_rate": -1}),
        ({"user": "a"}, {"producer_byte_rate": 1, "nonsense": 1}),
    ):
        assert admin.answer("alter-quotas", entity=entity, quotas=quotas)["error"] == "InvalidRequestException", entity
    alter_only_checked = admin.answer("alter-quotas", entity={"user": "a"}, quotas={"producer_byte_rate": 1}, validate=True)
    assert alter_only_checked == {"result": "altered"}
    assert admin.call("describe-quotas") == {}


def test_kafka_configs_says_the_same_with_both_brokers(both, tools):
    said = []
    for each in both:
        run = lambda *arguments, at=each: tools.ok("kafka-configs", "--bootstrap-server", at.bootstrap, *arguments).stdout
        steps = [
            run("--alter", "--add-config", "producer_byte_rate=1024,consumer_byte_rate=2048", "--entity-type", "users", "--entity-name", "u"),
            run("--alter", "--add-config", "request_percentage=50", "--entity-type", "clients", "--entity-default"),
            run("--alter", "--add-config", "controller_mutation_rate=10", "--entity-type", "users", "--entity-name", "u",
                "--entity-type", "clients", "--entity-name", "c"),
            run("--alter", "--add-config", "connection_creation_rate=100", "--entity-type", "ips", "--entity-name", "10.0.0.9"),
            run("--describe", "--entity-type", "clients"),
            run("--describe", "--entity-type", "ips"),
            run("--describe", "--entity-type", "users", "--entity-type", "clients"),
            run("--alter", "--delete-config", "request_percentage", "--entity-type", "clients", "--entity-default"),
            run("--alter", "--delete-config", "producer_byte_rate,consumer_byte_rate", "--entity-type", "users", "--entity-name", "u"),
            run("--alter", "--delete-config", "controller_mutation_rate", "--entity-type", "users", "--entity-name", "u",
                "--entity-type", "clients", "--entity-name", "c"),
            run("--alter", "--delete-config", "connection_creation_rate", "--entity-type", "ips", "--entity-name", "10.0.0.9"),
            run("--describe", "--entity-type", "clients"),
        ]  # fmt: skip
        said.append(steps)
    assert said[0] == said[1]


def test_producers_wait_as_long_with_both_brokers(both, java):
    """Three batches at once: the same arithmetic tells the same times, but for those between the batches."""
    told = []
    for each in both:
        admin = Admin(java, each)
        admin.create("told")
        alter(admin, {"client-id": "told"}, producer_byte_rate=RATE)
        with wire.Connection(each.port) as connection:
            for _ in range(3):
                connection.send(wire.frame(produce("told", 2 * RATE, "told")))
            first = produced(connection.receive(), "told")
        assert first[0] == 0
        told.append(first[1])
        alter(admin, {"client-id": "told"}, producer_byte_rate=None)
    # (2 - 1) / 1 of the one second that the windows are at least.
    assert all(950 <= time_told <= 1100 for time_told in told), told


def test_who_produces_too_much_waits_and_nobody_else_does(broker, admin, topic):
    admin.create(topic)
    alter(admin, {"client-id": "greedy"}, producer_byte_rate=RATE)
    with wire.Connection(broker.port) as greedy, wire.Connection(broker.port) as modest:
        began = time.monotonic()
        error, throttle = produced(greedy.ask(produce(topic, 3 * RATE, "greedy")), topic)
        assert error == 0 and 1500 <= throttle <= 2500
        # It is answered at once, and then not listened to.
        greedy.send(wire.frame(metadata("greedy")))
        assert produced(modest.ask(produce(topic, 3 * RATE, "modest")), topic) == (0, 0)
        assert time.monotonic() - began < throttle / 1000
        greedy.receive()
        assert time.monotonic() - began >= throttle / 1000 - 0.01
    alter(admin, {"client-id": "greedy"}, producer_byte_rate=None)
    with wire.Connection(broker.port) as greedy:
        assert produced(greedy.ask(produce(topic, 3 * RATE, "greedy")), topic) == (0, 0)


def test_a_producer_without_acknowledgements_waits_too(broker, admin, topic):
    admin.create(topic)
    alter(admin, {"client-id": "silent"}, producer_byte_rate=RATE)
    with wire.Connection(broker.port) as connection:
        began = time.monotonic()
        connection.send(wire.frame(produce(topic, 3 * RATE, "silent", acks=0)))
        # What comes along with it is taken up with it.
        time.sleep(0.2)
        connection.ask(metadata("silent"))
        assert time.monotonic() - began >= 1.5
    alter(admin, {"client-id": "silent"}, producer_byte_rate=None)


def test_who_fetches_too_much_is_answered_with_nothing_and_waits(broker, admin, java, topic):
    admin.create(topic)
    java.produce(broker, topic, partition=0, count=30, size=RATE // 10)
    alter(admin, {"client-id": "reader"}, consumer_byte_rate=RATE)
    with wire.Connection(broker.port) as connection:
        began, taken, offset = time.monotonic(), 0, 0
        throttled = 0
        while offset < 30:
            throttle, topics, size = fetched(connection.ask(fetch(topic, offset, "reader")))
            if throttle:
                assert (topics, size) == (0, 0)
                throttled += 1
                continue
            assert size <= RATE * 1.2, "more than a client may have at once"
            taken += size
            offset += max(1, size // (RATE // 10 + 200))
        # As much as a second brings is had at once.
        assert throttled > 0
        assert time.monotonic() - began >= taken / RATE - 2.5
    alter(admin, {"client-id": "reader"}, consumer_byte_rate=None)


def test_time_is_counted_too_and_throttles_for_a_window_at_most(broker, admin):
    alter(admin, {"client-id": "busy"}, request_percentage=0.001)
    with wire.Connection(broker.port) as connection:
        for _ in range(2000):
            throttle = throttle_of_metadata(connection.ask(metadata("busy")))
            if throttle:
                break
        assert 0 < throttle <= 1000
    alter(admin, {"client-id": "busy"}, request_percentage=None)


def test_partitions_are_created_and_deleted_as_fast_as_allowed(broker, admin, topic):
    user = {"user": "ANONYMOUS"}
    alter(admin, user, controller_mutation_rate=1)
    try:
        # The last permit is for as many as are wanted.
        admin.call("create-topic", name=topic, partitions=6, replication=1)
        refused = admin.answer("create-topic", name=f"{topic}-2", partitions=1, replication=1, retry=False)
        assert refused["error"] == "ThrottlingQuotaExceededException", refused
        # The client waits as long as it is told, and tries again.
        admin.call("create-topic", name=f"{topic}-3", partitions=1, replication=1)
    finally:
        alter(admin, user, controller_mutation_rate=None)
    admin.call("create-topic", name=f"{topic}-4", partitions=20, replication=1)


def test_an_address_connects_as_often_as_it_may(broker, admin):
    address = "127.0.0.77"

    def connect(count):
        made = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", broker.port), timeout=20, source_address=(address, 0))
            made.append(connection)
        return made

    def is_served(connection):
        try:
            connection.sendall(wire.frame(wire.api_versions(0)))
            return connection.recv(1) != b""
        except ConnectionError:
            return False

    alter(admin, {"ip": address}, connection_creation_rate=3)
    deadline = time.monotonic() + 30
    while True:
        # It counts when the acceptor has heard of it.
        connections = connect(10)
        served = [is_served(connection) for connection in connections]
        for connection in connections:
            connection.close()
        if not all(served):
            break
        assert time.monotonic() < deadline, "all are served"
    assert any(served), served
    with wire.Connection(broker.port) as other:
        other.ask(wire.api_versions(0))
    alter(admin, {"ip": address}, connection_creation_rate=None)


def test_quotas_outlive_the_broker(broker, admin, topic):
    admin.create(topic)
    alter(admin, {"client-id": "lasting"}, producer_byte_rate=RATE)
    broker.stop()
    broker.start()
    with wire.Connection(broker.port) as connection:
        _, throttle = produced(connection.ask(produce(topic, 3 * RATE, "lasting")), topic)
    assert throttle > 0
    alter(admin, {"client-id": "lasting"}, producer_byte_rate=None)


@pytest.mark.parametrize("client", ("java", "python", "franz-go", "sarama"))
def test_clients_get_through_all_the_same(broker, admin, clients, topic, client):
    admin.create(topic)
    alter(admin, {"user": "ANONYMOUS"}, producer_byte_rate=2 * RATE, consumer_byte_rate=2 * RATE)
    try:
        for n in range(10):
            clients[client].produce(broker, topic, partition=0, count=30, size=2000, seed=n)
        read = clients[client].consume(broker, topic, partition=0, offset="earliest", count=300)
        assert [each["offset"] for each in read] == list(range(300))
    finally:
        alter(admin, {"user": "ANONYMOUS"}, producer_byte_rate=None, consumer_byte_rate=None)


def test_a_batch_that_is_larger_than_its_readers_quota_is_read_all_the_same(broker, admin, topic):
    if broker.kind == "kafka":
        pytest.skip("there its reader gets nothing, for ever")
    admin.create(topic)
    with wire.Connection(broker.port) as connection:
        assert produced(connection.ask(produce(topic, 5 * RATE, "writer")), topic) == (0, 0)
        alter(admin, {"client-id": "small"}, consumer_byte_rate=RATE)
        throttle, _, size = fetched(connection.ask(fetch(topic, 0, "small")))
        assert throttle == 0 and size > 5 * RATE
        throttle, _, _ = fetched(connection.ask(fetch(topic, 0, "small")))
        assert throttle > 0
    alter(admin, {"client-id": "small"}, consumer_byte_rate=None)
