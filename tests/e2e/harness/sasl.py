"""SASL by hand: conversations that no client library would have, and what a broker says in them."""

import base64
import hashlib
import hmac
import socket
import struct

from harness import wire

HANDSHAKE, AUTHENTICATE = 17, 36
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
CLOSED = "closed"


def handshake(mechanism, version=1):
    return wire.header(HANDSHAKE, version) + wire.string(mechanism)


def authenticate(token, version=1):
    if version >= 2:
        return wire.header(AUTHENTICATE, version, flexible=True) + wire.unsigned_varint(len(token) + 1) + token + b"\x00"
    return wire.header(AUTHENTICATE, version) + struct.pack(">i", len(token)) + token


def plain(user, password, authorization=""):
    return f"{authorization}\0{user}\0{password}".encode()


class Scram:
    """A client's side of SCRAM."""

    def __init__(self, user, password, hash_name="sha256", nonce="fyko+d2lbbFgONRv9qkxdawL", extensions=""):
        self.password, self.hash_name, self.nonce = password, hash_name, nonce
        self.bare = f"n={user},r={nonce}{extensions}"

    def first(self):
        return f"n,,{self.bare}".encode()

    def final(self, challenge, nonce=None):
        fields = dict(field.split("=", 1) for field in challenge.decode().split(","))
        salted = hashlib.pbkdf2_hmac(self.hash_name, self.password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
        client_key = hmac.digest(salted, b"Client Key", self.hash_name)
        without = f"c=biws,r={nonce or fields['r']}"
        said = f"{self.bare},{challenge.decode()},{without}".encode()
        signature = hmac.digest(hashlib.new(self.hash_name, client_key).digest(), said, self.hash_name)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{without},p={base64.b64encode(proof).decode()}".encode()


class Conversation:
    """A connection on which what is said is sent as it is; an answer is its payload, or `CLOSED`."""

    def __init__(self, port, wrap=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        if wrap:
            self.socket = wrap(self.socket)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *payloads):
        self.socket.sendall(b"".join(map(wire.frame, payloads)))

    def answer(self):
        try:
            head = self._take(4)
            return head if head is CLOSED else self._take(struct.unpack(">i", head)[0])
        except (ConnectionResetError, BrokenPipeError):
            return CLOSED

    def ask(self, payload):
        try:
            self.send(payload)
        except (ConnectionResetError, BrokenPipeError):
            return CLOSED
        return self.answer()

    def _take(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                return CLOSED
            data += more
        return data

    def log_in(self, user, password):
        """By PLAIN."""
        assert handshaken(self.ask(handshake("PLAIN")))[0] == 0
        return authenticated(self.ask(authenticate(plain(user, password))))


def handshaken(answer):
    """(error code, enabled mechanisms) of a SaslHandshake response."""
    if answer is CLOSED:
        return CLOSED
    reader = wire.Reader(answer)
    reader.int32()
    return reader.int16(), sorted(reader.string() for _ in range(reader.int32()))


def authenticated(answer, version=1):
    """(error code, message, token, session's lifetime) of a SaslAuthenticate response."""
    if answer is CLOSED:
        return CLOSED
    reader = wire.Reader(answer)
    reader.int32()
    if version >= 2:
        reader.tagged()
        error, message = reader.int16(), reader.compact_string()
        token = reader.take(reader.unsigned_varint() - 1)
    else:
        error, message = reader.int16(), reader.string()
        token = reader.take(reader.int32())
    return error, message, token, reader.int64() if version >= 1 else None
