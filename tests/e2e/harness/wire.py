"""Kafka's protocol by hand: frames, a few requests, and connections that may say anything. Written from the public schemas and
kept apart from every client library, so that a test can send what no library would."""

import socket
import struct

PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
# Tags of the ApiVersions response.
SUPPORTED_FEATURES, FINALIZED_FEATURES_EPOCH, FINALIZED_FEATURES = 0, 1, 2


def string(text):
    """A nullable string with a two-byte length."""
    if text is None:
        return struct.pack(">h", -1)
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def unsigned_varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def compact_string(text):
    data = text.encode()
    return unsigned_varint(len(data) + 1) + data


def header(api_key, version, correlation_id=1, client_id="raw", flexible=False):
    """Request header 1, or 2 for a flexible request: there an empty set of tagged fields follows."""
    head = struct.pack(">hhi", api_key, version, correlation_id) + string(client_id)
    return head + b"\x00" if flexible else head


def frame(payload):
    return struct.pack(">i", len(payload)) + payload


def api_versions(version, name="raw", software_version="1.0", correlation_id=1):
    """An ApiVersions request; from version 3 on with the client's software name and version, from 5 on without a node to check."""
    if version < 3:
        return header(API_VERSIONS, version, correlation_id)
    body = compact_string(name) + compact_string(software_version)
    if version >= 5:
        body += b"\x00" + struct.pack(">i", -1)
    return header(API_VERSIONS, version, correlation_id, flexible=True) + body + b"\x00"


def metadata(topics=None, version=1):
    """A Metadata request of version 1; None asks for all topics."""
    body = struct.pack(">i", -1) if topics is None else struct.pack(">i", len(topics)) + b"".join(map(string, topics))
    return header(METADATA, version) + body


class Reader:
    """Reads a response from its first byte on; the frame's length is already gone."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        assert self.at + count <= len(self.data), f"a response of {len(self.data)} bytes ends before byte {self.at + count}"
        self.at += count
        return self.data[self.at - count : self.at]

    def int8(self):
        return struct.unpack(">b", self.take(1))[0]

    def int16(self):
        return struct.unpack(">h", self.take(2))[0]

    def int32(self):
        return struct.unpack(">i", self.take(4))[0]

    def int64(self):
        return struct.unpack(">q", self.take(8))[0]

    def string(self):
        length = self.int16()
        return None if length < 0 else self.take(length).decode()

    def unsigned_varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def compact_string(self):
        length = self.unsigned_varint() - 1
        return None if length < 0 else self.take(length).decode()

    def tagged(self):
        """Tagged fields as {tag: bytes}."""
        return {self.unsigned_varint(): self.take(self.unsigned_varint()) for _ in range(self.unsigned_varint())}

    def rest(self):
        return self.data[self.at :]


def read_api_versions(response, version):
    """(error code, {api key: (lowest, highest)}, tagged fields) of an ApiVersions response of that version."""
    reader = Reader(response)
    reader.int32()
    error = reader.int16()
    count = reader.unsigned_varint() - 1 if version >= 3 else reader.int32()
    ranges = {}
    for _ in range(count):
        key, low, high = reader.int16(), reader.int16(), reader.int16()
        ranges[key] = (low, high)
        if version >= 3:
            reader.tagged()
    if version >= 1:
        reader.int32()
    tags = reader.tagged() if version >= 3 else {}
    assert reader.rest() == b"", f"bytes after the end of the response: {reader.rest()!r}"
    return error, ranges, tags


def read_features(data):
    """[(name, lowest, highest)] of SupportedFeatures; FinalizedFeatures has the highest level first."""
    reader = Reader(data)
    found = []
    for _ in range(reader.unsigned_varint() - 1):
        found.append((reader.compact_string(), reader.int16(), reader.int16()))
        reader.tagged()
    return found


def read_metadata(response):
    """(brokers, {topic: (error, number of partitions)}) of a Metadata response of version 1."""
    reader = Reader(response)
    reader.int32()
    brokers = []
    for _ in range(reader.int32()):
        brokers.append((reader.int32(), reader.string(), reader.int32()))
        reader.string()
    reader.int32()
    topics = {}
    for _ in range(reader.int32()):
        error, name = reader.int16(), reader.string()
        reader.int8()
        partitions = reader.int32()
        for _ in range(partitions):
            reader.take(2 + 4 + 4)
            reader.take(4 * reader.int32())
            reader.take(4 * reader.int32())
        topics[name] = (error, partitions)
    return brokers, topics


class Connection:
    """A TCP connection to a broker that sends what it is given."""

    def __init__(self, port, timeout=20, source=None):
        here = None if source is None else (source, 0)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout, source_address=here)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """The next response without its length; raises ConnectionError if the broker closed instead."""
        return self._exactly(struct.unpack(">i", self._exactly(4))[0])

    def ask(self, payload):
        self.send(frame(payload))
        return self.receive()

    def closed_by_broker(self):
        """Whether the broker closes without another byte; raises TimeoutError if it does neither."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError(f"closed after {len(data)} of {count} bytes")
            data += part
        return data
