"""Who may do what: right requests about ACLs, the permissions that each API asks for, and the sets of ACLs that the others are asked under.

Every set counts for an address of its own: a request is asked from 127.x.y.z, and the ACLs with that host are what it is judged by.
"""

from dataclasses import dataclass

ANYONE = "User:*"
# Numbers on the wire.
OPERATIONS = {
    name: code
    for code, name in enumerate(
        ("ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE",
         "CREATE_TOKENS", "DESCRIBE_TOKENS"), 2
    )
}  # fmt: skip
KINDS = {"TOPIC": 2, "GROUP": 3, "CLUSTER": 4, "TRANSACTIONAL_ID": 5, "DELEGATION_TOKEN": 6, "USER": 7}
CLUSTER = "kafka-cluster"
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3


def creation(kind, name, operation, host="*", permission=ALLOW, pattern=LITERAL, principal=ANYONE):
    """An ACL, as CreateAcls has it."""
    return {
        "ResourceType": KINDS[kind], "ResourceName": name, "ResourcePatternType": pattern, "Principal": principal, "Host": host,
        "Operation": OPERATIONS[operation], "PermissionType": permission,
    }  # fmt: skip


def of_host(host):
    """A filter for what counts from an address."""
    return {
        "ResourceTypeFilter": 1, "ResourceNameFilter": None, "PatternTypeFilter": 1, "PrincipalFilter": None, "HostFilter": host,
        "Operation": 1, "PermissionType": 1,
    }  # fmt: skip


def _filter(**more):
    return {**of_host(None), **more}


RIGHT = {
    "DescribeAcls": {
        "": _filter(ResourceTypeFilter=2, ResourceNameFilter="ruled", PatternTypeFilter=3, PrincipalFilter="User:a", HostFilter="*", Operation=3, PermissionType=3),
        "what would match": _filter(ResourceTypeFilter=2, ResourceNameFilter="ruled-1", PatternTypeFilter=2),
    },
    "CreateAcls": {
        "": {"Creations": [creation("TOPIC", "ruled-{n}", "READ", principal="User:a")]},
        "of a network": {"Creations": [creation("GROUP", "ruled-{n}", "READ", host="10.0.0.0/8", pattern=PREFIXED)]},
        "of a network that is none": {"Creations": [creation("GROUP", "ruled-{n}", "READ", host="10.0.0.0/33")]},
        "of the cluster": {"Creations": [creation("CLUSTER", CLUSTER, "ALTER", principal="User:{n}", permission=DENY)]},
    },
    "DeleteAcls": {
        "": {"Filters": [_filter(ResourceTypeFilter=2, ResourceNameFilter="ruled-{n}", PatternTypeFilter=3, PrincipalFilter="User:a", HostFilter="*", Operation=3, PermissionType=3)]},
    },
}  # fmt: skip

# What each API asks for: (operation, kind of resource).
_GROUP_MEMBER = [("READ", "GROUP")]
_CONFIGS = ("CLUSTER", "TOPIC", "GROUP")
NEEDS = {
    "Produce": [("WRITE", "TOPIC"), ("WRITE", "TRANSACTIONAL_ID")],
    "Fetch": [("READ", "TOPIC"), ("CLUSTER_ACTION", "CLUSTER")],
    "ListOffsets": [("DESCRIBE", "TOPIC")],
    "Metadata": [("DESCRIBE", "TOPIC"), ("CREATE", "TOPIC"), ("CREATE", "CLUSTER"), ("DESCRIBE", "CLUSTER")],
    "OffsetCommit": [("READ", "GROUP"), ("READ", "TOPIC")],
    "OffsetFetch": [("DESCRIBE", "GROUP"), ("DESCRIBE", "TOPIC")],
    "FindCoordinator": [("DESCRIBE", "GROUP"), ("DESCRIBE", "TRANSACTIONAL_ID"), ("CLUSTER_ACTION", "CLUSTER")],
    "JoinGroup": _GROUP_MEMBER,
    "Heartbeat": _GROUP_MEMBER,
    "LeaveGroup": _GROUP_MEMBER,
    "SyncGroup": _GROUP_MEMBER,
    "DescribeGroups": [("DESCRIBE", "GROUP")],
    "ListGroups": [("DESCRIBE", "CLUSTER"), ("DESCRIBE", "GROUP")],
    "SaslHandshake": [],
    "ApiVersions": [],
    "CreateTopics": [("CREATE", "CLUSTER"), ("CREATE", "TOPIC"), ("DESCRIBE_CONFIGS", "TOPIC")],
    "DeleteTopics": [("DELETE", "CLUSTER"), ("DELETE", "TOPIC"), ("DESCRIBE", "TOPIC")],
    "DeleteRecords": [("DELETE", "TOPIC")],
    "InitProducerId": [("WRITE", "TRANSACTIONAL_ID"), ("IDEMPOTENT_WRITE", "CLUSTER"), ("WRITE", "TOPIC")],
    "OffsetForLeaderEpoch": [("CLUSTER_ACTION", "CLUSTER"), ("DESCRIBE", "TOPIC")],
    "AddPartitionsToTxn": [("WRITE", "TRANSACTIONAL_ID"), ("WRITE", "TOPIC"), ("CLUSTER_ACTION", "CLUSTER")],
    "AddOffsetsToTxn": [("WRITE", "TRANSACTIONAL_ID"), ("READ", "GROUP")],
    "EndTxn": [("WRITE", "TRANSACTIONAL_ID")],
    "WriteTxnMarkers": [("ALTER", "CLUSTER"), ("CLUSTER_ACTION", "CLUSTER")],
    "TxnOffsetCommit": [("WRITE", "TRANSACTIONAL_ID"), ("READ", "GROUP"), ("READ", "TOPIC")],
    "DescribeAcls": [("DESCRIBE", "CLUSTER")],
    "CreateAcls": [("ALTER", "CLUSTER")],
    "DeleteAcls": [("ALTER", "CLUSTER")],
    "SaslAuthenticate": [],
    "DescribeConfigs": [("DESCRIBE_CONFIGS", kind) for kind in _CONFIGS],
    "AlterConfigs": [("ALTER_CONFIGS", kind) for kind in _CONFIGS],
    "AlterReplicaLogDirs": [("ALTER", "CLUSTER")],
    "DescribeLogDirs": [("DESCRIBE", "CLUSTER")],
    "CreatePartitions": [("ALTER", "TOPIC")],
    # Of those who have not shown who they are nothing is asked: test_tokens.py has users.
    "CreateDelegationToken": [("CREATE_TOKENS", "USER")],
    "RenewDelegationToken": [],
    "ExpireDelegationToken": [],
    "DescribeDelegationToken": [("DESCRIBE", "DELEGATION_TOKEN"), ("DESCRIBE_TOKENS", "USER")],
    "DeleteGroups": [("DELETE", "GROUP")],
    "ElectLeaders": [("ALTER", "CLUSTER")],
    "IncrementalAlterConfigs": [("ALTER_CONFIGS", kind) for kind in _CONFIGS],
    "AlterPartitionReassignments": [("ALTER", "CLUSTER")],
    "ListPartitionReassignments": [("DESCRIBE", "CLUSTER")],
    "OffsetDelete": [("DELETE", "GROUP"), ("READ", "TOPIC")],
    "DescribeClientQuotas": [("DESCRIBE_CONFIGS", "CLUSTER")],
    "AlterClientQuotas": [("ALTER_CONFIGS", "CLUSTER")],
    "DescribeUserScramCredentials": [("DESCRIBE", "CLUSTER")],
    "AlterUserScramCredentials": [("ALTER", "CLUSTER")],
    "DescribeQuorum": [("DESCRIBE", "CLUSTER")],
    "UpdateFeatures": [("ALTER", "CLUSTER")],
    "DescribeCluster": [("DESCRIBE", "CLUSTER")],
    "DescribeProducers": [("READ", "TOPIC")],
    "DescribeTransactions": [("DESCRIBE", "TRANSACTIONAL_ID"), ("DESCRIBE", "TOPIC")],
    "ListTransactions": [("DESCRIBE", "TRANSACTIONAL_ID")],
    "ConsumerGroupHeartbeat": [("READ", "GROUP"), ("DESCRIBE", "TOPIC")],
    "ConsumerGroupDescribe": [("DESCRIBE", "GROUP"), ("DESCRIBE", "TOPIC")],
    "ListConfigResources": [("DESCRIBE_CONFIGS", "CLUSTER")],
    "DescribeTopicPartitions": [("DESCRIBE", "TOPIC")],
}  # fmt: skip

# Resources that some sets of ACLs are about, and no others.
SOME = {
    "TOPIC": [("read", LITERAL), ("made-", PREFIXED), ("gone-", PREFIXED), ("grown-", PREFIXED), ("nowhere", LITERAL)],
    "GROUP": [("kept", LITERAL), ("classic", LITERAL), ("heard-", PREFIXED)],
    "TRANSACTIONAL_ID": [("open", LITERAL), ("begun-", PREFIXED)],
    "CLUSTER": [],
    "DELEGATION_TOKEN": [],
    "USER": [("User:odd", LITERAL)],
}  # fmt: skip


@dataclass(frozen=True)
class Rights:
    """A set of ACLs, each without its host: (kind, name, operation, permission, pattern)."""

    what: str
    acls: tuple

    def creations(self, host):
        return [creation(kind, name, operation, host, permission, pattern) for kind, name, operation, permission, pattern in self.acls]


def _on_all(kind, operation, permission=ALLOW):
    return (kind, CLUSTER if kind == "CLUSTER" else "*", operation, permission, LITERAL)


def _on_some(kind, operation, permission=ALLOW):
    return [(kind, name, operation, permission, pattern) for name, pattern in SOME[kind]]


EVERYTHING = Rights("everything", tuple(_on_all(kind, "ALL") for kind in KINDS))


def sets(api):
    """The sets of ACLs under which an API is asked: allowed, denied, and partly denied in every way."""
    needs = NEEDS[api]
    yield EVERYTHING
    yield Rights("nothing", ())
    if not needs:
        return
    yield Rights("all that it asks for", tuple(_on_all(kind, operation) for operation, kind in needs))
    for operation, kind in needs if len(needs) > 1 else ():
        yield Rights(f"{operation} on {kind} alone", (_on_all(kind, operation),))
        others = [need for need in needs if need != (operation, kind)]
        yield Rights(f"all but {operation} on {kind}", tuple(_on_all(*need[::-1]) for need in others))
    named = [acl for operation, kind in needs for acl in _on_some(kind, operation)]
    if named:
        yield Rights("on some", tuple(named))
        denied = [acl for kind in dict.fromkeys(kind for _, kind in needs) for acl in _on_some(kind, "ALL", DENY)]
        yield Rights("on all others", (*EVERYTHING.acls, *denied))
