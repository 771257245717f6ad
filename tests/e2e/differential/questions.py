"""The questions: right requests of every API, and what becomes of them when one field is odd.

A right request is written below for the newest version; fields that a version does not have are left out. Each of its fields, at any
depth, then takes every odd value of its type, in the lowest and the highest version that has the field; each version gets
the right request, one with bytes left over, one that ends early, and headers of odd kinds.
"""

import struct
import uuid
from dataclasses import dataclass, field

from differential import access, batches, groups, schemas, transactions, users
from differential.schemas import Id, Raw
from harness import wire

MISSING_ID = uuid.UUID(int=0x5EED)
LARGE = 2**31 - 1

# Values that a field of a type takes, by what they are called.
ODD = {
    "int8": {"-1": -1, "-2": -2, "1": 1, "2": 2, "9": 9, "127": 127, "-128": -128},
    "int16": {"-1": -1, "-2": -2, "1": 1, "2^15-1": 2**15 - 1, "-2^15": -(2**15)},
    "uint16": {"0": 0, "2^16-1": 2**16 - 1},
    "int32": {"-1": -1, "-2": -2, "0": 0, "1": 1, "5": 5, "2^31-1": LARGE, "-2^31": -(2**31)},
    "int64": {"-1": -1, "-2": -2, "-5": -5, "0": 0, "1": 1, "2^63-1": 2**63 - 1, "-2^63": -(2**63)},
    "float64": {"NaN": float("nan"), "-1": -1.0, "infinite": float("inf")},
    "string": {
        "empty": "", "null": None, "missing": "missing", "no name": "no name!", "dots": "..", "long": "a" * 250, "32 KB": "b" * 32_767,
        "no UTF-8": Raw(b""),
    },
    "uuid": {"zero": schemas.NO_ID, "missing": MISSING_ID},
    "bytes": {"null": None, "empty": b"", "garbage": b"\xff" * 20},
    "records": {"null": None, "empty": b"", **batches.ODD},
}  # fmt: skip


@dataclass(frozen=True)
class Question:
    """One request, and those that are asked before without looking at the answers."""

    api: str
    version: int
    what: str
    value: dict
    header: bytes = b"\x00\x03odd"
    behind: bytes = b""
    cut: int = 0
    before: tuple = field(default=())

    def __str__(self):
        return f"{self.api} v{self.version}, {self.what}"

    def written(self, schema, key, ids):
        """The request without its length, for a broker with these topic ids."""
        body = schema.encode(_resolved(self.value, ids), self.version)
        head = struct.pack(">hhi", key, self.version, 7) + self.header
        if schema.is_flexible(self.version):
            head += b"\x00"
        payload = head + body + self.behind
        return payload[: len(payload) - self.cut]


def _resolved(value, ids):
    if isinstance(value, Id):
        return ids[value.of]
    if isinstance(value, dict):
        return {name: _resolved(item, ids) for name, item in value.items()}
    if isinstance(value, list):
        return [_resolved(item, ids) for item in value]
    return value


def set_before():
    """Changes the settings that are described later."""
    resources = [
        {"ResourceType": kind, "ResourceName": name,
         "Configs": [{"Name": key, "Value": value, "ConfigOperation": 0} for key, value in settings.items()]}
        for (kind, name), settings in SET_BEFORE.items()
    ]  # fmt: skip
    return Question("IncrementalAlterConfigs", 1, "before", {"Resources": resources})


def create(name, partitions=1):
    return Question("CreateTopics", 7, "before", {"Topics": [_new(name, partitions)], "timeoutMs": 10_000})


def listing(*names):
    """Metadata of topics; of all, if none is named."""
    topics = [{"Name": name} for name in names] if names else None
    return Question("Metadata", 12, "before", {"Topics": topics, "AllowAutoTopicCreation": False})


def _new(name, partitions=1, **more):
    return {"Name": name, "NumPartitions": partitions, "ReplicationFactor": 1, **more}


def _named(topic):
    return {"Name": topic, "TopicId": Id(topic)}


def _setting(kind, name, *configs):
    return {"ResourceType": kind, "ResourceName": name, "Configs": list(configs)}


# Of each API: requests as they should be, by what is asked. `{n}` in a text is another number in each question.
# Of a broker and of all, and kept whether anything reads them or not.
SET_BEFORE = {
    (4, "1"): {
        "listener.name.inner.ssl.keystore.location": "/somewhere",
        "listener.name.inner.ssl.truststore.type": "PKCS12",
        "listener.name.inner.ssl.keystore.password": "secret",
        "listener.name.inner.plain.sasl.jaas.config": "secret",
        "listener.name.inner.plug.in": "secret",
        "plug.in": "secret",
    },
    (4, ""): {"plug.in.of.all": "secret"},
    (32, "set"): {"consumer.heartbeat.interval.ms": "8000", "streams.rack.aware.assignment.tags": "a,b", "share.auto.offset.reset": "earliest"},
}

RIGHT = {
    "Produce": {
        "": {
            "TransactionalId": None, "Acks": -1, "TimeoutMs": 5_000,
            "TopicData": [{**_named("written"), "PartitionData": [{"Index": 0, "Records": batches.batch()}]}],
        },
        # From the second time on it is a duplicate.
        "again": {
            "TransactionalId": None, "Acks": -1, "TimeoutMs": 5_000,
            "TopicData": [{**_named("written"), "PartitionData": [{"Index": 0, "Records": batches.batch(producer=(4_200, 0, 0))}]}],
        },
    },
    "Fetch": {
        "": {
            "MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20,
            "Topics": [{
                "Topic": "read", "TopicId": Id("read"),
                "Partitions": [{"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1 << 20, "CurrentLeaderEpoch": -1}],
            }],
        },
        "a session's first": {
            "MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20, "SessionId": 0, "SessionEpoch": 0,
            "Topics": [{"Topic": "read", "TopicId": Id("read"), "Partitions": [{"Partition": 0, "PartitionMaxBytes": 1 << 20}]}],
            "ForgottenTopicsData": [{"Topic": "read", "TopicId": Id("read"), "Partitions": [1]}],
        },
        # From version 15 on the replica is in here.
        "of a broker": {
            "MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 1 << 20, "ReplicaId": 5, "ReplicaState": {"ReplicaId": 5, "ReplicaEpoch": -1},
            "Topics": [{"Topic": "read", "TopicId": Id("read"), "Partitions": [{"Partition": 0, "PartitionMaxBytes": 1 << 20}]}],
        },
    },
    "ListOffsets": {
        "": {"ReplicaId": -1, "Topics": [{"Name": "read", "Partitions": [{"PartitionIndex": 0, "CurrentLeaderEpoch": -1, "Timestamp": -1}]}],
             "TimeoutMs": 1_000},
        **{
            f"timestamp {at}": {"ReplicaId": -1, "Topics": [{"Name": "read", "Partitions": [{"PartitionIndex": 0, "Timestamp": at}]}]}
            for at in (-3, -4, -5, -6, batches.CREATED, batches.CREATED + 1)
        },
    },
    "Metadata": {
        "": {"Topics": [{"Name": "read"}], "AllowAutoTopicCreation": False},
        "by id": {"Topics": [{"Name": None, "TopicId": Id("read")}], "AllowAutoTopicCreation": False},
        "all": {"Topics": None, "AllowAutoTopicCreation": False},
    },
    "ApiVersions": {"": {"ClientSoftwareName": "odd", "ClientSoftwareVersion": "1.0"}},
    "CreateTopics": {
        "": {"Topics": [_new("made-{n}", Configs=[{"Name": "retention.ms", "Value": "1000"}])], "timeoutMs": 5_000},
        "assigned": {
            "Topics": [{"Name": "placed-{n}", "NumPartitions": -1, "ReplicationFactor": -1,
                        "Assignments": [{"PartitionIndex": 0, "BrokerIds": [1]}]}],
            "timeoutMs": 5_000,
        },
        "validated": {"Topics": [_new("never-{n}")], "timeoutMs": 5_000, "validateOnly": True},
        "with an internal setting": {
            "Topics": [_new("internal-{n}", Configs=[{"Name": "internal.segment.bytes", "Value": "10000"}])], "timeoutMs": 5_000,
        },
    },
    "DeleteTopics": {
        "": {"Topics": [{"Name": "gone-{n}"}], "TopicNames": ["gone-{n}"], "TimeoutMs": 5_000},
        "by id": {"Topics": [{"Name": None, "TopicId": MISSING_ID}], "TopicNames": ["missing"], "TimeoutMs": 5_000},
    },
    "DeleteRecords": {
        "": {"Topics": [{"Name": "shortened", "Partitions": [{"PartitionIndex": 0, "Offset": 0}]}], "TimeoutMs": 5_000},
    },
    "InitProducerId": {
        "": {"TransactionalId": None, "TransactionTimeoutMs": 60_000},
        "of a transaction": {"TransactionalId": "begun-{n}", "TransactionTimeoutMs": 60_000, "ProducerId": -1, "ProducerEpoch": -1},
    },
    "OffsetForLeaderEpoch": {
        "": {"ReplicaId": -1, "Topics": [{"Topic": "read", "Partitions": [{"Partition": 0, "CurrentLeaderEpoch": -1, "LeaderEpoch": 0}]}]},
    },
    "DescribeConfigs": {
        "of a topic": {"Resources": [{"ResourceType": 2, "ResourceName": "read", "ConfigurationKeys": None}], "IncludeSynonyms": True},
        "some, of a broker": {
            "Resources": [{"ResourceType": 4, "ResourceName": "1", "ConfigurationKeys": ["log.retention.ms", "message.max.bytes"]}],
            "IncludeSynonyms": True,
        },
        "of a listener and a plug-in": {
            "Resources": [{"ResourceType": 4, "ResourceName": "1", "ConfigurationKeys": list(SET_BEFORE[4, "1"])}],
            "IncludeSynonyms": True,
        },
        "of all brokers": {"Resources": [{"ResourceType": 4, "ResourceName": "", "ConfigurationKeys": None}], "IncludeSynonyms": True},
        "of a group": {"Resources": [{"ResourceType": 32, "ResourceName": "set", "ConfigurationKeys": None}], "IncludeSynonyms": True},
        "of loggers": {"Resources": [{"ResourceType": 8, "ResourceName": "1", "ConfigurationKeys": ["root"]}], "IncludeSynonyms": True},
    },
    "AlterConfigs": {
        "of a topic": {"Resources": [_setting(2, "altered", {"Name": "retention.ms", "Value": "100000"})]},
        "of a broker": {"Resources": [_setting(4, "1", {"Name": "log.retention.ms", "Value": "100000"})]},
        "of all brokers": {"Resources": [_setting(4, "", {"Name": "log.retention.ms", "Value": "100000"})]},
        "of a group": {"Resources": [_setting(32, "settled", {"Name": "consumer.heartbeat.interval.ms", "Value": "7000"})]},
    },
    "IncrementalAlterConfigs": {
        "of a topic": {"Resources": [_setting(2, "altered", {"Name": "retention.ms", "Value": "100000", "ConfigOperation": 0})]},
        "of a list": {"Resources": [_setting(2, "altered", {"Name": "cleanup.policy", "Value": "compact", "ConfigOperation": 2})]},
        "of no number": {
            "Resources": [_setting(2, "altered", {"Name": "min.cleanable.dirty.ratio", "Value": "NaN", "ConfigOperation": 0})],
        },
        "of a broker": {"Resources": [_setting(4, "1", {"Name": "log.retention.ms", "Value": "100000", "ConfigOperation": 0})]},
        "of all brokers": {"Resources": [_setting(4, "", {"Name": "invalid", "Value": "2", "ConfigOperation": 0})]},
        "of a key store": {
            "Resources": [_setting(4, "1", {"Name": "ssl.truststore.type", "Value": "PKCS12", "ConfigOperation": 0})],
        },
        "of a listener's key store": {
            "Resources": [_setting(4, "1", {"Name": "listener.name.x.ssl.truststore.type", "Value": "PKCS12", "ConfigOperation": 0})],
        },
        "of a listener, for all brokers": {
            "Resources": [_setting(4, "", {"Name": "listener.name.x.ssl.truststore.type", "Value": "PKCS12", "ConfigOperation": 0})],
        },
    },
    "AlterReplicaLogDirs": {"": {"Dirs": [{"Path": "/nowhere", "Topics": [{"Name": "read", "Partitions": [0]}]}]}},
    "DescribeLogDirs": {"": {"Topics": [{"Topic": "read", "Partitions": [0]}]}},
    "CreatePartitions": {
        "": {"Topics": [{"Name": "grown-{n}", "Count": 2, "Assignments": None}], "TimeoutMs": 5_000},
        "assigned": {"Topics": [{"Name": "grown-{n}", "Count": 2, "Assignments": [{"BrokerIds": [1]}]}], "TimeoutMs": 5_000},
    },
    "ElectLeaders": {"": {"ElectionType": 0, "TopicPartitions": [{"Topic": "read", "Partitions": [0]}], "TimeoutMs": 5_000}},
    "AlterPartitionReassignments": {
        "": {"TimeoutMs": 5_000, "Topics": [{"Name": "read", "Partitions": [{"PartitionIndex": 0, "Replicas": [1]}]}]},
        "taken back": {"TimeoutMs": 5_000, "Topics": [{"Name": "read", "Partitions": [{"PartitionIndex": 0, "Replicas": None}]}]},
    },
    "ListPartitionReassignments": {
        "": {"TimeoutMs": 5_000, "Topics": None},
        "of one": {"TimeoutMs": 5_000, "Topics": [{"Name": "read", "PartitionIndexes": [0]}]},
    },
    # Nobody is throttled: these quotas are as good as none.
    "AlterClientQuotas": {
        "": {"ValidateOnly": True, "Entries": [{
            "Entity": [{"EntityType": "user", "EntityName": "nobody"}], "Ops": [{"Key": "producer_byte_rate", "Value": 1e12, "Remove": False}],
        }]},
        "of an address": {"ValidateOnly": True, "Entries": [{
            "Entity": [{"EntityType": "ip", "EntityName": "10.0.0.1"}], "Ops": [{"Key": "connection_creation_rate", "Value": 1e6, "Remove": False}],
        }]},
        "of a client id": {"ValidateOnly": True, "Entries": [{
            "Entity": [{"EntityType": "client-id", "EntityName": None}], "Ops": [{"Key": "request_percentage", "Value": 1e6, "Remove": False}],
        }]},
    },
    "DescribeClientQuotas": {
        "": {"Strict": False, "Components": [{"EntityType": "user", "MatchType": 0, "Match": "nobody"}]},
        "default": {"Strict": True, "Components": [{"EntityType": "client-id", "MatchType": 1, "Match": None}]},
        "of any": {"Strict": True, "Components": [{"EntityType": "ip", "MatchType": 2, "Match": None}]},
    },
    "DescribeQuorum": {"": {"Topics": [{"TopicName": "__cluster_metadata", "Partitions": [{"PartitionIndex": 0}]}]}},
    "UpdateFeatures": {
        "": {"timeoutMs": 5_000, "ValidateOnly": True,
             "FeatureUpdates": [{"Feature": "metadata.version", "MaxVersionLevel": 25, "AllowDowngrade": False, "UpgradeType": 1}]},
        "eligible leaders": {
            "timeoutMs": 5_000, "ValidateOnly": True,
            "FeatureUpdates": [{"Feature": "eligible.leader.replicas.version", "MaxVersionLevel": 0, "AllowDowngrade": True, "UpgradeType": 2}],
        },
    },
    "DescribeCluster": {"": {"IncludeClusterAuthorizedOperations": True, "EndpointType": 1}},
    "DescribeProducers": {"": {"Topics": [{"Name": "read", "PartitionIndexes": [0]}]}},
    "ListConfigResources": {"": {"ResourceTypes": [2]}, "all": {"ResourceTypes": []}},
    **access.RIGHT,
    **groups.RIGHT,
    **transactions.RIGHT,
    **users.RIGHT,
    "DescribeTopicPartitions": {
        "": {"Topics": [{"Name": "read"}], "ResponsePartitionLimit": 2_000, "Cursor": None},
        "from a cursor": {
            "Topics": [{"Name": "read"}], "ResponsePartitionLimit": 1, "Cursor": {"TopicName": "read", "PartitionIndex": 1},
        },
    },
}  # fmt: skip

# Asked as they are, in the newest version.
AS_THEY_ARE = {
    "IncrementalAlterConfigs": {
        f"{key}={value} of a group by {operation}": {
            "Resources": [_setting(32, "changed", {"Name": key, "Value": value, "ConfigOperation": operation})],
        }
        for key, value, operation in groups.SETTINGS
    }
    | {
        f"min.insync.replicas={value} of {name or 'all brokers'} by {operation}": {
            "Resources": [_setting(4, name, {"Name": "min.insync.replicas", "Value": value, "ConfigOperation": operation})],
        }
        for name in ("", "1")
        for value, operation in (("1", 0), ("0", 0), (None, 1), ("1", 2))
    },
}

# What would be in the way of later questions, and why.
LEFT_OUT = {
    ("UpdateFeatures", "ValidateOnly"): "it would change the metadata version of both",
}
# Members that have joined stay, and another question's member would wait for them.
TAKEN = {("JoinGroup", "GroupId"), ("ConsumerGroupHeartbeat", "GroupId")}


def of(api, low, high):
    """All questions of an API whose versions are from `low` to `high`."""
    schema = schemas.message(f"{api}Request")
    for question in _of(api, schema, low, high):
        yield _numbered(question)


def _of(api, schema, low, high):
    for name, value in AS_THEY_ARE.get(api, {}).items():
        yield Question(api, high, name, value)
    for name, value in RIGHT[api].items():
        title = name or "right"
        for version in range(low, high + 1):
            fitting = _fitting(schema, schema.fields, value, version)
            if fitting is None:
                continue
            yield Question(api, version, title, fitting)
            if not name or len(RIGHT[api]) > 1 and name == next(iter(RIGHT[api])):
                yield from _headers(api, schema, version, title, fitting)
        for path, each in _fields(schema, schema.fields, value, ()):
            if (api, path[-1]) in LEFT_OUT:
                continue
            versions = [v for v in range(low, high + 1) if all(schemas.in_versions(f["versions"], v) for f in each)]
            for version in sorted({versions[0], versions[-1]}) if versions else ():
                fitting = _fitting(schema, schema.fields, value, version)
                if fitting is None:
                    continue
                for odd, changed in _odd(schema, each[-1], _at(fitting, path), version):
                    if (api, path[-1]) in TAKEN and changed:
                        if not isinstance(changed, str) or len(changed) > 1_000:
                            continue
                        changed += "-{n}"
                    what = f"{title}: {'.'.join(map(str, path))} {odd}"
                    yield Question(api, version, what, _with(fitting, path, changed))


def _headers(api, schema, version, title, value):
    yield Question(api, version, f"{title}, three bytes left over", value, behind=b"\x00\x00\x01")
    yield Question(api, version, f"{title}, a byte short", value, cut=1)
    yield Question(api, version, f"{title}, client id null", value, header=b"\xff\xff")
    yield Question(api, version, f"{title}, client id of length -2", value, header=b"\xff\xfe")
    yield Question(api, version, f"{title}, client id of 300 bytes", value, header=struct.pack(">h", 300) + b"c" * 300)
    if schema.is_flexible(version):
        yield Question(api, version, f"{title}, an unknown tagged field", {**value, "tagged": {99: b"unknown"}})


_number = iter(range(1, 1_000_000))


def _numbered(question):
    """With a number of its own in its names, and with the topics that it is about."""
    number = str(next(_number))
    value = _replaced(question.value, number)
    before = ()
    if question.api == "CreatePartitions":
        before = (create(f"grown-{number}"),)
    elif question.api == "DeleteTopics":
        before = (create(f"gone-{number}"),)
    elif question.api in groups.BEFORE:
        api, version, asked = groups.BEFORE[question.api]
        before = (Question(api, version, "before", _replaced(asked, number)),)
    return Question(
        question.api, question.version, question.what, value, question.header, question.behind, question.cut, before
    )  # fmt: skip


def _replaced(value, number):
    if isinstance(value, str):
        return value.replace("{n}", number)
    if isinstance(value, dict):
        return {name: _replaced(item, number) for name, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, number) for item in value]
    return value


def _fitting(schema, fields, value, version):
    """The value without what a version lacks; None if that would name nothing: a topic by its id only, before there were ids."""
    found = {}
    for each in fields:
        name = each["name"]
        if name not in value or not schemas.in_versions(each["versions"], version):
            continue
        item, inner = value[name], schema.fields_of(each)
        if inner and item:
            items = [_fitting(schema, inner, one, version) for one in (item if isinstance(item, list) else [item])]
            if None in items:
                return None
            item = items if isinstance(item, list) else items[0]
        found[name] = item
    nameless = value.get("TopicId") is not None and value.get("Name", "") is None
    return None if nameless and "TopicId" not in found else found


def _fields(schema, fields, value, path):
    """Every field, at any depth, with the way to it: names, and 0 for an array's first item."""
    for each in fields:
        here = (*path, each["name"])
        yield here, (each,)
        inner, item = schema.fields_of(each), value.get(each["name"]) if value else None
        if not inner:
            continue
        item = (item or [None])[0] if each["type"].startswith("[]") else item
        if item is None:
            continue
        step = (*here, 0) if each["type"].startswith("[]") else here
        for deeper, chain in _fields(schema, inner, item, step):
            yield deeper, (each, *chain)


def _at(value, path):
    """What is there, or None."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _with(value, path, changed):
    """A copy with another value at the end of a path."""
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        return [*value[:step], _with(value[step], rest, changed) if rest else changed, *value[step + 1 :]]
    return {**value, step: _with(value.get(step) or {}, rest, changed) if rest else changed}


def _odd(schema, each, present, version):
    """The odd values of a field, by what they are called."""
    kind = each["type"]
    if kind.startswith("[]"):
        yield "empty", []
        yield "null", None
        if present:
            yield "twice", present * 2
        item = schemas.item_type(each)
        if item in ODD and present is not None:
            yield from ((f"of {name}", [value]) for name, value in _values(item, schema, version))
    elif kind == "bool":
        yield "the other", not present
    elif kind in ODD:
        yield from _values(kind, schema, version)
    elif schemas.in_versions(each.get("nullableVersions"), version):
        yield "null", None


def _values(kind, schema, version):
    flexible = schema.is_flexible(version)
    for name, value in ODD[kind].items():
        if isinstance(value, Raw):
            value = Raw((wire.unsigned_varint(3) if flexible else b"\x00\x02") + b"\xc3\x28")
        yield name, value
    if kind == "string" and not flexible:
        yield "of length -2", Raw(b"\xff\xfe")
    if kind == "string" and flexible:
        yield "of length 2^31-1", Raw(wire.unsigned_varint(LARGE))
