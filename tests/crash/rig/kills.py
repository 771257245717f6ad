"""Ways to kill a broker."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

from harness.broker import BrokerDied


@contextlib.contextmanager
def _starting(broker):
    """Starts the broker beside what is done from when its process is there. How the start ends is not asked."""
    with ThreadPoolExecutor(1) as pool:
        before = broker.process
        starting = pool.submit(broker.start)
        while broker.process is before and not starting.done():
            time.sleep(0.001)
        yield starting
        with contextlib.suppress(BrokerDied):
            starting.result()


def kill_while_it_starts(broker, after):
    """Starts the broker and kills it so many seconds later, ready or not."""
    with _starting(broker):
        time.sleep(after)
        broker.kill()


def stop_while_it_starts(broker, timeout=60):
    """Starts the broker and tells it to stop as soon as it has said a word. Its exit code, and what it said."""
    before = broker.log_file.stat().st_size
    with _starting(broker) as starting:
        while broker.log_file.stat().st_size == before:
            assert not starting.done(), "it says something before clients are served"
            time.sleep(0.001)
        broker.process.terminate()
        code = broker.process.wait(timeout)
    with open(broker.log_file) as log:
        log.seek(before)
        return code, log.read()


def timed_start(broker):
    """Starts the broker; how many seconds it took until clients were served."""
    began = time.monotonic()
    broker.start()
    return time.monotonic() - began
