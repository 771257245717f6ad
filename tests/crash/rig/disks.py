"""File systems on loop devices, to be frozen, filled and broken. They are gone when closed, however the test ended; what a killed run
left behind is swept away by the next one."""

import contextlib
import fcntl
import os
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from rig.load import WORK

PLACE = WORK / "disks"
MAKE = {"ext4": ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"], "xfs": ["mkfs.xfs", "-q", "-f"]}
# FS_IOC_SHUTDOWN of linux/fs.h. 2: at once, with nothing more written, not even the journal.
SHUTDOWN = 0x8004587D


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
    return done.stdout.strip()


class Disk:
    """A file system of its own. `path` is where it is mounted; `backing` is the folder of its image."""

    def __init__(self, kind, megabytes, backing=None):
        PLACE.mkdir(parents=True, exist_ok=True)
        self._home = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=PLACE))
        self.image = Path(backing or self._home) / f"{self._home.name}.img"
        self.path = self._home / "mnt"
        self.device = None
        self._frozen = False
        self._changing = threading.Lock()
        try:
            self.path.mkdir()
            with open(self.image, "wb") as image:
                image.truncate(megabytes << 20)
            self.device = run("losetup", "--find", "--show", str(self.image))
            run(*MAKE[kind], self.device)
            run("mount", self.device, str(self.path))
        except BaseException:
            self.close()
            raise

    def freeze(self):
        """Nothing can be written from now on: who tries waits."""
        with self._changing:
            run("fsfreeze", "-f", str(self.path))
            self._frozen = True

    def thaw(self):
        with self._changing:
            if self._frozen:
                run("fsfreeze", "-u", str(self.path))
                self._frozen = False

    @contextlib.contextmanager
    def frozen(self):
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    @contextlib.contextmanager
    def slow(self, hold=0.8, breathe=0.2):
        """A disk that answers only now and then: frozen for `hold` seconds, then itself for `breathe`."""
        stop = threading.Event()

        def pulse():
            while not stop.is_set():
                with self.frozen():
                    stop.wait(hold)
                stop.wait(breathe)

        thread = threading.Thread(target=pulse)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def fill(self):
        """Takes all the room there is; returns the file that holds it."""
        return fill(self.path)

    def fail(self):
        """From now on every operation ends in an I/O error."""
        directory = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(directory, SHUTDOWN, struct.pack("I", 2))
        finally:
            os.close(directory)

    def remount(self):
        """As after a repair: unmounted, checked by its journal, mounted again."""
        run("umount", str(self.path))
        run("mount", self.device, str(self.path))

    def close(self):
        """May be called again."""
        with contextlib.suppress(AssertionError):
            self.thaw()
        _release(self._home, self.device)
        self.image.unlink(missing_ok=True)


def _release(home, device):
    mount = home / "mnt"
    deadline = time.monotonic() + 20
    while os.path.ismount(mount):
        done = subprocess.run(["umount", str(mount)], capture_output=True)
        if done.returncode != 0 and time.monotonic() > deadline:
            subprocess.run(["umount", "--lazy", str(mount)], capture_output=True)
        time.sleep(0.1 if done.returncode else 0)
    if device:
        subprocess.run(["losetup", "--detach", device], capture_output=True)
    for file in home.glob("*.img"):
        file.unlink()
    with contextlib.suppress(OSError):
        mount.rmdir()
        home.rmdir()


def sweep():
    """Takes down what the disks of a process that is gone have left."""
    for home in PLACE.glob("*-*") if PLACE.exists() else ():
        pid = home.name.partition("-")[0]
        if os.path.exists(f"/proc/{pid}"):
            continue
        subprocess.run(["fsfreeze", "-u", str(home / "mnt")], capture_output=True)
        devices = subprocess.run(["findmnt", "-n", "-o", "SOURCE", str(home / "mnt")], capture_output=True, text=True).stdout.split()
        _release(home, devices[0] if devices else None)


def fill(directory):
    """Takes all the room of the directory's file system; returns the file that holds it."""
    filler = directory / "filler"
    with open(filler, "wb") as file:
        size, step = 0, 64 << 20
        while step >= 4096:
            try:
                os.posix_fallocate(file.fileno(), size, step)
                size += step
            except OSError:
                step //= 2
    return filler


@contextlib.contextmanager
def small_memory(megabytes):
    """A tmpfs of a fixed size: an image on it that is larger than that is a disk that will fail."""
    PLACE.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=PLACE))
    mount = home / "mnt"
    mount.mkdir()
    try:
        run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(mount))
        yield mount
    finally:
        _release(home, None)
