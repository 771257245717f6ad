"""What the kernel says about a process and about the machine: processor time, memory, load, and what kind of machine it is.

Sources: proc(5) for /proc/PID/stat, /proc/PID/status, /proc/stat, /proc/loadavg and /proc/self/mountinfo."""

import mmap
import os
import platform
import resource
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
# Above so many busy processors while nothing of ours runs, figures mean nothing.
QUIET = 0.1
# For so long one looks, in seconds.
LOOK = 5


def busy_processors():
    """How many are busy now. Not the load average, which remembers the last run for minutes."""
    began, (before, _) = time.monotonic(), machine_cpu_seconds()
    time.sleep(LOOK)
    return (machine_cpu_seconds()[0] - before) / (time.monotonic() - began)


def wait_until_quiet(patience):
    """Waits at most `patience` seconds until no other process is at work; returns how many processors are busy then."""
    deadline = time.monotonic() + patience
    while (busy := busy_processors()) > QUIET and time.monotonic() < deadline:
        pass
    return busy


class WarmMemory:
    """Between `with` and its end, memory that is free is memory that this machine really has.

    A virtual machine's host may take back what is free, in large blocks. The process that writes there next pays for getting it again, in its own
    processor time and up to twenty times what the write itself costs: one broker or the other, by chance. So all of it is used once, and one page in
    so many is kept, which leaves no block large enough to be taken."""

    # Pages; a host is given blocks of 2 MiB.
    _ONE_IN = 64
    # At once, in bytes: what is free may change meanwhile.
    _PIECE = 1 << 30
    # What is not touched, in bytes: less, and the kernel would take page cache away to have some.
    _LEFT = 300 << 20

    def __enter__(self):
        held = []
        step = self._ONE_IN * mmap.PAGESIZE
        while (free := _meminfo("MemFree") - self._LEFT) > self._LEFT:
            size = min(free, self._PIECE) // step * step
            held.append(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
        for piece in held:
            for start in range(0, len(piece), step):
                piece.madvise(mmap.MADV_DONTNEED, start + mmap.PAGESIZE, step - mmap.PAGESIZE)
        self._held = held

    def __exit__(self, *unused):
        for piece in self._held:
            piece.close()


def process_cpu_seconds(pid):
    """User and system time of all threads of the process, those that have ended and the kernel's io_uring workers included."""
    # The clock that clock_getcpuclockid(3) gives: /proc/PID/stat counts hundredths of a second,
    # and a short load is only a few of these.
    return time.clock_gettime(~pid << 3 | 2)


def memory(pid):
    """Resident bytes of the process by kind. Shared memory is where Aplomb's tail is; the page cache is in none of them."""
    names = {"VmRSS": "resident", "VmHWM": "peak", "RssAnon": "anonymous", "RssFile": "file", "RssShmem": "shared"}
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {names[key[:-1]]: int(rest[0]) * 1024 for key, *rest in lines if key[:-1] in names}


class Meter:
    """Who used the processors between `with` and its end, plus `settle` seconds. `other` is the rest of the machine: mostly the
    kernel's own threads on a quiet machine, and the sign of one that is not. `stolen` is what the hypervisor kept."""

    def __init__(self, pid, settle=0.0):
        self._pid = pid
        self._settle = settle
        self.spent = None

    def __enter__(self):
        self._before = self._read()
        return self

    def __exit__(self, failed, *unused):
        if failed is None:
            ended = time.monotonic()
            time.sleep(self._settle)
            after = self._read()
            spent = {name: after[name] - self._before[name] for name in after}
            spent["seconds_without_settling"] = ended - self._before["seconds"]
            known = sum(spent[f"{who}_cpu_seconds"] for who in ("broker", "client", "bench"))
            # The two come from clocks that tick apart.
            spent["other_cpu_seconds"] = max(0.0, spent.pop("machine_cpu_seconds") - known)
            self.spent = spent

    def _read(self):
        busy, stolen = machine_cpu_seconds()
        client = resource.getrusage(resource.RUSAGE_CHILDREN)
        bench = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "seconds": time.monotonic(),
            "broker_cpu_seconds": process_cpu_seconds(self._pid),
            # Children that have been waited for: the clients, since the broker still runs.
            "client_cpu_seconds": client.ru_utime + client.ru_stime,
            "bench_cpu_seconds": bench.ru_utime + bench.ru_stime,
            "machine_cpu_seconds": busy,
            "stolen_cpu_seconds": stolen,
        }


def machine_cpu_seconds():
    """(busy, stolen) of all processors since boot."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq) / TICK, steal / TICK


def describe(directory):
    """The machine, and the file system that holds `directory`."""
    cpu = Path("/proc/cpuinfo").read_text()
    models = {line.partition(":")[2].strip() for line in cpu.splitlines() if line.startswith("model name")}
    return {
        "cpu": ", ".join(sorted(models)) or platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_bytes": _meminfo("MemTotal"),
        "kernel": platform.release(),
        "virtual": " hypervisor " in cpu,
        "file_system": _file_system(directory),
        "load_average": os.getloadavg(),
    }


def _meminfo(name):
    """Bytes, as /proc/meminfo has them under that name."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def _file_system(directory):
    device = os.stat(directory).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        if fields.split()[2] == number:
            kind, source, _ = rest.split(maxsplit=2)
            return {"type": kind, "source": source, "options": fields.split()[5]}
    return {"type": "unknown", "source": number, "options": ""}
