"""kill -9 of the broker and of clients while these transfer from account to account: the books are right for readers of committed
records at any time, and in the end nothing is missing."""

import os
import time

import pytest
from rig.bank import Bank
from rig.kills import kill_while_it_starts, timed_start

ROUNDS = int(os.environ.get("APLOMB_CRASH_TRANSFER_ROUNDS", "6"))
ACCOUNTS = 4
KINDS = ("java", "python", "franz-go", "python", "franz-go")
PROPERTIES = {
    "transaction.state.log.num.partitions": "3", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
}  # fmt: skip


@pytest.mark.timeout(180 + 20 * ROUNDS)
def test_transfers_add_up_whoever_is_killed(prepare, admin_of, topic, moments, tmp_path):
    broker = prepare(PROPERTIES)
    usual = timed_start(broker)
    admin_of(broker).create(topic, partitions=ACCOUNTS, retention_ms=-1)
    bank = Bank(broker, topic, ACCOUNTS, tmp_path, moments)
    at_work = [bank.hire(kind, f"{topic}-{n}") for n, kind in enumerate(KINDS)]
    for round_ in range(ROUNDS):
        time.sleep(moments.uniform(0.2, 1.5))
        # Who is killed, fenced by a successor, or left alone.
        index = moments.randrange(len(at_work))
        way = moments.choice(("kill", "fence", "leave"))
        if way == "kill":
            at_work[index].kill()
        if moments.random() < 0.7:
            broker.kill()
            if moments.random() < 0.3:
                kill_while_it_starts(broker, moments.uniform(0, usual))
            broker.start()
        if way != "leave":
            old = at_work[index]
            at_work[index] = bank.hire(old.kind, old.identity)
        bank.check(f"after round {round_ + 1}")
    time.sleep(1)
    for client in bank.all:
        client.hear()
    for client in at_work:
        client.finish()
    for client in bank.all:
        if client not in at_work:
            client.kill()
    transfers = bank.close()
    assert transfers > 5 * ROUNDS, f"{transfers} transfers only"
