"""A broker with its page, and a Prometheus that scrapes it."""

import json
import shutil
import subprocess
import time
import urllib.parse

from harness.broker import free_ports
from harness.pages import get

# What Strimzi and Confluent add to every series.
LABELS = {
    "namespace": "kafka",
    "strimzi_io_cluster": "test",
    "kubernetes_pod_name": "test-kafka-0",
    "job": "kafka-broker",
    "env": "test",
}


class NotReady(Exception):
    """Prometheus listens already, and answers nothing yet."""


class Prometheus:
    """A server of its own that scrapes one address every half second."""

    def __init__(self, directory, target):
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self._log = open(directory / "prometheus.log", "wb")
        labels = "".join(f"          {name}: {value}\n" for name, value in LABELS.items() if name != "job")
        (directory / "prometheus.yml").write_text(
            "global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\n"
            f"scrape_configs:\n  - job_name: {LABELS['job']}\n    static_configs:\n      - targets: ['{target}']\n        labels:\n{labels}"
        )
        self._process = subprocess.Popen(
            [
                shutil.which("prometheus"),
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'tsdb'}",
                f"--web.listen-address={self.address}",
            ],
            stdout=self._log,
            stderr=self._log,
        )

    def query(self, text):
        """The series that an instant query returns."""
        status, answer = get(self.address, "/api/v1/query?" + urllib.parse.urlencode({"query": text}))
        if status == 503:
            raise NotReady(f"{text}: {answer}")
        assert status == 200, f"{text}: {answer}"
        return json.loads(answer)["data"]["result"]

    def wait_for_scrapes(self, count, patience=60):
        """Until it has scraped the target so often."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                found = self.query("count_over_time(up[10m])")
                if found and int(found[0]["value"][1]) >= count:
                    assert self.query("up")[0]["value"][1] == "1", self.query("up")
                    return
            except (OSError, NotReady):
                pass
            time.sleep(0.2)
        raise AssertionError(f"no {count} scrapes in {patience} s")

    def close(self):
        self._process.kill()
        self._process.wait()
        self._log.close()
