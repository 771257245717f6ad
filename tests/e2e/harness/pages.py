"""A broker's pages: numbers, health."""

import re
import urllib.error
import urllib.request


def get(address, path):
    """Status and text."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def samples(address):
    """The page as {(name, ((label, value), ...)): number}; the text format of Prometheus."""
    status, text = get(address, "/metrics")
    assert status == 200, text
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r'(\w+)(?:\{(.*)\})? (\S+)', line).groups()
        pairs = tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")))
        assert (name, pairs) not in found, f"twice: {line}"
        found[name, pairs] = float(value)
    return found


def one(page, name, **labels):
    """The sample with just these labels."""
    return page[name, tuple(sorted(labels.items()))]
