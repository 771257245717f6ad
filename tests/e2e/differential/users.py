"""Right requests about passwords and delegation tokens, and those of SASL that come where there is none."""

_SALTED = {"Mechanism": 1, "Iterations": 4096, "Salt": b"a-salt-of-a-test", "SaltedPassword": b"x" * 32}

RIGHT = {
    "SaslHandshake": {"": {"Mechanism": "PLAIN"}},
    "SaslAuthenticate": {"": {"AuthBytes": b"\0user\0password"}},
    "AlterUserScramCredentials": {
        "": {"Deletions": [], "Upsertions": [{"Name": "salted-{n}", **_SALTED}]},
        "taken away": {"Deletions": [{"Name": "missing-{n}", "Mechanism": 1}], "Upsertions": []},
        "both of one user": {"Deletions": [{"Name": "twice-{n}", "Mechanism": 1}], "Upsertions": [{"Name": "twice-{n}", **_SALTED, "Mechanism": 2}]},
        "one good, one too quick": {"Deletions": [], "Upsertions": [{"Name": "good-{n}", **_SALTED}, {"Name": "quick-{n}", **_SALTED, "Iterations": 4095}]},
    },
    "DescribeUserScramCredentials": {"": {"Users": [{"Name": "missing"}]}, "twice": {"Users": [{"Name": "missing"}] * 2}},
    # Of a listener whose clients do not show who they are.
    "CreateDelegationToken": {
        "": {"OwnerPrincipalType": "User", "OwnerPrincipalName": "odd", "Renewers": [{"PrincipalType": "User", "PrincipalName": "r"}], "MaxLifetimeMs": -1},
    },
    "RenewDelegationToken": {"": {"Hmac": b"h" * 64, "RenewPeriodMs": -1}},
    "ExpireDelegationToken": {"": {"Hmac": b"h" * 64, "ExpiryTimePeriodMs": -1}},
    "DescribeDelegationToken": {"": {"Owners": [{"PrincipalType": "User", "PrincipalName": "odd"}]}, "all": {"Owners": None}},
}
