"""What cargo has built for tests. They build nothing themselves: how long cargo waits for its lock and compiles says nothing about a test."""

import functools
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


@functools.cache
def _target():
    asked = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    told = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return pathlib.Path(json.loads(told)["target_directory"])


def example(name):
    """The program of an example, which the suite's run.sh has built."""
    program = _target() / "sim" / "examples" / name
    assert program.exists(), f"there is no {program}: cargo build --profile sim --workspace --example {name}"
    return program
