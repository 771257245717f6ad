"""An issuer of tokens: keys and signatures by openssl, its set of keys and its tokens by HTTP, which can be frozen."""

import base64
import hashlib
import json
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness.certificates import openssl

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
LOGIN_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
AUDIENCE, SECRET = "the-cluster", "secret-of-a-client"
CURVES = {"ES256": ("P-256", 32), "ES384": ("P-384", 48)}


def base64url(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else data.encode()).rstrip(b"=").decode()


def first_message(token, who="", scheme="Bearer", more=""):
    """What a client says first."""
    authorization = f"a={who}" if who else ""
    return f"n,{authorization},\x01auth={scheme} {token}\x01{more}\x01".encode()


class Issuer:
    """Keys have an id and an algorithm; those that are `published` are in the set."""

    def __init__(self, directory, certificate=None):
        self.directory, self.algorithms, self.published = directory, {}, []
        self.fetches, self.thawed = 0, threading.Event()
        self.thawed.set()
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.fetches += 1
                issuer.thawed.wait(60)
                self.reply(issuer.jwks())

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                user, secret = base64.b64decode(self.headers["Authorization"].split()[1]).decode().split(":", 1)
                assert secret == SECRET
                token = issuer.token(user, issuer.published[0], exp=time.time() + 300)
                self.reply(json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": 300}))

            def reply(self, text):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        scheme = "https" if certificate else "http"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}"

    @property
    def keys_url(self):
        return f"{self.url}/keys"

    @property
    def token_url(self):
        return f"{self.url}/token"

    def key(self, kid, algorithm="RS256", published=True):
        """Makes a key."""
        kind = ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
        if algorithm in CURVES:
            kind = ["EC", "-pkeyopt", f"ec_paramgen_curve:{CURVES[algorithm][0]}"]
        openssl("genpkey", "-algorithm", *kind, "-out", f"{kid}.key", cwd=self.directory)
        openssl("pkey", "-in", f"{kid}.key", "-pubout", "-outform", "DER", "-out", f"{kid}.der", cwd=self.directory)
        self.algorithms[kid] = algorithm
        if published:
            self.published.append(kid)
        return kid

    def jwk(self, kid):
        algorithm = self.algorithms[kid]
        public = (self.directory / f"{kid}.der").read_bytes()
        if algorithm in CURVES:
            name, width = CURVES[algorithm]
            x, y = public[-2 * width : -width], public[-width:]
            return {"kty": "EC", "kid": kid, "crv": name, "x": base64url(x), "y": base64url(y)}
        shown = subprocess.run(
            ["openssl", "rsa", "-in", f"{kid}.key", "-noout", "-modulus"], cwd=self.directory, check=True, capture_output=True, text=True
        )
        modulus = bytes.fromhex(shown.stdout.strip().split("=")[1])
        return {"kty": "RSA", "kid": kid, "use": "sig", "n": base64url(modulus), "e": "AQAB"}

    def jwks(self):
        return json.dumps({"keys": [self.jwk(kid) for kid in self.published]})

    def sign(self, kid, message, algorithm=None):
        algorithm = algorithm or self.algorithms[kid]
        bits = algorithm[2:]
        padding = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"] if algorithm.startswith("PS") else []
        signed = subprocess.run(
            ["openssl", "dgst", f"-sha{bits}", "-sign", f"{kid}.key", *padding],
            cwd=self.directory, input=message, check=True, capture_output=True,
        ).stdout  # fmt: skip
        if algorithm not in CURVES:
            return signed
        # Two numbers of DER, which a token has as they are.
        width, at, numbers = CURVES[algorithm][1], 3 if signed[1] & 0x80 else 2, b""
        for _ in range(2):
            length = signed[at + 1]
            numbers += signed[at + 2 : at + 2 + length].lstrip(b"\0").rjust(width, b"\0")
            at += 2 + length
        return numbers

    def token(self, sub="alice", kid=None, header=None, algorithm=None, **claims):
        """A token; a claim that is None is left out."""
        kid = kid or self.published[0]
        now = time.time()
        said = {"sub": sub, "iss": self.url, "aud": AUDIENCE, "iat": int(now), "exp": int(now) + 300, **claims}
        said = {name: value for name, value in said.items() if value is not None}
        header = header if header is not None else {"alg": algorithm or self.algorithms[kid], "kid": kid}
        return self.signed(json.dumps(header), json.dumps(said), kid, algorithm)

    def signed(self, header, claims, kid=None, algorithm=None):
        """A token of texts."""
        message = f"{base64url(header)}.{base64url(claims)}"
        return f"{message}.{base64url(self.sign(kid or self.published[0], message.encode(), algorithm))}"

    def properties(self, listener, keys_url=None, jaas=""):
        """Settings of a listener that takes this issuer's tokens."""
        prefix = f"listener.name.{listener}"
        return {
            f"{prefix}.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{prefix}.oauthbearer.sasl.jaas.config": f"{MODULE} required{jaas};",
            f"{prefix}.oauthbearer.sasl.server.callback.handler.class": HANDLER,
            f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": keys_url or self.keys_url,
            f"{prefix}.sasl.oauthbearer.expected.audience": AUDIENCE,
            f"{prefix}.sasl.oauthbearer.expected.issuer": self.url,
        }

    def freeze(self):
        """Requests are accepted and not answered."""
        self.thawed.clear()

    def thaw(self):
        self.thawed.set()

    def close(self):
        self.thaw()
        self.server.shutdown()
        self.server.server_close()


def unsecured(claims, header='{"alg":"none"}'):
    """A token that nothing vouches for."""
    return f"{base64url(header)}.{base64url(claims if isinstance(claims, str) else json.dumps(claims))}."


def confused(issuer, kid):
    """A token whose HMAC has the public key, which all know, for its secret."""
    import hmac

    now = int(time.time())
    claims = {"sub": "alice", "iss": issuer.url, "aud": AUDIENCE, "iat": now, "exp": now + 300}
    message = f"{base64url(json.dumps({'alg': 'HS256', 'kid': kid}))}.{base64url(json.dumps(claims))}"
    secret = (issuer.directory / f"{kid}.der").read_bytes()
    return f"{message}.{base64url(hmac.digest(secret, message.encode(), hashlib.sha256))}"
