"""Threads that wait for one another, under names of a broker's, for the doctor to watch. Says its number and those of its threads, then goes on
until it is killed: the holder keeps a lock for so many milliseconds, and the waiter wants it meanwhile. With a third argument others pass a baton as
fast as they can, so often a second as the machine makes possible."""

import ctypes
import sys
import threading
import time

PR_SET_NAME = 15
HELD, APART = float(sys.argv[1]) / 1e3, float(sys.argv[2]) / 1e3
RUNNERS = int(sys.argv[3]) if len(sys.argv) > 3 else 0

lock, wants = threading.Lock(), threading.Event()


def name(text):
    ctypes.CDLL(None).prctl(PR_SET_NAME, text.encode(), 0, 0, 0)


def wait():
    name("data-plane-kafk")
    tids["waiter"] = threading.get_native_id()
    while True:
        wants.wait(timeout=60)
        wants.clear()
        with lock:
            pass


def hold():
    name("holder")
    tids["holder"] = threading.get_native_id()
    while True:
        with lock:
            wants.set()
            time.sleep(HELD)
        time.sleep(APART)


def run(mine, next_one):
    while True:
        mine.acquire()
        next_one.release()


tids = {}
threads = [threading.Thread(target=target, daemon=True) for target in (wait, hold)]
batons = [threading.Semaphore(0) for _ in range(RUNNERS)]
threads += [threading.Thread(target=run, args=(mine, batons[(at + 1) % RUNNERS]), daemon=True) for at, mine in enumerate(batons)]
for thread in threads:
    thread.start()
while len(tids) < 2:
    time.sleep(0.01)
print(tids["waiter"], tids["holder"], flush=True)
if batons:
    batons[0].release()
while True:
    time.sleep(60)
