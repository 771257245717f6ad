"""What the doctor's programs in the kernel tell (`--bpf`), that they go with it, and that it goes on without."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import beside
import pytest
from harness import broker as brokers

HERE = Path(__file__).resolve().parent
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may put programs into the kernel")

BPF_PROG_GET_NEXT_ID, BPF_OBJ_GET_INFO_BY_FD, BPF_PROG_GET_FD_BY_ID = 11, 15, 13
SYS_BPF = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)
NOBODY = 65534
# Programs end a moment after their last descriptor.
PATIENCE = 20


def bpf(command, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(SYS_BPF, command, attributes, len(attributes))


def programs():
    """How many programs of the doctor are in the kernel."""
    names, number = [], 0
    while True:
        attributes = ctypes.create_string_buffer(number.to_bytes(4, sys.byteorder) + bytes(60), 64)
        if bpf(BPF_PROG_GET_NEXT_ID, attributes) != 0:
            return sum(name.startswith(b"aplomb_") for name in names)
        number = int.from_bytes(attributes[4:8], sys.byteorder)
        descriptor = bpf(BPF_PROG_GET_FD_BY_ID, ctypes.create_string_buffer(number.to_bytes(4, sys.byteorder) + bytes(60), 64))
        if descriptor < 0:
            continue
        info = ctypes.create_string_buffer(80)
        words = descriptor.to_bytes(4, sys.byteorder) + (80).to_bytes(4, sys.byteorder) + ctypes.addressof(info).to_bytes(8, sys.byteorder)
        assert bpf(BPF_OBJ_GET_INFO_BY_FD, ctypes.create_string_buffer(words + bytes(48), 64)) == 0
        os.close(descriptor)
        names.append(info[64:80])


def becomes(number):
    deadline = time.monotonic() + PATIENCE
    while (found := programs()) != number:
        assert time.monotonic() < deadline, f"{found} programs, and not {number}"
        time.sleep(0.05)


@contextlib.contextmanager
def sleepers(*words):
    command = [sys.executable, HERE / "sleepers.py", *words]
    process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)
    try:
        yield (process.pid, *map(int, process.stdout.readline().split()))
    finally:
        process.kill()
        process.wait()


@NEEDS_ROOT
def test_a_thread_that_waits_for_another_is_found_with_it(tmp_path):
    with sleepers(30, 100) as (pid, waiter, holder):
        watch = beside.Watch(pid, tmp_path, "--bpf", "require", "--page", tmp_path / "page.html")
        time.sleep(5)
        seen = watch.end()
    trace = seen.recording["sight"]["trace"]
    assert trace["lost"] == 0 and trace.get("until_ms") is None, trace
    waits = [wait for wait in seen.recording["waits"] if wait["tid"] == waiter and "woken_by" in wait]
    # It wants the lock a moment after that was taken; a machine that others use may make it later, and the holder too.
    assert len(waits) >= 10, seen.recording["waits"]
    usual = sorted(wait["to_ms"] - wait["from_ms"] for wait in waits)[len(waits) // 2]
    assert 20 < usual < 60, usual
    for wait in waits:
        assert wait["sighting"] == "exact" and wait["class"] == "lock" and wait["call"]["name"] == "futex", wait
        assert wait["holders"] == [holder] and wait["holders_known"] and wait["woken_by"]["tid"] == holder, wait
        assert any(frame.startswith("futex_wait") for frame in wait["kernel"]), wait
        assert any(frame.startswith("futex_wake") for frame in wait["woken_by"]["kernel"]), wait
        assert not any("bpf" in frame for frame in wait["kernel"] + wait["woken_by"]["kernel"]), wait
    assert "BPF" in seen.recording["sight"]["sources"]
    assert "futex_wake" in (tmp_path / "page.html").read_text()
    # A lock of a program is no cause by itself.
    assert seen.causes == [] or beside.is_no_disk(seen.causes), seen.answer["causes"]
    again = subprocess.run([brokers.binary(), "doctor", "examine", seen.record, "--format", "text"], capture_output=True, text=True, check=True)
    assert "traced from beginning to end" in again.stdout


@NEEDS_ROOT
def test_nothing_is_left_behind_by_one_that_is_killed(tmp_path):
    with sleepers(30, 100) as (pid, *_):
        before = programs()
        watch = beside.Watch(pid, tmp_path, "--bpf", "require")
        becomes(before + 3)
        watch.process.send_signal(signal.SIGKILL)
        watch.process.wait()
        becomes(before)


@NEEDS_ROOT
def test_switched_off_it_loads_nothing(tmp_path):
    with sleepers(30, 100) as (pid, *_):
        before = programs()
        watch = beside.Watch(pid, tmp_path, "--bpf", "off")
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            assert programs() == before
            time.sleep(0.1)
        seen = watch.end()
    assert "trace" not in seen.recording["sight"] and seen.recording["sight"]["sources"] == ["/proc"]
    assert any("--bpf off" in line for line in seen.answer["missing"])


@NEEDS_ROOT
def test_without_rights_it_is_an_error_where_it_is_required_and_else_said():
    process = subprocess.Popen(["sleep", "60"], user=NOBODY)
    # Folders above it may be closed to others: the file is opened before rights are given up.
    descriptor = os.open(brokers.binary(), os.O_RDONLY)
    try:
        command = [f"/proc/self/fd/{descriptor}", "doctor", "watch", "--pid", str(process.pid), "--for", "1s"]
        run = lambda *more: subprocess.run([*command, *more], capture_output=True, text=True, timeout=60, user=NOBODY, group=NOBODY, extra_groups=[], pass_fds=[descriptor], cwd="/")
        required = run("--bpf", "require")
        assert required.returncode == 1, required
        assert "--bpf require: the kernel does not allow BPF here" in required.stderr and "CAP_BPF" in required.stderr, required.stderr
        assert required.stderr.count("\n") == 1, required.stderr
        auto = run("--format", "text")
        assert auto.returncode == 0, auto.stderr
        said = " ".join(auto.stdout.split())
        assert "by tracing: the kernel does not allow BPF here" in said, auto.stdout
    finally:
        os.close(descriptor)
        process.kill()
        process.wait()


@NEEDS_ROOT
def test_it_stays_within_its_budget_beside_threads_that_switch_all_the_time(tmp_path):
    with sleepers(30, 100, 8) as (pid, *_):
        watch = beside.Watch(pid, tmp_path, "--bpf", "require")
        time.sleep(8)
        seen = watch.end()
    trace, length = seen.recording["sight"]["trace"], seen.recording["clock"]["length_ms"]
    print(f"{trace['runs'] / length * 1e3:.0f} runs a second, {trace['cost_cpu_ms'] / length:.2%} of one processor; with the looks {seen.cost:.2%}")
    assert trace["runs"] / length * 1e3 > 200, "they switch all the time, also on a machine that others use"
    # It may have given way on the way here, and then it says so.
    assert trace["cost_cpu_ms"] / length < 0.02, trace
    if trace.get("until_ms") is not None:
        assert any("too dear" in line for line in seen.answer["missing"])
