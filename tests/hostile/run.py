"""How a good client fares beside each of attacks.py's attacks: a broker of its own for each, with the defaults of every limit. Says for each what
the client's requests took, how far the broker's memory grew, and how many lines it wrote; fails where that is more than docs/operating/limits.md
allows. By hand, on a machine that does nothing else:

    .work/e2e/venv/bin/python tests/hostile/run.py --seconds 600 [--together N] [--out FILE] [KIND...]

With --together, N attacks at a time on one broker, or those that stand as KIND+KIND: what is kept of one must not be the undoing of another. Their
processes have what broker and good client leave of the processors, since attackers have machines of their own.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from attacks import KINDS
from differential import answers, groups, questions
from harness import broker as brokers

MIB = 1 << 20
# Of the good client, in milliseconds.
P99 = 20
# Of the table in docs/operating/limits.md what any client can use, and what those beside it that these kinds are about.
GROWTH = 704 * MIB
MORE = (
    (170 * MIB, {"sessions_of_everything"}),
    (64 * MIB, {"timeouts_without_end"}),
    (256 * MIB, {"groups_without_end", "members_without_end", "consumers_without_end"}),
    (64 * MIB, {"transactional_ids_without_end", "transactions_over_many_partitions"}),
)
# Lines come once in ten seconds for each kind and shard; a handful of kinds in two shards.
LINES_A_SECOND = 3
WARM = 3
MAKE_SOMETHING = ("batches_for_many_partitions", "transactions_over_many_partitions", "questions_about_many_topics")
MAKE_SOMETHING += ("patterns_over_many_topics", "members_that_change_their_minds")
LONGEST = 300


class Memory(threading.Thread):
    """The broker's resident memory, five times a second."""

    def __init__(self, broker):
        super().__init__(daemon=True)
        self.broker, self.done, self.most = broker, threading.Event(), 0

    def run(self):
        while not self.done.wait(0.2):
            self.most = max(self.most, self.broker.resident_bytes())


def started(directory):
    http_port, _ = brokers.free_ports(2)
    properties = {"aplomb.metrics.listener": f"127.0.0.1:{http_port}", "auto.create.topics.enable": "false"}
    broker = brokers.Aplomb(directory, properties)
    for ours in ("aplomb.shards", "aplomb.tail.bytes"):
        del broker.properties[ours]
    broker.start()
    asker = answers.Broker(broker)
    made = asker.ask(questions.create("good", 3))
    assert made["Topics"][0]["ErrorCode"] == 0, made
    asker.ids["read"] = asker.ask(questions.create("read"))["Topics"][0]["TopicId"]
    for question, is_so, _ in groups.topic_made():
        answers.once(lambda: asker.ask(questions.Question(*question)), is_so)
    asker.close()
    return broker, http_port, made["Topics"][0]["TopicId"]


def one(kinds, seconds, directory):
    broker, http_port, topic = started(directory)
    python = lambda script, *arguments: [sys.executable, str(HERE / script), *map(str, arguments)]
    last = (lambda: os.nice(19)) if len(kinds) > 1 else None
    attack = lambda name: subprocess.Popen(python("attacks.py", name, broker.port, http_port, topic), stdout=subprocess.PIPE, preexec_fn=last)
    processes = [attack("appends")]
    try:
        time.sleep(WARM)
        before, memory = broker.resident_bytes(), Memory(broker)
        memory.start()
        for kind in kinds:
            if kind == "nothing":
                continue
            processes.append(attack(kind))
            # Some make first what they attack.
            select.select([processes[-1].stdout], [], [], LONGEST if kind in MAKE_SOMETHING else WARM)
        time.sleep(WARM)
        good = subprocess.run(python("good.py", broker.port, http_port, seconds), capture_output=True, text=True, timeout=seconds + 300)
        ended = [name for name, process in zip(["appends", *kinds], processes) if process.poll() is not None]
        memory.done.set()
        memory.join()
        said = {"kind": "+".join(kinds), "seconds": seconds, "grown": memory.most - before, "lines": len(broker.log_file.read_text().splitlines())}
        if good.returncode != 0:
            return {**said, "wrong": good.stderr.splitlines()[-1:] + broker.log_file.read_text().splitlines()[-5:]}
        said |= json.loads(good.stdout)
        wrong = []
        wrong += [f"{name} ended by itself" for name in ended]
        wrong += [] if broker.alive() else ["the broker ended"]
        wrong += [] if said["p99"] < P99 else [f"p99 {said['p99']} ms"]
        wrong += [] if said["probes_failed"] == 0 else ["the health page did not answer"]
        allowed = GROWTH + sum(budget for budget, about in MORE if about & set(kinds))
        wrong += [] if said["grown"] < allowed else [f"{said['grown'] // MIB} MiB more memory"]
        wrong += [] if said["lines"] < 100 + LINES_A_SECOND * seconds else [f"{said['lines']} lines"]
        return {**said, "wrong": wrong}
    finally:
        for process in processes:
            process.kill()
            process.wait()
        broker.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=int, default=600)
    arguments.add_argument("--together", type=int, default=1, metavar="N", help="so many of the kinds at a time")
    arguments.add_argument("--out")
    arguments.add_argument("kinds", nargs="*", metavar="KIND", help=f"nothing, {', '.join(KINDS)}")
    arguments = arguments.parse_args()
    named = [kind.split("+") for kind in arguments.kinds or ["nothing", *KINDS]]
    if arguments.together > 1:
        every = [name for names in named for name in names]
        named = [every[at : at + arguments.together] for at in range(0, len(every), arguments.together)]
    found = []
    for kinds in named:
        with tempfile.TemporaryDirectory(prefix="aplomb-hostile-") as directory:
            found.append(one(kinds, arguments.seconds, directory))
        figures = found[-1]
        shown = {name: figures.get(name) for name in ("p50", "p99", "p999", "max", "probe_max", "requests", "lines")}
        print(f"{figures['kind']:45} {figures['grown'] // MIB:5} MiB  {shown}  {figures['wrong'] or 'ok'}", flush=True)
        if arguments.out:
            Path(arguments.out).write_text("".join(json.dumps(each) + "\n" for each in found))
    sys.exit(any(figures["wrong"] for figures in found))


main()
