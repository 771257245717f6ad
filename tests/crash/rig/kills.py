"""Ways to kill a broker."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

from harness.broker import BrokerDied


def kill_while_it_starts(broker, after):
    """Starts the broker and kills it so many seconds later, ready or not."""
    with ThreadPoolExecutor(1) as pool:
        before = broker.process
        starting = pool.submit(broker.start)
        while broker.process is before and not starting.done():
            time.sleep(0.001)
        time.sleep(after)
        broker.kill()
        with contextlib.suppress(BrokerDied):
            starting.result()


def timed_start(broker):
    """Starts the broker; how many seconds it took until clients were served."""
    began = time.monotonic()
    broker.start()
    return time.monotonic() - began
