"""What docs/operating/security.md says to type works as it is typed: from nothing to mTLS, SCRAM and ACLs."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import places, tools
from harness.broker import binary, free_ports

PAGE = (places.CHECKOUT / "docs/operating/security.md").read_text()
WALK = PAGE[PAGE.index("## From nothing") :].split("\n## ")[0]
PORTS = ("9093", "9094")


def blocks(ports):
    """(kind, text) of each piece of the walk that is to be typed, with free ports."""
    for kind, text in re.findall(r"```(\w+)\n(.*?)```", WALK, re.DOTALL):
        for written, port in zip(PORTS, ports):
            text = text.replace(f"localhost:{written}", f"localhost:{port}")
        yield kind, text


def commands(directory):
    """A folder with `aplomb` and Apache Kafka's scripts, for a PATH."""
    bin = directory / "bin"
    bin.mkdir()
    (bin / "aplomb").symlink_to(binary())
    for name in set(re.findall(r"(kafka-[a-z-]+)\.sh", WALK)):
        script = bin / f"{name}.sh"
        script.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in [*places.java("tools"), tools.main_class(name)]) + ' "$@"\n')
        script.chmod(0o755)
    return bin


def test_from_nothing_to_mtls_scram_and_acls(tmp_path):
    environment = {**os.environ, "PATH": f"{commands(tmp_path)}:{os.environ['PATH']}"}
    typed = list(blocks(free_ports(2)))
    assert [kind for kind, _ in typed] == ["sh", "properties", "properties", "sh", "sh"]
    names = iter(("server.properties", "admin.properties"))
    # As much of it as a machine of tests has room for.
    tail = Path(tempfile.mkdtemp(prefix="aplomb-e2e-", dir="/dev/shm"))
    small = f"aplomb.tail.bytes={64 << 20}\naplomb.tail.dir={tail}\n"
    said, started = [], None
    try:
        for kind, text in typed:
            if kind == "properties":
                name = next(names)
                (tmp_path / name).write_text(text + (small if name == "server.properties" else ""))
                continue
            for line in text.splitlines():
                if line.endswith("&"):
                    with (tmp_path / "log").open("w") as log:
                        started = subprocess.Popen(["sh", "-c", f"exec {line[:-1]}"], cwd=tmp_path, env=environment, stdout=log, stderr=log)
                    continue
                done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
                assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}\n{(tmp_path / 'log').read_text() if started else ''}"
                said.append(done.stdout)
        assert said[-1].strip() == "hello"
        # Another topic is none of its business, and without a certificate it does not even get to say its name.
        refused = subprocess.run(
            ["sh", "-c", re.sub("orders", "secrets", typed[-1][1].splitlines()[1]) + " --timeout-ms 10000"],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert "TopicAuthorizationException" in refused.stderr, refused.stderr
        nameless = (tmp_path / "app.properties").read_text().replace("ssl.keystore.location=app.pem\n", "").replace("ssl.keystore.type=PEM\n", "")
        (tmp_path / "app.properties").write_text(nameless)
        closed = subprocess.run(
            ["sh", "-c", typed[-1][1].splitlines()[1] + " --timeout-ms 10000"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert "SslAuthenticationException" in closed.stderr, closed.stderr
    finally:
        if started:
            started.send_signal(signal.SIGTERM)
            assert started.wait(60) == 0
        shutil.rmtree(tail, ignore_errors=True)
