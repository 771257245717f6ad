"""What the bench takes from the end-to-end suite: how brokers and tools are started, where the jars are, frames by hand."""

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT / "tests" / "e2e"))

from harness import broker, certificates, places, wire  # noqa: E402
from harness.tools import Tools  # noqa: E402

__all__ = ["CHECKOUT", "Tools", "broker", "certificates", "places", "wire"]
