"""Requests of every API whose lists are as long as they may be: of each list in a right request (differential/questions.py) the same item
over and over, and items with names and numbers of their own; and those again as long as what may be changed by one request."""

import struct
import uuid

from differential import questions, schemas
from differential.schemas import Id, Raw
from harness import wire

MANY, FEWER = 100_000, (10_000, 1_000)
# In the place of a name's end, or of a number, where each item has its own.
MARK, MARKED = "00000000", 0x5EED5EED
# What would change something, or remember it.
HARMLESS = {"validateOnly": True, "ValidateOnly": True}
TOPICS = {"read", "written", "shortened", "altered"}


def apis():
    """The APIs that have lists."""
    return [api for api, right in questions.RIGHT.items() if any(_lists(api, value) for value in right.values())]


def payloads(api, version, topic, name):
    """All of them, of this version of an API; `topic` is the id of the topic `name`."""
    schema, found = schemas.message(f"{api}Request"), []
    head = struct.pack(">hhi", schemas.key_of(api), version, 7) + b"\xff\xff" + (b"\x00" if schema.is_flexible(version) else b"")
    for right in questions.RIGHT[api].values():
        value = questions._fitting(schema, schema.fields, _of_topic(right, topic, name), version)
        if value is None:
            continue
        value |= {field: is_so for field, is_so in HARMLESS.items() if field in {each["name"] for each in schema.fields}}
        for path, field in _lists(api, value):
            if not schemas.in_versions(field["versions"], version):
                continue
            item = questions._at(value, path)[0]
            own = [_each_its_own(schema, field, item, version, count) for count in (MANY, *FEWER)]
            for made in (_over_and_over(schema, field, item, version), *own):
                found.append(head + schema.encode(questions._with(value, path, made), version))
    return found


def _lists(api, value):
    schema = schemas.message(f"{api}Request")
    found = ((path, chain[-1]) for path, chain in questions._fields(schema, schema.fields, value, ()))
    return [(path, field) for path, field in found if field["type"].startswith("[]") and questions._at(value, path)]


def _of_topic(value, topic, name):
    if isinstance(value, Id):
        return 1 if value.of.startswith("producer ") else {"member": "m", "epoch": 1}.get(value.of, topic)
    if isinstance(value, dict):
        return {field: _of_topic(item, topic, name) for field, item in value.items()}
    if isinstance(value, list):
        return [_of_topic(item, topic, name) for item in value]
    return name if isinstance(value, str) and value in TOPICS else value


def _over_and_over(schema, field, item, version):
    return _list(schema, field, _item(schema, field, item, version) * MANY, version, MANY)


def _each_its_own(schema, field, item, version, count):
    one = _item(schema, field, _marked(item), version)
    text, number = MARK.encode(), struct.pack(">i", MARKED)
    items = (one.replace(text, b"%08d" % n).replace(number, struct.pack(">i", n)) for n in range(count))
    return _list(schema, field, b"".join(items), version, count)


def _marked(item):
    """With marks in its names and numbers, but not in those of what is in it."""
    if isinstance(item, dict):
        return {field: each if isinstance(each, (dict, list)) or field in ("Value", "ResourceType") else _marked(each) for field, each in item.items()}
    if isinstance(item, str):
        return f"own-{MARK}"
    if isinstance(item, uuid.UUID):
        return uuid.UUID(int=MARKED)
    return MARKED if isinstance(item, int) and not isinstance(item, bool) else item


def _is_flexible(schema, field, version):
    return schema.is_flexible(version) and field.get("flexibleVersions") != "none"


def _item(schema, field, item, version):
    if schemas.item_type(field) in ("int8", "int16", "int64") or isinstance(item, dict):
        item = _within(schema, field, item)
    return schema._item(field, item, version, _is_flexible(schema, field, version))


def _within(schema, field, item):
    """Marks only where a number has their size."""
    if not isinstance(item, dict):
        return 1 if item == MARKED else item
    kinds = {each["name"]: schemas.item_type(each) for each in schema.fields_of(field)}
    return {name: 1 if each == MARKED and kinds[name] != "int32" else each for name, each in item.items()}


def _list(schema, field, items, version, count):
    head = wire.unsigned_varint(count + 1) if _is_flexible(schema, field, version) else struct.pack(">i", count)
    return Raw(head + items)
