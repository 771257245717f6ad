"""What the Python clients of the end-to-end suite share, and what its tests expect of every client: the command line, the
session, and the records that a run sends. The command line is the same for every client: see ../README.md."""

import hashlib
import json
import sys

_FLAGS = {"--idempotent", "--headers", "--tombstones"}
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def value(seed, seq, size, tombstones=False):
    """What record `seq` of a run carries: printable, even records hardly compress, odd ones do. None is a tombstone."""
    if tombstones and seq % 5 == 3:
        return None
    mask = 63 if seq % 2 == 0 else 3
    state = (seed * 0x9E3779B1 + seq + 1) & 0xFFFFFFFF or 1
    text = bytearray(size)
    for i in range(size):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        text[i] = _ALPHABET[state & mask]
    return bytes(text)


def headers(seed):
    """What every record of a run with --headers carries, in order: a repeated key, an empty, a null and a non-ASCII one."""
    return [
        ("seed", str(seed)),
        ("twice", "first"),
        ("twice", "second"),
        ("empty", ""),
        ("none", None),
        ("größe", "日本語"),
    ]


def sha256(data):
    """The digest under which consumers report a value; None stays None."""
    return None if data is None else hashlib.sha256(data).hexdigest()


class Options(dict):
    """`--name value` pairs and a few bare flags; `--config` may be repeated."""

    @classmethod
    def parse(cls, arguments):
        options = cls({"--config": []})
        rest = iter(arguments)
        for name in rest:
            if name == "--config":
                options[name].append(next(rest).split("=", 1))
            else:
                options[name] = True if name in _FLAGS else next(rest)
        return options

    def number(self, name, otherwise):
        return int(self.get(name, otherwise))

    def value(self, seq):
        return value(self.number("--seed", 0), seq, self.number("--size", 100), "--tombstones" in self)

    def key(self, seq):
        return self["--key-prefix"] + str(seq) if "--key-prefix" in self else None

    def headers(self):
        return headers(self.number("--seed", 0)) if "--headers" in self else []


def emit(line):
    """Prints one JSON line."""
    sys.stdout.write(json.dumps(line) + "\n")


def main(verbs):
    """Runs one command from the arguments, or with `session` many: JSON arrays on standard input, each answered by its lines
    and then by {"end": true}."""
    if sys.argv[1:] != ["session"]:
        verbs[sys.argv[1]](Options.parse(sys.argv[2:]))
        return
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        end = {"end": True}
        try:
            verbs[verb](Options.parse(arguments))
        except Exception as failure:  # whatever went wrong belongs to this command, and the session goes on
            end.update(error=type(failure).__name__, message=str(failure))
        emit(end)
        sys.stdout.flush()
