"""A listener's certificate is changed under load, by its file and by a setting: with a calm disk, with a log directory that is frozen,
and with the store itself on a frozen disk. No connection that is there ends, no request is late, and new ones are shown what they should
be."""

import os
import shutil
import socket
import ssl
import threading
import time

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType
from harness import broker as brokers
from harness import wire
from harness.certificates import Authority
from harness.sasl import CLOSED, Conversation
from rig import silence

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

MiB = 1 << 20
TOPIC, PARTITIONS = "secure", 4
LOCATION = "listener.name.secure.ssl.keystore.location"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    for name in ("first", "second", "third"):
        authority.issue(name, "/CN=localhost/O=Tests")
    return authority


def context_for(authority):
    context = ssl.create_default_context(cafile=authority.certificate)
    context.check_hostname = False
    return context


class Traffic:
    """A producer, a consumer of the newest records, and one who asks for metadata over and over, all by TLS, with connections that they
    had from the start."""

    def __init__(self, broker, authority):
        self.broker, self.authority = broker, authority
        self.took = {"acknowledgements": [], "records": [], "answers": []}  # (when, how long)
        self.faults, self.sent, self.read = [], 0, 0
        self._stopped, self._ended = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._produce, self._consume, self._ask)]
        for thread in self._threads:
            thread.start()

    def _config(self, **more):
        return {
            "bootstrap.servers": f"127.0.0.1:{self.broker.secure_port}",
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.authority.certificate),
            "error_cb": lambda error: self.faults.append(str(error)),
            "log_level": 0,
            **more,
        }

    def _note(self, what, began):
        now = time.time()
        self.took[what].append((now, now - began))

    def _produce(self):
        producer = Producer(self._config(**{"enable.idempotence": True, "linger.ms": 0}))

        def delivered(began):
            return lambda error, _: self.faults.append(str(error)) if error else self._note("acknowledgements", began)

        while not self._stopped.is_set():
            now = time.time()
            producer.produce(TOPIC, f"{now}".encode().ljust(500), partition=self.sent % PARTITIONS, on_delivery=delivered(now))
            self.sent += 1
            producer.poll(0.004)
        if producer.flush(60):
            self.faults.append("records were never acknowledged")
        self._ended.set()

    def _consume(self):
        consumer = Consumer(self._config(**{"group.id": "none", "enable.auto.commit": False, "fetch.wait.max.ms": 100}))
        consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
        until = None
        while self.read < self.sent or not self._ended.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                self._note("records", float(message.value()))
                self.read += 1
            elif message is not None:
                self.faults.append(str(message.error()))
            if self._ended.is_set():
                until = until or time.monotonic() + 30
                if time.monotonic() > until:
                    break
        consumer.close()

    def _ask(self):
        with Conversation(self.broker.secure_port, context_for(self.authority).wrap_socket) as there:
            while not self._stopped.is_set():
                began = time.time()
                if there.ask(wire.metadata([])) is CLOSED:
                    self.faults.append("the connection was closed")
                    return
                self._note("answers", began)
                time.sleep(0.005)

    def check(self, begin, end):
        """The slowest of each kind, in milliseconds; all of them went on."""
        slowest = {}
        for what, all_of_them in self.took.items():
            inside = [(at, took) for at, took in list(all_of_them) if begin <= at <= end]
            gap = silence.longest([at * 1000 for at, _ in inside], begin * 1000, end * 1000)
            slowest[what] = round(1000 * max(took for _, took in inside))
            if gap > silence.TOLERATED:
                raise silence.Silent(f"no {what} for {gap} s")
        assert self.faults == []
        return slowest

    def finish(self):
        self._stopped.set()
        for thread in self._threads:
            thread.join(120)
        assert self.faults == [] and self.read == self.sent > 0


def started(prepare, settings, log_dirs):
    broker = prepare(
        {
            "aplomb.tail.bytes": str(256 * MiB),
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SSL",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.secure.ssl.keystore.type": "PEM",
            **settings,
        },
        log_dirs=log_dirs,
    )
    (broker.secure_port,) = brokers.free_ports(1)
    broker.properties["listeners"] += f",SECURE://127.0.0.1:{broker.secure_port}"
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
        future.result(30)
    return broker


def put(authority, name, store):
    """Puts a store in the place of the one that is there."""
    beside = store.with_suffix(".new")
    shutil.copy(authority.directory / f"{name}.both.pem", beside)
    os.replace(beside, store)


def set_store(broker, path):
    entry = ConfigEntry(LOCATION, str(path), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (future,) = admin.incremental_alter_configs([resource], request_timeout=40).values()
    future.result(40)


def shown(broker, authority):
    """Whose certificate a new connection is shown."""
    with socket.create_connection(("127.0.0.1", broker.secure_port), timeout=10) as raw:
        with context_for(authority).wrap_socket(raw) as there:
            serial = there.getpeercert()["serialNumber"]
    names = ("first", "second", "third")
    return next(name for name in names if ssl._ssl._test_decode_cert(str(authority.directory / f"{name}.pem"))["serialNumber"] == serial)


def comes(broker, authority, name, patience=20):
    until = time.monotonic() + patience
    while shown(broker, authority) != name:
        assert time.monotonic() < until, f"{shown(broker, authority)} is shown, and not {name}"
        time.sleep(0.1)


def compare(traffic, calm, changed):
    before, during = traffic.check(*calm), traffic.check(*changed)
    print(f"slowest in ms: before {before}, while it was changed {during}")
    for what, worst in during.items():
        assert worst <= max(500, 5 * before[what]), (what, worst, before[what])


@pytest.mark.parametrize("frozen", [False, True])
def test_a_certificate_is_changed_under_load_and_nobody_notices(prepare, authority, disk, tmp_path, frozen):
    sick = disk("ext4")
    healthy = tmp_path / "healthy"
    stores = tmp_path / "stores"
    stores.mkdir()
    store = stores / "store.pem"
    put(authority, "first", store)
    broker = started(prepare, {LOCATION: str(store), "metadata.log.dir": str(healthy)}, [healthy, sick.path / "data"])
    traffic = Traffic(broker, authority)
    try:
        time.sleep(3)
        calm = (time.time(), time.time() + 5)
        time.sleep(5)
        assert shown(broker, authority) == "first"
        if frozen:
            sick.freeze()
        begin = time.time()
        put(authority, "second", store)
        comes(broker, authority, "second")
        set_store(broker, authority.directory / "third.both.pem")
        comes(broker, authority, "third")
        with pytest.raises(KafkaException):
            set_store(broker, stores / "none.pem")
        assert shown(broker, authority) == "third"
        time.sleep(max(0, begin + 8 - time.time()))
        end = time.time()
        sick.thaw()
        compare(traffic, calm, (begin, end))
    finally:
        sick.thaw()
        traffic.finish()


def test_a_store_on_a_frozen_disk_stays_what_it_was_until_it_thaws(prepare, authority, disk, tmp_path):
    sick = disk("ext4")
    store = sick.path / "store.pem"
    put(authority, "first", store)
    broker = started(prepare, {LOCATION: str(store)}, [tmp_path / "data"])
    traffic = Traffic(broker, authority)
    changing = threading.Thread(target=put, args=(authority, "second", store))
    try:
        time.sleep(3)
        calm = (time.time(), time.time() + 5)
        time.sleep(5)
        with sick.frozen():
            begin = time.time()
            changing.start()
            time.sleep(8)
            assert changing.is_alive(), "the disk was not frozen"
            assert shown(broker, authority) == "first"
            end = time.time()
        changing.join(30)
        comes(broker, authority, "second")
        compare(traffic, calm, (begin, end))
    finally:
        sick.thaw()
        traffic.finish()
