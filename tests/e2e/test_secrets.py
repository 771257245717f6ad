"""Secrets: where settings may refer to them, and that they are shown nowhere, whatever is done with them."""

import base64
import hashlib
import os
import re
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from harness import broker as brokers
from harness import places, sasl
from harness.certificates import PASSWORD as STORE_PASSWORD
from harness.certificates import Authority
from harness.clients import Admin
from harness.sasl import Conversation, authenticate, handshake, plain
from harness.tools import Tools  # noqa: F401  the fixture uses it

CLASSES = "org.apache.kafka.common.config.provider"
REFERENCED = "a-${file:HERE/s.properties:rack}-${env:APLOMB_E2E_A}-${file:HERE/s.properties:u}-$${env:APLOMB_E2E_A}"
LEFT = "-${env:HOME}-${file:/etc/passwd:x}-${ghost:x}-${nothing:y}-${z}-${file:HERE/s.properties:none}-${dir:HERE/secrets:../s.properties}"
PROVIDERS = {
    "config.providers": "file,env,dir,ghost",
    "config.providers.file.class": f"{CLASSES}.FileConfigProvider",
    "config.providers.file.param.allowed.paths": "HERE",
    "config.providers.env.class": f"{CLASSES}.EnvVarConfigProvider",
    "config.providers.env.param.allowlist.pattern": "APLOMB_E2E_.*",
    "config.providers.dir.class": f"{CLASSES}.DirectoryConfigProvider",
}


def serve(directory, properties, *overrides, environment=None):
    """What a start that fails says."""
    config = directory / "wrong.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    arguments = [part for one in overrides for part in ("--override", one)]
    command = [brokers.binary(), "serve", "--config", str(config), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=directory, env={**os.environ, **(environment or {})})
    assert ran.returncode != 0, ran.stdout
    return ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with what settings refer to."""
    here = tmp_path_factory.mktemp("referred")
    (here / "s.properties").write_text("rack=r-1\nu=\u00fc\\u00e9\npart=9\npassword=planted-in-a-file\n")
    (here / "secrets").mkdir()
    (here / "secrets" / "id").write_text("7\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APLOMB_E2E_A", "from-env")
        patch.setenv("APLOMB_E2E_SECRET", "planted-in-the-environment")
        yield here


def at(place, properties):
    return {key: value.replace("HERE", str(place)) for key, value in properties.items()}


def test_references_are_followed_as_by_apache_kafka(place, start_broker, java):
    properties = {
        **PROVIDERS,
        "broker.rack": REFERENCED + LEFT,
        "num.partitions": "${dir:HERE/secrets:id}",
        "log.retention.ms": "${file:HERE/s.properties:part}",
        "delegation.token.secret.key": "${env:APLOMB_E2E_SECRET}",
        "super.users": "User:${env:APLOMB_E2E_A}",
    }
    shown = []
    for kind in (None, "kafka"):
        admin = Admin(java, start_broker(kind=kind, properties=at(place, properties)))
        found = admin.call("describe-configs", type="BROKER", name="1")
        shown.append({key: found[key] for key in properties})
    assert shown[0] == shown[1]
    assert shown[0]["broker.rack"]["value"].startswith("a-r-1-from-env-\u00fc\u00e9-$from-env-${env:HOME}-${file:/etc/passwd:x}-")
    assert "planted" not in str(shown)


@pytest.mark.aplomb
def test_a_reference_that_came_over_the_network_is_text(place, start_broker, java):
    """CVE-2024-31141: who may change settings must not read files by it."""
    broker = start_broker(properties=at(place, PROVIDERS))
    admin = Admin(java, broker)
    key = "listener.name.plaintext.ssl.keystore.location"
    for reference in ("${env:APLOMB_E2E_A}", f"${{file:{place}/s.properties:rack}}"):
        admin.call("alter-configs", type="BROKER", name="1", changes=[[key, "SET", reference]])
        deadline = time.monotonic() + 20
        while (found := admin.call("describe-configs", type="BROKER", name="1").get(key, {}).get("value")) != reference:
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
    refused = admin.answer("alter-configs", type="BROKER", name="1", changes=[["config.providers", "SET", "env"]])
    assert "InvalidRequest" in str(refused), refused


@pytest.mark.aplomb
def test_what_cannot_be_followed_is_said_without_the_secret(place):
    cases = [
        ({"config.providers.ghost.class": "com.example.Vault"}, "config.providers.ghost.class=com.example.Vault"),
        ({"config.providers.file.param.alowed.paths": "/"}, "this provider has no such parameter"),
        ({"config.providers.dir.param.allowed.paths": "relative"}, "config.providers.dir.param.allowed.paths=relative"),
        ({"num.partitions": "${file:HERE/none:password}"}, "num.partitions=${file:HERE/none:password}: HERE/none cannot be read"),
        ({"num.partitions": "${file:HERE/s.properties:password}"}, "Invalid value ${file:HERE/s.properties:password} for configuration num.partitions"),
        ({"num.partitions": "${env:APLOMB_E2E_SECRET}"}, "Invalid value ${env:APLOMB_E2E_SECRET} for configuration num.partitions"),
        ({"num.partition": "${env:APLOMB_E2E_SECRET}"}, "num.partition: there is no such key; did you mean num.partitions?"),
    ]
    for properties, expected in cases:
        said = serve(place, at(place, {**PROVIDERS, **properties}))
        assert expected.replace("HERE", str(place)) in said and "planted" not in said, said
        assert "wrong.properties, line 7: " in said or "dir.param" in str(properties) or "ghost" in str(properties) or "alowed" in str(properties), said


@pytest.mark.aplomb
def test_what_the_manual_says_to_write_works(tmp_path, monkeypatch):
    manual = (places.CHECKOUT / "docs/operating/security.md").read_text().split("\n## Secrets\n")[1]
    written = re.search(r"```properties\n(.*?)```", manual, re.DOTALL)[1]
    (tmp_path / "secrets.properties").write_text("keystore.password=of the store\n")
    (tmp_path / "key-password").write_text("of the key")
    monkeypatch.setenv("APLOMB_ALICE", "wonder")
    written = written.replace("/etc/aplomb", str(tmp_path)).replace("/run/secrets", str(tmp_path))
    properties = dict(line.split("=", 1) for line in written.splitlines())
    properties |= {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,INSIDE:SASL_PLAINTEXT"}
    inside, port, controller = brokers.free_ports(3)
    listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},INSIDE://127.0.0.1:{inside}"
    properties |= {"listeners": listeners, "sasl.enabled.mechanisms": "PLAIN", "inter.broker.listener.name": "PLAINTEXT"}
    properties |= {"controller.quorum.voters": f"1@127.0.0.1:{controller}"}
    broker = brokers.under_test()(tmp_path / "broker", properties)
    broker.port = port
    try:
        broker.start()
        with Conversation(inside) as conversation:
            assert conversation.log_in("alice", "wonder")[0] == 0
        assert "stays as it is written" not in broker.log_file.read_text()
    finally:
        broker.close()


# Each is in the settings, in a request or in a mistake below; none may be seen.
PLANTED = {
    name: f"planted-{name}"
    for name in ("alice", "own", "login", "client", "token", "oauth", "dynamic", "unknown", "topic", "wrong", "authzid", "override")
}
SCRAM_PASSWORD, SALT = "planted-scram", b"salt-of-this-test"
LISTENERS = ["PLAIN", "STORE", "INLINE"]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    authority.issue("broker", "/CN=localhost/O=Tests", rsa=True)
    return authority


def settings(authority, place):
    here = authority.directory
    users = f'{sasl.PLAIN_MODULE} required username="own" password="{PLANTED["own"]}" user_alice="{PLANTED["alice"]}" user_env="${{env:APLOMB_E2E_SECRET}}";'
    one_line = lambda name: (here / name).read_text().replace("\n", " ")
    return {
        **at(place, PROVIDERS),
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAIN:SASL_PLAINTEXT,STORE:SSL,INLINE:SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.plain.plain.sasl.jaas.config": users,
        "listener.name.plain.scram-sha-256.sasl.jaas.config": f'{sasl.SCRAM_MODULE} required username="own" password="{PLANTED["login"]}";',
        "listener.name.store.ssl.keystore.type": "PKCS12",
        "listener.name.store.ssl.keystore.location": authority.pkcs12("broker"),
        "listener.name.store.ssl.keystore.password": STORE_PASSWORD,
        "listener.name.inline.ssl.keystore.type": "PEM",
        "listener.name.inline.ssl.keystore.key": one_line("broker.key"),
        "listener.name.inline.ssl.keystore.certificate.chain": one_line("broker.pem"),
        "delegation.token.secret.key": PLANTED["token"],
        "sasl.oauthbearer.client.credentials.client.secret": PLANTED["oauth"],
        "sasl.jaas.config": f'{sasl.PLAIN_MODULE} required username="own" password="{PLANTED["client"]}";',
        "aplomb.slow.request.ms": "1",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "aplomb.audit.grants": "true",
    }


@pytest.fixture(scope="module")
def planted(authority, place, tmp_path_factory):
    """A broker full of secrets, and all that must not be seen."""
    broker = brokers.under_test()(tmp_path_factory.mktemp("planted"), settings(authority, place))
    ports = brokers.free_ports(len(LISTENERS) + 1)
    broker.ports, broker.metrics = dict(zip(LISTENERS, ports, strict=False)), ports[-1]
    broker.properties["listeners"] += "".join(f",{name}://127.0.0.1:{port}" for name, port in broker.ports.items())
    broker.properties["aplomb.metrics.listener"] = f"127.0.0.1:{broker.metrics}"
    broker.start()
    key = [line for line in (authority.directory / "broker.key").read_text().splitlines() if not line.startswith("-")]
    salted = hashlib.pbkdf2_hmac("sha256", SCRAM_PASSWORD.encode(), SALT, 4096)
    derived = [salted.hex(), base64.b64encode(salted).decode(), str(list(salted))[1:-1]]
    yield broker, [*PLANTED.values(), "planted-", SCRAM_PASSWORD, STORE_PASSWORD, *key[:-1], *derived]
    broker.close()


def shows_nothing(text, secrets, where):
    for secret in secrets:
        at = text.find(secret)
        assert at < 0, f"a secret is in {where}: {text[max(0, at - 200) : at + 40]}"


def page(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.read().decode(errors="replace")


def logs_in(broker, password, user="alice", authzid=""):
    with Conversation(broker.ports["PLAIN"]) as conversation:
        return conversation.ask(handshake("PLAIN")), conversation.ask(authenticate(plain(user, password, authzid)))


@pytest.mark.aplomb
def test_a_broker_with_secrets_leaves_no_core_dump(planted):
    broker, _ = planted
    limits = Path(f"/proc/{broker.pid}/limits").read_text().splitlines()
    soft = next(line for line in limits if line.startswith("Max core file size")).split()[4]
    assert soft in ("0", "1")


@pytest.mark.aplomb
def test_decisions_are_counted(planted):
    broker, _ = planted
    family = 'kafka_server_plugins_{}{class="StandardAuthorizer",config="authorizer.class.name",role="broker"}'

    def counted():
        lines = dict(line.rsplit(" ", 1) for line in page(broker.metrics, "/metrics").splitlines() if not line.startswith("#"))
        of = lambda outcome: sum(float(value) for key, value in lines.items() if key.startswith(f'aplomb_authorizations_total{{outcome="{outcome}"'))
        return lines, of("allowed"), of("denied")

    _, allowed, denied = counted()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic("counted", 1, 1)])["counted"].result(20)
    config = {"bootstrap.servers": f"127.0.0.1:{broker.ports['PLAIN']}", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN"}
    stranger = AdminClient({**config, "sasl.username": "alice", "sasl.password": PLANTED["alice"]})
    with pytest.raises(KafkaException):
        stranger.create_topics([NewTopic("refused", 1, 1)])["refused"].result(20)
    lines, more_allowed, more_denied = counted()
    assert more_allowed > allowed and more_denied > denied
    rates = [float(lines[family.replace("{}", f"authorization_{kind}_rate_per_minute")]) for kind in ("allowed", "denied", "request")]
    assert rates[0] > 0 and rates[1] > 0 and abs(rates[2] - rates[0] - rates[1]) < 1e-6 * rates[2]
    assert float(lines[family.replace("{}", "acls_total_count")]) == 0


@pytest.mark.aplomb
def test_no_secret_is_seen(planted, java, tools, place):
    broker, secrets = planted
    client = AdminClient({"bootstrap.servers": broker.bootstrap})
    upsert = UserScramCredentialUpsertion("carol", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), SCRAM_PASSWORD.encode(), SALT)
    for future in client.alter_user_scram_credentials([upsert]).values():
        future.result(30)

    # They are used, and mistaken.
    for arguments in ((PLANTED["alice"],), ("planted-in-the-environment", "env"), (PLANTED["wrong"],), (PLANTED["authzid"], "alice", "planted-other")):
        shows_nothing(str(logs_in(broker, *arguments)), [one for one in secrets if one != "planted-"], "an answer to a login")
    for mechanism, user, password in (("SCRAM-SHA-256", "carol", SCRAM_PASSWORD), ("SCRAM-SHA-256", "carol", PLANTED["wrong"])):
        config = {"bootstrap.servers": f"127.0.0.1:{broker.ports['PLAIN']}", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": mechanism}
        user_client = AdminClient({**config, "sasl.username": user, "sasl.password": password})
        if password == SCRAM_PASSWORD:
            assert user_client.list_topics(timeout=20).brokers
        else:
            with pytest.raises(KafkaException):
                user_client.list_topics(timeout=3)
    for name in ("STORE", "INLINE"):
        assert "BEGIN CERTIFICATE" in ssl.get_server_certificate(("127.0.0.1", broker.ports[name]))
    admin = Admin(java, broker)
    answers = [
        admin.answer("alter-configs", type=kind, name=name, changes=[[key, "SET", value]])
        for kind, name, key, value in (
            ("BROKER", "1", "listener.name.store.ssl.keystore.password", PLANTED["dynamic"]),
            ("BROKER", "1", "listener.name.plain.plain.sasl.jaas.config", f'x required user_a="{PLANTED["dynamic"]}";'),
            ("BROKER", "1", "ssl.keystore.password", PLANTED["dynamic"]),
            ("BROKER", "1", "ssl.keystore.pasword", PLANTED["unknown"]),
            ("BROKER", "", "my.own.password", PLANTED["unknown"]),
            ("TOPIC", "planted", "my.own.password", PLANTED["topic"]),
        )
    ]

    # And looked for.
    shows_nothing(str(answers), secrets, "an answer to AlterConfigs")
    time.sleep(1)
    shows_nothing(str(admin.call("describe-configs", type="BROKER", name="1")), secrets, "DescribeConfigs")
    shows_nothing(str(admin.call("describe-configs", type="BROKER", name="")), secrets, "DescribeConfigs for all brokers")
    for arguments in (("--entity-type", "brokers", "--entity-name", "1", "--all"), ("--entity-type", "users")):
        ran = tools.run("kafka-configs", "--bootstrap-server", broker.bootstrap, "--describe", *arguments)
        shows_nothing(ran.stdout, secrets, "kafka-configs")
    for path in ("/", "/metrics", "/slow", "/slow.json", "/healthz", "/readyz", "/console", "/planted"):
        shows_nothing(page(broker.metrics, path), [one for one in secrets if one != "planted-"], path)
    time.sleep(1)
    shows_nothing(broker.log_file.read_text(errors="replace"), secrets, "the log")


@pytest.mark.aplomb
def test_no_start_that_fails_shows_a_secret(planted, authority, tmp_path, place):
    broker, secrets = planted
    jaas, store = "listener.name.plain.plain.sasl.jaas.config", "listener.name.store.ssl.keystore"
    lines = [
        f'user_alice="{PLANTED["alice"]}" required;',
        f'{PLANTED["alice"]} required;',
        f'{sasl.PLAIN_MODULE} {PLANTED["alice"]};',
        f'{sasl.PLAIN_MODULE} required user_alice={PLANTED["alice"]} {PLANTED["own"]};',
        f'{sasl.PLAIN_MODULE} required user_alice="{PLANTED["alice"]}"{PLANTED["own"]}"; ',
        f'{sasl.PLAIN_MODULE} required user_alice="{PLANTED["alice"]}"',
    ]
    wrong = [
        *({jaas: line} for line in lines),
        {f"{store}.password": PLANTED["wrong"]},
        {f"{store}.type": "PEM"},
        {f"{store}.pasword": PLANTED["wrong"]},
        {"ssl.keystore.pasword": PLANTED["wrong"]},
        {f"{store}.location": "${env:APLOMB_E2E_SECRET}"},
        {"listener.name.inline.ssl.key.password": PLANTED["wrong"]},
        {"listener.name.inline.ssl.keystore.key": "-----BEGIN PRIVATE KEY----- cGxhbnRlZA== planted-key -----END PRIVATE KEY-----"},
        {"listener.name.inline.ssl.keystore.certificate.chain": "planted-certificate"},
        {"listener.name.inline.ssl.keystore.type": "JKS"},
        {"sasl.enabled.mechanisms": "${env:APLOMB_E2E_SECRET}"},
    ]
    names = ["PLAINTEXT", "CONTROLLER", *LISTENERS]
    *ports, metrics = brokers.free_ports(len(names) + 1)
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in zip(names, ports, strict=True))
    base = {**broker.properties, "log.dirs": tmp_path / "data", "aplomb.tail.dir": "memory", "listeners": listeners}
    base |= {"aplomb.metrics.listener": f"127.0.0.1:{metrics}", "controller.quorum.voters": f"1@127.0.0.1:{ports[1]}"}
    for change in wrong:
        said = serve(tmp_path, {**base, **change})
        (key,) = change
        about = "listener STORE" if key.startswith(store) else "listener INLINE" if "inline" in key else key
        assert key in said or about in said or key.startswith(store) and store in said, f"{change} ends in something else: {said}"
        # The path of a file is no secret, and is named.
        seen = said.replace("planted-in-the-environment", "") if f"{store}.location" in change else said
        shows_nothing(seen, secrets, f"what {change} ends in")
    said = serve(tmp_path, base, f"ssl.keystore.pasword={PLANTED['override']}")
    shows_nothing(said, secrets, "what a wrong --override ends in")
    shows_nothing(serve(tmp_path, base, PLANTED["override"]), secrets, "what half an --override ends in")
    said = serve(tmp_path, {**base, "num.partitions": "x"}, environment={"KAFKA_SSL_KEYSTORE_PASWORD": PLANTED["override"], "CLUSTER_ID": "x"})
    shows_nothing(said, secrets, "what a wrong variable ends in")
    config = tmp_path / "wrong.properties"
    ran = subprocess.run(
        [brokers.binary(), "storage", "format", "--config", config, "--add-scram", f"SCRAM-SHA-256=[nam=x,password={PLANTED['override']}]"],
        capture_output=True, text=True, timeout=30, cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode != 0
    shows_nothing(ran.stdout + ran.stderr, secrets, "aplomb storage format")
