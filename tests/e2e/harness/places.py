"""Where things are: the checkout, what tests/setup.sh prepared, and the class paths of the Java programs."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
CLIENTS = CHECKOUT / "tests" / "clients"
WORK = CHECKOUT / ".work" / "e2e"


def prepared(path):
    """A file that tests/setup.sh makes."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run tests/setup.sh first")
    return path


def class_path(name):
    """The class path of a Maven project of the suite: its own classes, if it has any, before its dependencies."""
    dependencies = prepared(WORK / f"{name}.cp").read_text().strip()
    return f"{WORK / 'build' / name / 'classes'}:{dependencies}"


def java(name, *options):
    """The start of a command line that runs a main class of that project; small heap, quick start."""
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", quiet, *options, "-cp", class_path(name)]
