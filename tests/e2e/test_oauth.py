"""OAUTHBEARER: tokens that an issuer has signed and such that nothing vouches for; who gets in, with which client; what others are
told, as by Apache Kafka; and an issuer that changes its keys, does not answer, or is gone."""

import json
import os
import time

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from harness import broker as brokers
from harness import oauth, wire
from harness.certificates import Authority
from harness.oauth import Issuer, base64url, first_message
from harness.sasl import CLOSED, Conversation, authenticate, authenticated, handshake, handshaken
from harness.tools import Tools

SHARED = ["OAUTH", "BARE", "SHORT"]
OURS = ["SECURE", "FILED", "HTTPS"]
MAP = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OAUTH:SASL_PLAINTEXT,BARE:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT"
BARE_HANDLER = "org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("ca"))
    authority.issue("server", "/CN=localhost/O=Tests")
    return authority


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    issuer = Issuer(tmp_path_factory.mktemp("issuer"))
    for algorithm in ("RS256", "ES256", "ES384"):
        issuer.key(algorithm.lower(), algorithm)
    issuer.key("stranger", published=False)
    # A JVM fetches nothing that is not named so.
    os.environ["JAVA_TOOL_OPTIONS"] = f"-D{oauth.ALLOWED}={issuer.keys_url},{issuer.token_url}"
    yield issuer
    del os.environ["JAVA_TOOL_OPTIONS"]
    issuer.close()


def properties(issuer, names):
    options = "unsecuredLoginStringClaim_sub='broker' unsecuredValidatorRequiredScope='a b' unsecuredValidatorAllowableClockSkewMs='3000'"
    return {
        "listener.security.protocol.map": MAP + "".join(f",{name}:SASL_{'SSL' if name == 'SECURE' else 'PLAINTEXT'}" for name in names),
        "inter.broker.listener.name": "PLAINTEXT",
        **issuer.properties("oauth"),
        **issuer.properties("short"),
        "listener.name.short.connections.max.reauth.ms": "60000",
        "listener.name.bare.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.bare.oauthbearer.sasl.jaas.config": f"{oauth.MODULE} required {options};",
        "listener.name.bare.oauthbearer.sasl.server.callback.handler.class": BARE_HANDLER,
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "1000",
    }


def started(kind, directory, properties, names):
    broker = brokers.KINDS[kind](directory, properties)
    broker.ports = dict(zip(names, brokers.free_ports(len(names)), strict=True))
    broker.properties["listeners"] += "".join(f",{name}://127.0.0.1:{port}" for name, port in broker.ports.items())
    return broker.start()


@pytest.fixture(scope="module")
def broker(issuer, authority, tmp_path_factory):
    kind = brokers.under_test().kind
    settings, names, tls = properties(issuer, OURS if kind == "aplomb" else []), list(SHARED), None
    if kind == "aplomb":
        names += OURS
        both, keys = authority.directory / "server.both.pem", issuer.directory / "keys.json"
        settings |= {"listener.name.secure.ssl.keystore.type": "PEM", "listener.name.secure.ssl.keystore.location": both}
        settings |= issuer.properties("secure")
        keys.write_text(issuer.jwks())
        settings |= issuer.properties("filed", f"file://{keys}")
        tls = Issuer(issuer.directory, both)
        tls.algorithms, tls.published = issuer.algorithms, issuer.published
        trust = f' ssl.truststore.type="PEM" ssl.truststore.location="{authority.certificate}"'
        settings |= issuer.properties("https", tls.keys_url, trust)
    broker = started(kind, tmp_path_factory.mktemp("broker"), settings, names)
    yield broker
    died = not broker.alive()
    log = broker.log_file.read_text(errors="replace")
    broker.close()
    if tls:
        tls.close()
    assert not died, log
    if kind == "aplomb":
        assert oauth.SECRET not in log and base64url('{"alg"')[:8] not in log, "a token is in the log"


@pytest.fixture(scope="module")
def both(broker, issuer, tmp_path_factory):
    kafka = started("kafka", tmp_path_factory.mktemp("kafka"), properties(issuer, []), SHARED)
    yield broker, kafka
    kafka.close()


def client(issuer, port, user="alice", authority=None):
    tls = {"security.protocol": "SASL_SSL", "ssl.ca.location": str(authority.certificate)} if authority else {}
    return {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": user,
        "sasl.oauthbearer.client.secret": oauth.SECRET,
        "sasl.oauthbearer.token.endpoint.url": issuer.token_url,
        "log_level": 0,
        **tls,
    }


def produce_and_consume(config, topic):
    producer, faults = Producer(config), []
    for n in range(10):
        producer.produce(topic, f"value {n}", on_delivery=lambda error, _: faults.append(error) if error else None)
    assert producer.flush(30) == 0 and not faults, faults
    consumer = Consumer({**config, "group.id": f"of-{topic}", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    values, until = [], time.monotonic() + 30
    while len(values) < 10 and time.monotonic() < until:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append(message.value().decode())
    consumer.close()
    assert values == [f"value {n}" for n in range(10)]


def test_librdkafka_gets_in_with_a_token_of_the_issuer(broker, issuer):
    produce_and_consume(client(issuer, broker.ports["OAUTH"]), "oidc")


@pytest.mark.aplomb
def test_librdkafka_gets_in_by_tls(broker, issuer, authority):
    produce_and_consume(client(issuer, broker.ports["SECURE"], authority=authority), "oidc-tls")


def test_librdkafka_gets_in_with_a_token_of_its_own(broker, issuer):
    asked = []

    def token(_):
        asked.append(time.time())
        return issuer.token(kid="es384", exp=int(time.time()) + 300), time.time() + 300

    config = {"bootstrap.servers": f"127.0.0.1:{broker.ports['OAUTH']}", "security.protocol": "SASL_PLAINTEXT"}
    admin = AdminClient({**config, "sasl.mechanisms": "OAUTHBEARER", "oauth_cb": token})
    admin.poll(2)
    assert admin.list_topics(timeout=20).brokers and asked


def test_librdkafka_shows_that_its_token_does_not_count(broker, issuer):
    said = []
    config = {"bootstrap.servers": f"127.0.0.1:{broker.ports['OAUTH']}", "security.protocol": "SASL_PLAINTEXT", "log_level": 0}
    token = lambda _: (issuer.token(kid="stranger"), time.time() + 300)
    admin = AdminClient({**config, "sasl.mechanisms": "OAUTHBEARER", "oauth_cb": token, "error_cb": said.append})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=4)
    admin.poll(1)
    assert any("invalid_token" in str(error) for error in said), said


@pytest.mark.parametrize("name", ["OAUTH", pytest.param("SECURE", marks=pytest.mark.aplomb)])
def test_java_gets_in(broker, issuer, authority, tmp_path, name):
    protocol = "SASL_PLAINTEXT"
    tls = ""
    if name == "SECURE":
        protocol, tls = "SASL_SSL", f"ssl.truststore.type=PEM\nssl.truststore.location={authority.certificate}\n"
    config = tmp_path / "client.properties"
    config.write_text(
        f"security.protocol={protocol}\nsasl.mechanism=OAUTHBEARER\n{tls}sasl.login.callback.handler.class={oauth.LOGIN_HANDLER}\n"
        f"sasl.oauthbearer.token.endpoint.url={issuer.token_url}\n"
        f'sasl.jaas.config={oauth.MODULE} required clientId="java" clientSecret="{oauth.SECRET}";\n'
    )
    # A JVM of its own, since it is told by an option which URLs it may use.
    tools = Tools(tmp_path / "tools.log")
    at = ("--bootstrap-server", f"127.0.0.1:{broker.ports[name]}")
    topic = f"java-{name.lower()}"
    tools.ok("kafka-topics", *at, "--command-config", config, "--create", "--topic", topic)
    tools.ok("kafka-console-producer", *at, "--command-config", config, "--topic", topic, stdin="one\ntwo\n")
    ran = tools.ok("kafka-console-consumer", *at, "--command-config", config, "--topic", topic, "--from-beginning", "--max-messages", "2")
    tools.close()
    assert ran.lines()[:2] == ["one", "two"]


def said_to(port, message, version=1):
    """What a first message is answered, what nothing more then is, and whether a request is answered after that."""
    with Conversation(port) as there:
        assert handshaken(there.ask(handshake("OAUTHBEARER")))[0] == 0
        answers = [there.ask(authenticate(message, version))]
        first = authenticated(answers[0], version)
        if first is CLOSED:
            return [CLOSED]
        if first[0] == 0 and first[2]:
            answers.append(there.ask(authenticate(b"\x01", version)))
        shown = [CLOSED if answer is CLOSED else authenticated(answer, version) for answer in answers]
        # How long it is good for depends on when it was asked.
        shown = [one if one is CLOSED else (*one[:3], one[3] is not None and one[3] > 0) for one in shown]
        return [*shown, there.ask(wire.metadata([])) is CLOSED]


def is_in(answers):
    first, *_ = answers
    return first is not CLOSED and first[0] == 0 and not first[2] and answers[-1] is False


def signed_cases(issuer):
    now = int(time.time())
    claims = {"sub": "alice", "iss": issuer.url, "aud": oauth.AUDIENCE, "iat": now, "exp": now + 300}
    token = issuer.token
    good = token()
    head, body, signature = good.split(".")
    text = json.dumps(claims)
    yield "right", first_message(good)
    for algorithm in ("RS384", "RS512", "PS256", "PS384", "PS512"):
        yield algorithm, first_message(token(algorithm=algorithm))
    yield "ES256", first_message(token(kid="es256"))
    yield "ES384", first_message(token(kid="es384"))
    yield "as itself", first_message(good, "alice")
    yield "as another", first_message(good, "bob")
    yield "with extensions", first_message(good, more="traceId=123\x01")
    yield "with an extension of a strange name", first_message(good, more="trace-id=123\x01")
    yield "another scheme", first_message(good, scheme="Basic")
    yield "the scheme in capitals", first_message(good, scheme="BEARER")
    yield "no scheme", b"n,,\x01auth=" + good.encode() + b"\x01\x01"
    yield "no auth", b"n,,\x01x=y\x01\x01"
    yield "no end", first_message(good)[:-1]
    yield "two ends", first_message(good) + b"\x01"
    yield "of another mechanism", b"\0alice\0wonder"
    yield "nothing", b""
    yield "nothing more", b"\x01"
    yield "channel binding", b"y" + first_message(good)[1:]
    yield "padded", first_message(good + "==")
    yield "expired", first_message(token(iat=now - 900, exp=now - 600))
    yield "expired within the leeway", first_message(token(iat=now - 900, exp=now - 5))
    yield "from the future", first_message(token(iat=now + 200, exp=now + 300))
    yield "not yet", first_message(token(nbf=now + 200))
    yield "soon", first_message(token(nbf=now + 10))
    yield "it ends before it begins", first_message(token(iat=now + 400))
    yield "no end of time", first_message(token(exp=None))
    yield "no beginning", first_message(token(iat=None))
    yield "time as a text", first_message(token(exp=str(now + 300)))
    yield "time with a fraction", first_message(token(exp=now + 300.5))
    yield "a huge time", first_message(issuer.signed(json.dumps({"alg": "RS256", "kid": "rs256"}), text.replace(str(now + 300), "9" * 30)))
    yield "another audience", first_message(token(aud="another"))
    yield "several audiences", first_message(token(aud=["another", oauth.AUDIENCE]))
    yield "no audience", first_message(token(aud=None))
    yield "audience of numbers", first_message(token(aud=[oauth.AUDIENCE, 7]))
    yield "another issuer", first_message(token(iss=issuer.url + "/"))
    yield "no issuer", first_message(token(iss=None))
    yield "no subject", first_message(token(sub=None))
    yield "subject of blanks", first_message(token(sub="  "))
    yield "subject in blanks", first_message(token(sub=" alice "), "alice")
    yield "subject as a number", first_message(token(sub=7))
    yield "scope", first_message(token(scope="a b"))
    yield "scopes", first_message(token(scope=["a", "b"]))
    yield "a scope twice", first_message(token(scope=["a", "a"]))
    yield "empty scope", first_message(token(scope=""))
    yield "scope as a number", first_message(token(scope=7))
    yield "id as a number", first_message(token(jti=7))
    yield "signed by a stranger", first_message(token(kid="stranger", header={"alg": "RS256", "kid": "rs256"}))
    yield "key of a stranger", first_message(token(kid="stranger"))
    yield "another key's id", first_message(token(header={"alg": "RS256", "kid": "es256"}))
    yield "no key id", first_message(token(header={"alg": "RS256"}))
    yield "no key id, of a curve", first_message(token(kid="es384", header={"alg": "ES384"}, algorithm="ES384"))
    yield "key id as a number", first_message(token(header={"alg": "RS256", "kid": 7}))
    yield "none", first_message(f"{base64url(json.dumps({'alg': 'none', 'kid': 'rs256'}))}.{body}.")
    yield "none with a signature", first_message(f"{base64url(json.dumps({'alg': 'none', 'kid': 'rs256'}))}.{body}.{signature}")
    yield "the public key as a secret", first_message(oauth.confused(issuer, "rs256"))
    yield "no algorithm", first_message(token(header={"kid": "rs256"}))
    yield "critical", first_message(token(header={"alg": "RS256", "kid": "rs256", "crit": ["x"], "x": 1}))
    yield "critical and known", first_message(token(header={"alg": "RS256", "kid": "rs256", "crit": ["b64"], "b64": True}))
    yield "a long life", first_message(token(exp=now + 90 * 31_536_000))
    yield "another content", first_message(token(header={"alg": "RS256", "kid": "rs256", "cty": "JWT"}))
    yield "a claim twice", first_message(issuer.signed(json.dumps({"alg": "RS256", "kid": "rs256"}), text[:-1] + ', "sub": "bob"}'))
    yield "claims that are no object", first_message(issuer.signed(json.dumps({"alg": "RS256", "kid": "rs256"}), "[]"))
    yield "claims that are no JSON", first_message(issuer.signed(json.dumps({"alg": "RS256", "kid": "rs256"}), "{"))
    yield "other claims", first_message(f"{head}.{base64url(text.replace('alice', 'bobby'))}.{signature}")
    yield "two parts", first_message(f"{head}.{body}")
    yield "four parts", first_message(f"{good}.{signature}")
    yield "no signature", first_message(f"{head}.{body}.")
    yield "no token", first_message("x")


def bare_cases():
    now = time.time()
    right = {"sub": "alice", "exp": now + 300, "scope": ["a", "b", "c"]}
    yield "right", oauth.unsecured(right)
    yield "with a beginning", oauth.unsecured({**right, "iat": now})
    yield "scope as a text", oauth.unsecured({**right, "scope": "a b"})
    yield "too little scope", oauth.unsecured({**right, "scope": ["a"]})
    yield "no scope", oauth.unsecured({"sub": "alice", "exp": now + 300})
    yield "expired", oauth.unsecured({**right, "exp": now - 60})
    yield "expired within the leeway", oauth.unsecured({**right, "exp": now - 1})
    yield "from the future", oauth.unsecured({**right, "iat": now + 60})
    yield "it ends before it begins", oauth.unsecured({**right, "iat": now + 1, "exp": now + 0.5})
    yield "no end of time", oauth.unsecured({"sub": "alice", "scope": ["a", "b"]})
    yield "time as a text", oauth.unsecured({**right, "exp": str(now + 300)})
    yield "no subject", oauth.unsecured({"exp": now + 300, "scope": ["a", "b"]})
    yield "subject of blanks", oauth.unsecured({**right, "sub": " "})
    yield "subject as a number", oauth.unsecured({**right, "sub": 7})
    yield "with a signature", oauth.unsecured(right) + "AAAA"
    yield "another algorithm", oauth.unsecured(right, '{"alg":"HS256"}')
    yield "no JSON", oauth.unsecured("{")
    yield "two parts", oauth.unsecured(right)[:-1]
    yield "many parts", oauth.unsecured(right) + ".."
    yield "no base64", "~." + oauth.unsecured(right)


@pytest.fixture(scope="module")
def differences(both, issuer):
    """Where the two brokers say other things, of all cases; they are asked side by side, since tokens age."""
    found = {}
    for name, message in signed_cases(issuer):
        for version in (1, 2):
            ours, theirs = (said_to(broker.ports["OAUTH"], message, version) for broker in both)
            assert name != "right" or is_in(ours)
            if ours != theirs:
                found["signed", name, version] = (ours, theirs)
    for name, token in bare_cases():
        ours, theirs = (said_to(broker.ports["BARE"], first_message(token)) for broker in both)
        assert name != "right" or is_in(ours)
        if ours != theirs:
            found["bare", name] = (ours, theirs)
    return found


def test_every_token_is_answered_as_by_apache_kafka(differences):
    assert differences == {}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_client_that_is_challenged_may_show_another_token(both, issuer, version):
    def outcome(broker):
        with Conversation(broker.ports["OAUTH"]) as there:
            there.ask(handshake("OAUTHBEARER"))
            said = [there.ask(authenticate(first_message(token), version)) for token in (issuer.token(aud="x"), issuer.token())]
            return [authenticated(answer, version)[:3] for answer in said], there.ask(wire.metadata([])) is CLOSED

    ours, theirs = map(outcome, both)
    assert ours == theirs


def test_raw_tokens_are_answered_as_by_apache_kafka(both, issuer):
    def outcome(broker, token):
        with Conversation(broker.ports["OAUTH"]) as there:
            there.ask(handshake("OAUTHBEARER", 0))
            return there.ask(first_message(token)), there.ask(b"\x01") is CLOSED

    for token in (issuer.token(aud="x"), issuer.token()):
        ours, theirs = (outcome(broker, token) for broker in both)
        assert ours == theirs


@pytest.mark.parametrize("when", ["it goes on", "it is over", "anew", "anew as another"])
def test_who_has_come_with_a_token_may_stay_as_long_as_it_lasts(both, issuer, when):
    def come(there, sub, seconds):
        assert handshaken(there.ask(handshake("OAUTHBEARER")))[0] == 0
        return authenticated(there.ask(authenticate(first_message(issuer.token(sub, exp=int(time.time()) + seconds)))))

    def outcome(broker):
        with Conversation(broker.ports["OAUTH"]) as there:
            error, _, _, lifetime = come(there, "alice", 3)
            assert error == 0 and 1000 < lifetime <= 3000, lifetime
            if when == "it is over":
                time.sleep(3.2)
            elif when.startswith("anew"):
                time.sleep(1.2)
                error, message, token, _ = come(there, "alice" if when == "anew" else "bob", 30)
                if error:
                    return error, message, token
                time.sleep(2.5)
            return there.ask(wire.metadata([])) is CLOSED

    ours, theirs = map(outcome, both)
    assert ours == theirs


def test_the_shorter_of_token_and_setting_counts(both, issuer):
    for broker in both:
        for seconds, most in ((300, 60_000), (20, 20_000)):
            with Conversation(broker.ports["SHORT"]) as there:
                there.ask(handshake("OAUTHBEARER"))
                token = issuer.token(exp=int(time.time()) + seconds)
                _, _, _, lifetime = authenticated(there.ask(authenticate(first_message(token))))
                assert most - 2000 < lifetime <= most, (broker.kind, lifetime)


def gets_in(broker, token, name="OAUTH"):
    return is_in(said_to(broker.ports[name], first_message(token)))


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it has not come about"
        time.sleep(0.2)


def test_a_new_key_counts_soon_after_its_first_token(both, issuer):
    for broker in both:
        kid = issuer.key(f"new-{broker.kind}", published=False)
        issuer.published.append(kid)
        token = issuer.token(kid=kid)
        assert not gets_in(broker, token), "the first is refused, and asks for newer keys"
        until(lambda broker=broker, token=token: gets_in(broker, token))
        assert gets_in(broker, issuer.token())


@pytest.mark.aplomb
@pytest.mark.slow
def test_strangers_cannot_have_keys_fetched_again_and_again(broker, issuer):
    time.sleep(1.5)
    before, began = issuer.fetches, time.monotonic()
    for n in range(200):
        assert not gets_in(broker, issuer.token(header={"alg": "RS256", "kid": f"none-{n % 40}"}))
    # One a second, for each of those that were asked from: HTTP by the listeners of one set of settings.
    assert issuer.fetches - before <= 2 + (time.monotonic() - began)


@pytest.mark.aplomb
def test_while_an_issuer_does_not_answer_its_old_keys_count(broker, issuer):
    kid = issuer.key("late", published=False)
    time.sleep(1.5)
    fetched = issuer.fetches
    issuer.freeze()
    try:
        issuer.published.append(kid)
        token = issuer.token(kid=kid)
        assert not gets_in(broker, token)
        until(lambda: issuer.fetches > fetched)
        # Old keys count, new ones are refused at once, and requests are answered.
        assert gets_in(broker, issuer.token()) and not gets_in(broker, token)
        produce_and_consume({"bootstrap.servers": broker.bootstrap}, "while-frozen")
    finally:
        issuer.thaw()
    until(lambda: gets_in(broker, token))


@pytest.mark.aplomb
def test_keys_in_a_file_are_taken_anew_when_it_changes(broker, issuer):
    keys = issuer.directory / "keys.json"
    assert gets_in(broker, issuer.token(), "FILED")
    issuer.key("filed", "ES256", published=False)
    token = issuer.token(kid="filed")
    assert not gets_in(broker, token, "FILED")
    keys.write_text("{ half a file")
    until(lambda: "stay in use" in broker.log_file.read_text())
    assert gets_in(broker, issuer.token(), "FILED")
    keys.write_text(json.dumps({"keys": [issuer.jwk("filed")]}))
    until(lambda: gets_in(broker, token, "FILED"))
    assert not gets_in(broker, issuer.token(), "FILED"), "a key that is gone does not count"


@pytest.mark.aplomb
def test_keys_are_fetched_by_tls_from_whom_the_trust_store_trusts(broker, issuer):
    assert gets_in(broker, issuer.token(), "HTTPS")


def refusal(settings, tmp_path):
    """What a broker says that does not start."""
    with pytest.raises(brokers.BrokerDied) as died:
        started("aplomb", tmp_path / "refused", settings, SHARED)
    return str(died.value)


@pytest.mark.aplomb
def test_a_broker_does_not_start_without_its_issuers_keys(issuer, authority, tmp_path):
    gone = brokers.free_ports(1)[0]
    nowhere = {**properties(issuer, []), **issuer.properties("oauth", f"http://127.0.0.1:{gone}/keys")}
    assert "cannot be had" in refusal(nowhere, tmp_path)
    no_file = {**properties(issuer, []), **issuer.properties("oauth", f"file:{tmp_path}/none.json")}
    assert "none.json cannot be read" in refusal(no_file, tmp_path)
    tls = Issuer(issuer.directory, authority.directory / "server.both.pem")
    untrusted = {**properties(issuer, []), **issuer.properties("oauth", tls.keys_url)}
    sentence = refusal(untrusted, tmp_path)
    tls.close()
    assert "TLS: its certificate is not signed by an authority that is trusted (ssl.truststore.location)" in sentence, sentence


@pytest.mark.aplomb
@pytest.mark.slow
def test_a_broker_whose_issuer_does_not_answer_gives_its_start_up(tmp_path_factory, tmp_path):
    frozen = Issuer(tmp_path_factory.mktemp("frozen"))
    frozen.key("k")
    frozen.freeze()
    sentence = refusal({**properties(frozen, []), "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "100000"}, tmp_path)
    frozen.close()
    assert "has not given its keys within 30s" in sentence, sentence
