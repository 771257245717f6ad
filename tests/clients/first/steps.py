"""What somebody does in the first minute with a broker, one step after the other; each client
library does it in its own way. A line of JSON says what each step found, and the last one which
release of the library it was.

The arguments are the broker's address and one at which nothing listens. The step `restart` asks on
standard output for the broker to be stopped and started again, and waits for a line that says so."""

import json
import sys
from importlib import metadata

TOPIC = "first"
RECORDS = 20


def say(line):
    print(json.dumps(line), flush=True)


def run(package, steps):
    """Runs (name, function) pairs with the broker's address; what a function returns is told."""
    for name, step in steps:
        try:
            said = step(sys.argv[2] if name == "nowhere" else sys.argv[1])
        except Exception as failure:  # what a client makes of it is the finding
            said = {"error": f"{type(failure).__name__}: {failure}"}
        say({"step": name, "said": said})
    say({"release": f"{package} {metadata.version(package)}"})


def restart():
    """Returns when the broker has been stopped and started."""
    say({"restart": True})
    sys.stdin.readline()


def over_restart(produce, consume):
    """Writes and reads before and after a restart, with functions that keep their producer and their
    consumer: `produce()` sends RECORDS, `consume(count)` returns the next records' offsets."""
    produce()
    before = consume(2 * RECORDS)
    restart()
    produce()
    after = consume(RECORDS)
    return [len(before), len(after), after[-1]]
