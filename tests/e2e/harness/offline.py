"""Brokers' directories without a broker: formatted, copied, and given to `aplomb storage`."""

import shutil
import subprocess

from harness import broker as brokers


def _config(broker):
    config = broker.directory / "offline.properties"
    settings = {**broker.properties, "aplomb.tail.dir": str(getattr(broker, "tail_dir", "/dev/shm")), "aplomb.tail.bytes": str(64 << 20)}
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return str(config)


def _run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def storage(broker, *what):
    """`aplomb storage` on the directories of a broker that does not run."""
    return _run(brokers.binary(), "storage", *what, "--config", _config(broker))


def serve(broker):
    """A start that is expected to be refused."""
    return _run(brokers.binary(), "serve", "--config", _config(broker))


def formatted(kind, directory, properties, *arguments):
    """A broker that was formatted, and never started."""
    broker = brokers.KINDS[kind](directory, properties)
    if "controller.quorum.bootstrap.servers" in broker.properties:
        del broker.properties["controller.quorum.voters"]
    config = broker.directory / "server.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in broker.properties.items()))
    broker.format(config, *arguments)
    return broker


def copied(broker, directory, properties):
    """A broker of the same kind and settings on copies of the directories of one that has stopped."""
    copy = type(broker)(directory, properties, len(broker.log_dirs))
    for source, target in zip(broker.log_dirs, copy.log_dirs, strict=True):
        shutil.copytree(source, target)
    return copy


def restarted(kind, broker, properties):
    """Starts a broker on the directories of another that does not run."""
    return brokers.KINDS[kind](broker.directory / "again", properties, len(broker.log_dirs)).take_over(broker)


def spawned(broker):
    """The process of something that no client can ask whether it is ready."""
    log = open(broker.log_file, "ab")
    return subprocess.Popen(broker._command(broker.directory / "server.properties"), stdout=log, stderr=log, cwd=broker.directory)
