"""What somebody does in the first minute with a broker, one step after the other; each client library does it in its own way. A line of
JSON says what each step found, and the last one which release of the library it was."""

import json
import sys
from importlib import metadata

TOPIC = "first"
RECORDS = 20


def run(package, steps):
    """Runs (name, function) pairs with the broker's address; what a function returns is told."""
    bootstrap = sys.argv[1]
    for name, step in steps:
        try:
            said = step(bootstrap)
        except Exception as failure:  # what a client makes of it is the finding
            said = {"error": f"{type(failure).__name__}: {failure}"}
        print(json.dumps({"step": name, "said": said}), flush=True)
    print(json.dumps({"release": f"{package} {metadata.version(package)}"}), flush=True)
