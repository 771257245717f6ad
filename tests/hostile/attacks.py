"""The worst that one client can do to the others, each kind in a process of its own: attacks.py KIND PORT HTTP_PORT TOPIC_ID. Runs until it
is killed. Connections that the broker closes are made anew; answers are read and thrown away, where an attack reads any."""

import itertools
import resource
import select
import socket
import struct
import sys
import time
import uuid
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import longest
from differential import batches, schemas
from harness import fetch, wire
from of_transactions import MANY, TOPIC, OfTransactions, asked

FOR_EVER = 2**31 - 1
GZIP = 1


def zipped(data_parts):
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(part) for part in data_parts) + packer.flush()


def produce(records, partitions=(0,), acks=-1, timeout=30_000, correlation_id=1):
    parts = b"".join(struct.pack(">ii", partition, len(records)) + records for partition in partitions)
    body = struct.pack(">hhii", -1, acks, timeout, 1) + wire.string(TOPIC) + struct.pack(">i", len(partitions)) + parts
    return wire.header(wire.PRODUCE, 3, correlation_id) + body


def repeated(api, version, head, one, count=MANY):
    """A request of old days that names a partition of the topic many times."""
    return wire.header(api, version) + head + struct.pack(">i", 1) + wire.string(TOPIC) + struct.pack(">i", count) + one * count


def all_descriptors():
    """This process may open as many as it ever may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


class Attack(OfTransactions):
    def __init__(self, port, http_port, topic):
        self.port, self.http_port, self.topic = port, http_port, topic

    def connect(self, port=None, buffer=None):
        opened = socket.socket()
        if buffer:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        opened.settimeout(60)
        opened.connect(("127.0.0.1", port or self.port))
        return opened

    def ask_over_and_over(self, payloads, connections=3):
        """The next request when the answer to the last one has come, on each connection."""
        frames = itertools.cycle([wire.frame(payload) for payload in payloads])
        self.begin()
        waiting = {}
        while True:
            while len(waiting) < connections:
                try:
                    opened = self.connect()
                    opened.sendall(next(frames))
                    waiting[opened] = 0
                except OSError:
                    time.sleep(0.05)
            readable, _, _ = select.select(list(waiting), [], [], 5)
            for opened in readable:
                try:
                    data = opened.recv(1 << 16)
                    if not data:
                        raise OSError("closed")
                    rest = waiting[opened] - len(data) if waiting[opened] else struct.unpack(">i", data[:4])[0] + 4 - len(data)
                    waiting[opened] = max(0, rest)
                    if rest <= 0:
                        opened.sendall(next(frames))
                except (OSError, struct.error):
                    opened.close()
                    del waiting[opened]

    def begin(self):
        """All that is to be attacked is made."""
        print("begun", flush=True)

    def ask(self, *payloads):
        """Each is answered before the next; the answers are not looked at."""
        with wire.Connection(self.port, timeout=300) as connection:
            for payload in payloads:
                connection.ask(payload)

    def many_topics(self, count=5_000, partitions=1):
        """Makes them, a few hundred at a time."""
        made = [{"Name": f"many-{n}", "NumPartitions": partitions, "ReplicationFactor": 1} for n in range(count)]
        self.ask(*(asked("CreateTopics", 7, Topics=made[at : at + 250], timeoutMs=60_000) for at in range(0, count, 250)))

    def appends(self):
        """Two hundred batches a second to the partitions that are attacked."""
        records = batches.batch([batches.record(0, value=bytes(1000))])
        with wire.Connection(self.port, timeout=120) as connection:
            while True:
                connection.ask(produce(records, partitions=(0, 1)))
                time.sleep(0.01)

    def fetch_of_one_partition_many_times(self):
        self.ask_over_and_over([fetch.request([(self.topic, 0, 0)] * MANY)])

    def fetch_that_waits_for_one_partition_many_times(self):
        self.ask_over_and_over([fetch.request([(self.topic, 0, 0)] * MANY, max_wait=5_000, min_bytes=FOR_EVER, max_bytes=FOR_EVER)])

    def fetches_that_wait_for_much(self):
        wanted = fetch.request([(self.topic, 0, 0), (self.topic, 1, 0)], max_wait=10_000, min_bytes=FOR_EVER, max_bytes=FOR_EVER)
        self.ask_over_and_over([wanted], connections=300)

    def lookups_of_one_partition_many_times(self):
        self.ask_over_and_over([
            repeated(2, 1, struct.pack(">i", -1), struct.pack(">iq", 0, 5)),
            repeated(23, 2, b"", struct.pack(">iii", 0, -1, 0)),
            repeated(21, 0, b"", struct.pack(">iq", 0, 0)) + struct.pack(">i", 1_000),
            wire.header(61, 0, flexible=True) + b"\x02" + wire.compact_string(TOPIC) + wire.unsigned_varint(MANY + 1)
            + struct.pack(">i", 0) * MANY + b"\x00\x00",
        ])  # fmt: skip

    def records_that_all_say_they_are_the_first(self):
        one = batches.record(0, key=None, value=None)
        count = 30_000_000
        body = zipped(one * 1_000_000 for _ in range(count // 1_000_000))
        self.ask_over_and_over([produce(batches.batch(count=count, last=0, attributes=GZIP, body=body))])

    def zeros(self):
        """A record whose value is 250 MiB of zeros; alone, and in many parts of a request."""
        megabyte, size = bytes(1 << 20), 250
        value, no_headers = size << 20, batches.varint(0)
        inner = bytes([0]) + batches.varint(0) + batches.varint(0) + batches.varint(-1) + batches.varint(value)
        record = batches.varint(len(inner) + value + len(no_headers)) + inner
        body = zipped(itertools.chain([record], itertools.repeat(megabyte, size), [no_headers]))
        records = batches.batch(count=1, last=0, attributes=GZIP, body=body)
        self.ask_over_and_over([produce(records), produce(records, partitions=tuple(range(2)) * 8)])

    def frames_that_never_end(self):
        slow = []
        while True:
            while len(slow) < 6:
                try:
                    opened = self.connect()
                    opened.sendall(struct.pack(">i", 100_000_000))
                    opened.setblocking(False)
                    slow.append([opened, 99_000_000])
                except OSError:
                    time.sleep(0.05)
            time.sleep(0.02)
            for each in list(slow):
                try:
                    each[1] -= each[0].send(bytes(min(each[1], 1 << 20)) if each[1] > 1 else b"\x00")
                except BlockingIOError:
                    pass
                except OSError:
                    each[0].close()
                    slow.remove(each)

    def timeouts_without_end(self):
        """As many small requests as a connection takes, each with a deadline in weeks."""
        records = batches.batch()
        frames = b"".join(wire.frame(produce(records, timeout=FOR_EVER, correlation_id=n)) for n in range(1000))
        opened = [self.connect() for _ in range(3)]
        for each in opened:
            each.setblocking(False)
        at = dict.fromkeys(opened, 0)
        while True:
            readable, writable, _ = select.select(opened, opened, [], 5)
            for each in readable:
                each.recv(1 << 20)
            for each in writable:
                at[each] = (at[each] + each.send(frames[at[each] :])) % len(frames)

    def sessions_of_everything(self):
        wide = fetch.request([(self.topic, number, 0) for number in range(MANY)], epoch=0)
        self.ask_over_and_over([wide], connections=10)

    def replies_that_nobody_takes(self):
        asked = wire.frame(fetch.request([(self.topic, 0, 0)], max_bytes=50 << 20, partition_bytes=50 << 20))
        named = wire.frame(wire.metadata([f"missing-{n}" for n in range(5_000)]))
        silent = []
        while True:
            while len(silent) < 200:
                try:
                    opened = self.connect(buffer=4096)
                    opened.setblocking(False)
                    silent.append(opened)
                except OSError:
                    time.sleep(0.05)
            for each in list(silent):
                try:
                    each.send(asked if silent.index(each) % 2 else named)
                except BlockingIOError:
                    pass
                except OSError:
                    each.close()
                    silent.remove(each)
            time.sleep(0.1)

    def beginnings_of_small_frames(self):
        """As many as would fill the memory for requests by their first bytes, and then half of each."""
        slow, most = {}, min(all_descriptors() - 100, 12_000)
        first, half = struct.pack(">i", 60_000), bytes(30_000)
        while True:
            while len(slow) < most:
                opened = socket.socket()
                opened.setblocking(False)
                opened.connect_ex(("127.0.0.1", self.port))
                slow[opened] = 0
            for each, sent in list(slow.items()):
                try:
                    slow[each] += each.send((first + half)[sent:]) if sent < 30_004 else 0
                    if sent >= 30_004 and not each.recv(1):
                        raise OSError("closed")
                except BlockingIOError:
                    pass
                except OSError:
                    each.close()
                    del slow[each]

    def a_thousand_that_ask_without_waiting(self):
        """Small requests on as many connections, as fast as they are taken; answers are taken too."""
        many = wire.frame(wire.metadata(["read"])) * 300
        opened = [self.connect() for _ in range(1_000)]
        owed = dict.fromkeys(opened, b"")
        poll = select.epoll()
        by_number = {one.fileno(): one for one in opened}
        for one in opened:
            one.setblocking(False)
            poll.register(one, select.EPOLLIN | select.EPOLLOUT)
        self.begin()
        while True:
            for number, events in poll.poll():
                one = by_number[number]
                if events & select.EPOLLIN:
                    one.recv(1 << 16)
                if events & select.EPOLLOUT:
                    owed[one] = owed[one] or many
                    owed[one] = owed[one][one.send(owed[one]) :]

    def connections_that_do_nothing(self):
        """All that this process may open; the broker has as many descriptors."""
        most = all_descriptors()
        idle = []
        while True:
            try:
                while len(idle) < min(most - 100, 25_000):
                    idle.append(self.connect())
            except OSError:
                pass
            time.sleep(1)

    def visitors_that_say_nothing(self):
        silent = []
        while True:
            while len(silent) < 200:
                try:
                    silent.append(self.connect(self.http_port))
                except OSError:
                    time.sleep(0.05)
            time.sleep(0.1)
            silent = silent[20:]

    def nonsense(self):
        """Malformed requests, each on a connection of its own, as fast as they are refused."""
        wrong = [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", wire.frame(b"\x03\xe7" + bytes(20)), wire.frame(wire.header(3, 1) + b"\x7f\xff\xff\xff"),
                 b"GET / HTTP/1.1\r\n\r\n", wire.frame(produce(b"\x00" * 70)), wire.frame(b"")]  # fmt: skip
        for said in itertools.cycle(wrong):
            try:
                with self.connect() as opened:
                    opened.sendall(said)
                    opened.recv(1000)
            except OSError:
                pass

    def topics_that_are_only_thought_of(self):
        """CreateTopics, validated only, of as many partitions as one request may have; and names of topics that are not there."""
        topics = b"".join(wire.string(f"thought-of-{n}") + struct.pack(">ihii", 10_000, 1, 0, 0) for n in range(1_000))
        create = wire.header(19, 2) + struct.pack(">i", 1_000) + topics + struct.pack(">ib", 30_000, 1)
        named = wire.metadata([f"missing-{n}" for n in range(MANY)], version=4)
        self.ask_over_and_over([create, named + b"\x00"])

    def settings_of_everything(self):
        one = struct.pack(">b", 4) + wire.string("1") + struct.pack(">i", -1)
        many = struct.pack(">b", 2) + wire.string(TOPIC) + struct.pack(">i", -1)
        describe = wire.header(32, 1) + struct.pack(">i", 20_000) + one * 10_000 + many * 10_000 + b"\x01"
        self.ask_over_and_over([describe])

    def lists_as_long_as_they_may_be(self, api):
        """Each list of each request of an API, with one item over and over, and with a hundred thousand."""
        with wire.Connection(self.port) as connection:
            _, ranges, _ = wire.read_api_versions(connection.ask(wire.api_versions(4)), 4)
        _, newest = ranges[schemas.key_of(api)]
        self.ask_over_and_over(longest.payloads(api, newest, self.topic, TOPIC))

    def topics_that_come_and_go(self):
        """A hundred at a time are made, and deleted."""
        names = [[f"passing-{group}-{n}" for n in range(100)] for group in range(6)]
        made = [[{"Name": name, "NumPartitions": 1, "ReplicationFactor": 1} for name in group] for group in names]
        pairs = zip(made, names)
        self.ask_over_and_over([
            request for create, gone in pairs
            for request in (asked("CreateTopics", 7, Topics=create, timeoutMs=60_000),
                            asked("DeleteTopics", 6, Topics=[{"Name": name} for name in gone], TimeoutMs=60_000))
        ])  # fmt: skip

    def questions_about_many_topics(self):
        """Everything about each of five thousand."""
        self.many_topics()
        names = [f"many-{n}" for n in range(5_000)]
        self.ask_over_and_over([
            asked("Metadata", 12, Topics=None, AllowAutoTopicCreation=False),
            asked("DescribeTopicPartitions", 0, Topics=[{"Name": name} for name in names] * 10, ResponsePartitionLimit=FOR_EVER, Cursor=None),
            asked("DescribeTopicPartitions", 0, Topics=[], ResponsePartitionLimit=FOR_EVER, Cursor=None),
            asked("DescribeLogDirs", 4, Topics=None),
            asked("DescribeConfigs", 4, Resources=[{"ResourceType": 2, "ResourceName": name, "ConfigurationKeys": None} for name in names],
                  IncludeSynonyms=True),
            asked("ListConfigResources", 1, ResourceTypes=[]),
            asked("ElectLeaders", 2, ElectionType=0, TopicPartitions=None, TimeoutMs=60_000),
            asked("ListPartitionReassignments", 0, Topics=None, TimeoutMs=60_000),
            asked("ListOffsets", 10, ReplicaId=-1, Topics=[{"Name": name, "Partitions": [{"PartitionIndex": 0, "Timestamp": 1}]} for name in names]),
        ])  # fmt: skip

    def patterns_over_many_topics(self):
        """Each member of a group has a pattern of its own, hard to read or long, and there are five thousand topics to try it on."""
        self.many_topics()
        names = "|".join(f"many-{n}" for n in range(4_000))
        patterns = ["(m|ma|man|many|.)*%d", "(.*%d|.*many.*){1,50}", f"{names}|%d", "((a{1,9}){1,9}|%d.*){1,9}"]
        beats = {"MemberEpoch": 0, "RebalanceTimeoutMs": FOR_EVER, "TopicPartitions": [], "SubscribedTopicNames": None}
        self.ask_over_and_over([
            asked("ConsumerGroupHeartbeat", 1, GroupId=f"patterns-{n % 3}", MemberId=f"m-{n}", SubscribedTopicRegex=patterns[n % 4] % n, **beats)
            for n in range(1_000)
        ])  # fmt: skip

    def members_that_change_their_minds(self):
        """A thousand of a group, each of which says other topics each time, with two thousand partitions to be dealt out."""
        self.ask(asked("CreateTopics", 7, Topics=[{"Name": "wide", "NumPartitions": 2_000, "ReplicationFactor": 1}], timeoutMs=60_000))
        beats = {"GroupId": "fickle", "RebalanceTimeoutMs": FOR_EVER, "TopicPartitions": []}
        joins = [asked("ConsumerGroupHeartbeat", 1, MemberId=f"m-{n}", MemberEpoch=0, SubscribedTopicNames=["wide"], **beats) for n in range(1_000)]
        self.ask(*joins)
        self.ask_over_and_over(
            asked("ConsumerGroupHeartbeat", 1, MemberId=f"m-{n % 1_000}", MemberEpoch=0, SubscribedTopicNames=["wide", *[TOPIC] * (n // 1_000)], **beats)
            for n in range(2_000)
        )  # fmt: skip

    def questions_of_one_group_many_times(self):
        """Each names one large group, or one partition of it, a hundred thousand times."""
        joins = {"SessionTimeoutMs": 1_800_000, "RebalanceTimeoutMs": FOR_EVER, "ProtocolType": "consumer",
                 "Protocols": [{"Name": "range", "Metadata": bytes(20_000)}]}  # fmt: skip
        members = [self.connect() for _ in range(200)]
        for member in members:
            member.sendall(wire.frame(asked("JoinGroup", 3, GroupId="asked", MemberId="", **joins)))
        group, partition = "asked", {"Name": TOPIC, "PartitionIndexes": [0] * MANY}
        committed = {"PartitionIndex": 0, "CommittedOffset": 1, "CommittedLeaderEpoch": 0, "CommittedMetadata": "m" * 100}
        self.ask_over_and_over([
            asked("OffsetCommit", 9, GroupId=group, GenerationIdOrMemberEpoch=-1, Topics=[{"Name": TOPIC, "Partitions": [committed] * MANY}]),
            asked("OffsetFetch", 9, Groups=[{"GroupId": group, "MemberEpoch": -1, "Topics": [partition]}]),
            asked("OffsetFetch", 9, Groups=[{"GroupId": group, "MemberEpoch": -1, "Topics": None}] * MANY),
            asked("DescribeGroups", 5, Groups=[group] * MANY),
            asked("ConsumerGroupDescribe", 1, GroupIds=[group] * MANY),
            asked("DeleteGroups", 2, GroupsNames=[group] * MANY),
            asked("OffsetDelete", 0, GroupId=group, Topics=[{"Name": TOPIC, "Partitions": [{"PartitionIndex": 0}] * MANY}]),
            asked("FindCoordinator", 4, CoordinatorKeys=[group] * MANY),
            asked("LeaveGroup", 5, GroupId=group, Members=[{"MemberId": "m"}] * MANY),
            asked("ListGroups", 5, StatesFilter=["Stable"] * MANY),
        ])  # fmt: skip

    def groups_without_end(self):
        """Each of them new, with an offset and as much beside it as one may keep."""
        committed = {"PartitionIndex": 0, "CommittedOffset": 1, "CommittedLeaderEpoch": 0, "CommittedMetadata": "m" * 4096}
        topics = [{"Name": TOPIC, "Partitions": [committed]}]
        self.ask_over_and_over(
            asked("OffsetCommit", 9, GroupId=f"new-{n}", GenerationIdOrMemberEpoch=-1, Topics=topics) for n in range(MANY)
        )  # fmt: skip

    def lists_of_all_groups(self):
        """There are fifty thousand; two of three questions are for some that there are not."""
        committed = {"PartitionIndex": 0, "CommittedOffset": 1, "CommittedLeaderEpoch": 0, "CommittedMetadata": ""}
        topics = [{"Name": TOPIC, "Partitions": [committed]}]
        with wire.Connection(self.port, timeout=120) as connection:
            for n in range(50_000):
                connection.ask(asked("OffsetCommit", 9, GroupId=f"listed-{n}", GenerationIdOrMemberEpoch=-1, Topics=topics))
        every, states = asked("ListGroups", 5), [f"State{n}" for n in range(MANY // 2)]
        self.ask_over_and_over([every, asked("ListGroups", 5, StatesFilter=["Dead"]), asked("ListGroups", 5, StatesFilter=states, TypesFilter=states)])

    def members_without_end(self):
        """Each joins a group of its own, or that of others, says much of itself, and does not sync."""
        joins = {"SessionTimeoutMs": 1_800_000, "RebalanceTimeoutMs": FOR_EVER, "ProtocolType": "consumer",
                 "Protocols": [{"Name": "range", "Metadata": bytes(20_000)}]}  # fmt: skip
        self.ask_over_and_over([asked("JoinGroup", 3, GroupId=f"joined-{n % 1_000}", MemberId="", **joins) for n in range(5_000)], connections=300)

    def consumers_without_end(self):
        """Each with names of its own, and with patterns that are hard to read and match everything."""
        names = [f"missing-{n}" for n in range(1_000)]
        patterns = ["(good|.){1,200}", "((a{1,100}){1,100}){1,100}", ".*", "(x+x+)+y", "[a-z0-9-]{1,1000}"]
        beats = {"MemberEpoch": 0, "RebalanceTimeoutMs": FOR_EVER, "TopicPartitions": []}
        self.ask_over_and_over(
            [asked("ConsumerGroupHeartbeat", 1, GroupId=f"beaten-{n % 100}", MemberId=f"m-{n}", SubscribedTopicNames=[TOPIC, *names],
                   SubscribedTopicRegex=patterns[n % len(patterns)], **beats) for n in range(2_000)]
        )  # fmt: skip

    def batches_for_many_partitions(self):
        """One of a record for each of two thousand, so that a disk has two thousand files to sync for each round of them."""
        self.many_topics(count=50, partitions=40)
        batch = batches.batch()
        part = lambda index: struct.pack(">ii", index, len(batch)) + batch
        topic = lambda n: wire.string(f"many-{n}") + struct.pack(">i", 40) + b"".join(part(index) for index in range(40))
        head = struct.pack(">hhi", -1, 1, 30_000)
        few = [wire.header(wire.PRODUCE, 3) + head + struct.pack(">i", 20) + b"".join(topic(n) for n in range(at, at + 20)) for at in (0, 20, 30)]
        wide = wire.header(wire.PRODUCE, 3) + head + struct.pack(">i", 50) + b"".join(topic(n) for n in range(50))
        self.ask_over_and_over([*few, wide], connections=30)

    def quotas_of_everything(self):
        """Set and asked for, ten thousand at a time; none counts for the good client."""
        entry = lambda n, value: {
            "Entity": [{"EntityType": "user", "EntityName": f"user-{n}"}, {"EntityType": "client-id", "EntityName": None}],
            "Ops": [{"Key": "producer_byte_rate", "Value": value, "Remove": False}],
        }
        alter = lambda value: asked("AlterClientQuotas", 1, Entries=[entry(n, value) for n in range(10_000)], ValidateOnly=False)
        every = asked("DescribeClientQuotas", 1, Components=[{"EntityType": "user", "MatchType": 2, "Match": None}], Strict=False)
        self.ask_over_and_over([alter(1e9), every, alter(2e9), every])

    def clients_of_many_names(self):
        """Each of a quota's own, so that the broker has a new account to keep for each request."""
        quota = {"Entity": [{"EntityType": "client-id", "EntityName": None}], "Ops": [{"Key": "request_percentage", "Value": 1e6, "Remove": False}]}
        self.ask(asked("AlterClientQuotas", 1, Entries=[quota], ValidateOnly=False))
        name = lambda n: f"{n}-".ljust(32_000 if n % 50 == 0 else 20, "x")
        self.ask_over_and_over([wire.header(3, 1, client_id=name(n)) + struct.pack(">i", 0) for n in range(MANY)], connections=30)

    def heartbeats_in_a_storm(self):
        beat = asked("Heartbeat", 4, GroupId="beaten", GenerationId=1, MemberId="nobody")
        newer = asked("ConsumerGroupHeartbeat", 1, GroupId="beaten", MemberId="nobody", MemberEpoch=5, RebalanceTimeoutMs=-1,
                      SubscribedTopicNames=None, TopicPartitions=None)  # fmt: skip
        self.ask_over_and_over([beat, newer], connections=100)


# What is no attack: "appends" keeps the partitions busy that others ask for.
HELP = ("connect", "ask_over_and_over", "begin", "ask", "many_topics", "appends", "lists_as_long_as_they_may_be", "coordinators_of_transactions")
KINDS = [name for name in vars(Attack) if not name.startswith("_") and name not in HELP]
KINDS += [f"lists_as_long_as_they_may_be:{api}" for api in longest.apis()]

if __name__ == "__main__":
    kind, port, http_port, topic = sys.argv[1:]
    name, _, api = kind.partition(":")
    getattr(Attack(int(port), int(http_port), uuid.UUID(topic)), name)(*filter(None, [api]))
