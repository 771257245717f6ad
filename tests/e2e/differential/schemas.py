"""Apache Kafka's message schemas, read from its jar, as a codec of plain dictionaries. It writes wrong values as they are: `None` is null
whether or not a field may be that, and `Raw` are bytes in the place of a field."""

import functools
import json
import re
import struct
import uuid
import zipfile
from dataclasses import dataclass
from pathlib import Path

from harness import places, wire

NUMBERS = {
    "bool": ">?", "int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q", "float64": ">d",
}  # fmt: skip
NO_ID = uuid.UUID(int=0)


@dataclass(frozen=True)
class Raw:
    """Bytes in the place of a field."""

    data: bytes


@dataclass(frozen=True)
class Id:
    """What each broker chooses for itself: the id of a topic, of a member."""

    of: str


def in_versions(text, version):
    """Whether a range as schemas have it ("3+", "0-12", "4", "none") has this version."""
    if not text or text == "none":
        return False
    low, _, high = text.partition("-")
    if low.endswith("+"):
        return version >= int(low[:-1])
    return int(low) <= version <= int(high or low)


@functools.cache
def _sources():
    jar = next(path for path in places.class_path("oracle").split(":") if re.match(r"kafka-clients-[\d.]+\.jar", Path(path).name))
    with zipfile.ZipFile(jar) as files:
        names = [name for name in files.namelist() if re.fullmatch(r"common/message/\w+(Request|Response)\.json", name)]
        return {Path(name).stem: json.loads(re.sub(r"(?m)^\s*//.*$", "", files.read(name).decode())) for name in names}


@functools.cache
def message(name):
    """The schema of a message by its name, for example "FetchRequest"."""
    return Schema(_sources()[name])


@functools.cache
def requests():
    """The names of the APIs by their keys, without "Request"."""
    found = (source for source in _sources().values() if source.get("type") == "request")
    return {source["apiKey"]: source["name"].removesuffix("Request") for source in found}


def key_of(api):
    """The key of an API by its name."""
    return next(key for key, name in requests().items() if name == api)


class Schema:
    """A message: fields by version."""

    def __init__(self, source):
        self.name = source["name"]
        self._flexible = source["flexibleVersions"]
        self._structs = {each["name"]: each["fields"] for each in source.get("commonStructs", ())}
        self.fields = source["fields"]

    def is_flexible(self, version):
        return in_versions(self._flexible, version)

    def fields_of(self, field):
        """The fields of a structure, or of an array's items."""
        return field.get("fields") or self._structs.get(item_type(field)) or ()

    def encode(self, value, version):
        return self._struct(self.fields, value, version)

    def decode(self, data, version):
        reader = wire.Reader(data)
        value = self._read_struct(self.fields, reader, version)
        assert reader.rest() == b"", f"{len(reader.rest())} bytes left over behind {self.name} version {version}: {value}"
        return value

    def _struct(self, fields, value, version):
        flexible, body, tagged = self.is_flexible(version), b"", {}
        unknown = set(value) - {field["name"] for field in fields} - {"tagged"}
        assert not unknown, f"{self.name} has no {unknown}"
        for field in fields:
            if not in_versions(field["versions"], version):
                continue
            name = field["name"]
            if in_versions(field.get("taggedVersions"), version):
                if name in value:
                    tagged[field["tag"]] = self._field(field, value[name], version)
            else:
                body += self._field(field, value.get(name, default(field)), version)
        if flexible:
            tagged.update(value.get("tagged", {}))
            body += wire.unsigned_varint(len(tagged))
            for tag, data in sorted(tagged.items()):
                body += wire.unsigned_varint(tag) + wire.unsigned_varint(len(data)) + data
        return body

    def _field(self, field, value, version):
        if isinstance(value, Raw):
            return value.data
        kind, flexible = field["type"], self.is_flexible(version) and field.get("flexibleVersions") != "none"
        if kind.startswith("[]"):
            count = -1 if value is None else len(value)
            head = wire.unsigned_varint(count + 1) if flexible else struct.pack(">i", count)
            return head + b"".join(self._item(field, item, version, flexible) for item in value or ())
        return self._item(field, value, version, flexible)

    def _item(self, field, value, version, flexible):
        kind = item_type(field)
        if isinstance(value, Raw):
            return value.data
        if kind in NUMBERS:
            return struct.pack(NUMBERS[kind], value)
        if kind == "uuid":
            return value.bytes
        if kind == "string":
            data = None if value is None else value.encode("utf-8", "surrogatepass")
            length = -1 if data is None else len(data)
            return (wire.unsigned_varint(length + 1) if flexible else struct.pack(">h", length)) + (data or b"")
        if kind in ("bytes", "records"):
            length = -1 if value is None else len(value)
            return (wire.unsigned_varint(length + 1) if flexible else struct.pack(">i", length)) + (value or b"")
        fields = self.fields_of(field)
        if field["type"] == kind and in_versions(field.get("nullableVersions"), version):
            return b"\xff" if value is None else b"\x01" + self._struct(fields, value, version)
        return self._struct(fields, value, version)

    def _read_struct(self, fields, reader, version):
        value, tags = {}, {}
        for field in fields:
            if not in_versions(field["versions"], version):
                continue
            if in_versions(field.get("taggedVersions"), version):
                tags[field["tag"]] = field
                value[field["name"]] = default(field)
            else:
                value[field["name"]] = self._read(field, reader, version)
        if self.is_flexible(version):
            for tag, data in reader.tagged().items():
                if tag not in tags:
                    value[f"tag {tag}"] = data
                    continue
                inner = wire.Reader(data)
                value[tags[tag]["name"]] = self._read(tags[tag], inner, version)
                assert inner.rest() == b"", f"{tags[tag]['name']} of {self.name} version {version} leaves {inner.rest()!r} over"
        return value

    def _read(self, field, reader, version):
        flexible = self.is_flexible(version) and field.get("flexibleVersions") != "none"
        if field["type"].startswith("[]"):
            count = reader.unsigned_varint() - 1 if flexible else reader.int32()
            return None if count < 0 else [self._read_item(field, reader, version, flexible) for _ in range(count)]
        return self._read_item(field, reader, version, flexible)

    def _read_item(self, field, reader, version, flexible):
        kind = item_type(field)
        if kind in NUMBERS:
            return struct.unpack(NUMBERS[kind], reader.take(struct.calcsize(NUMBERS[kind])))[0]
        if kind == "uuid":
            return uuid.UUID(bytes=reader.take(16))
        if kind == "string":
            return reader.compact_string() if flexible else reader.string()
        if kind in ("bytes", "records"):
            length = reader.unsigned_varint() - 1 if flexible else reader.int32()
            return None if length < 0 else reader.take(length)
        if field["type"] == kind and in_versions(field.get("nullableVersions"), version) and reader.int8() < 0:
            return None
        return self._read_struct(self.fields_of(field), reader, version)


def item_type(field):
    return field["type"].removeprefix("[]")


def default(field):
    """What a field is that a version or a question does not have."""
    kind, text = field["type"], field.get("default")
    if text == "null":
        return None
    if kind.startswith("[]"):
        return []
    if kind in ("string", "bytes", "records"):
        return text or ("" if kind == "string" else b"")
    if kind == "uuid":
        return NO_ID
    if kind == "bool":
        return str(text).lower() == "true"
    if kind == "float64":
        return float(text or 0)
    if kind in NUMBERS:
        return int(str(text or 0), 0)
    return {}
