"""Right requests about who a client is: SASL on a listener that has none, and the credentials of SCRAM users."""

SALT = b"a salt of 16 by."
SALTED = bytes(range(32))


def _upsertion(name, mechanism=1, iterations=4096):
    return {"Name": name, "Mechanism": mechanism, "Iterations": iterations, "Salt": SALT, "SaltedPassword": SALTED}


RIGHT = {
    "SaslHandshake": {"": {"Mechanism": "SCRAM-SHA-256"}},
    "SaslAuthenticate": {"": {"AuthBytes": b"n,,n=user,r=nonce"}},
    "AlterUserScramCredentials": {
        "": {"Deletions": [], "Upsertions": [_upsertion("user-{n}")]},
        "gone before it came": {"Deletions": [{"Name": "missing-{n}", "Mechanism": 2}], "Upsertions": []},
        "both of one user": {"Deletions": [{"Name": "twice-{n}", "Mechanism": 1}], "Upsertions": [_upsertion("twice-{n}", 2)]},
        "one good, one too quick": {"Deletions": [], "Upsertions": [_upsertion("good-{n}"), _upsertion("quick-{n}", 2, 4095)]},
    },
    "DescribeUserScramCredentials": {
        "": {"Users": [{"Name": "missing"}]},
        "twice": {"Users": [{"Name": "missing"}, {"Name": "missing"}]},
    },
}
