"""Two brokers and one place: the second says so and ends, and the first does not notice."""

import shutil

import pytest
from harness import expect
from harness.broker import BrokerDied


@pytest.fixture
def first(prepare, admin_of):
    broker = prepare(log_dirs=2).start()
    admin_of(broker).create("mine", partitions=4)
    return broker


def refusal_of(second):
    """What the log of a broker says that has to refuse to start."""
    with pytest.raises(BrokerDied) as refused:
        second.start()
    if second.process is None:
        return str(refused.value)  # Apache Kafka's format tool was there first
    assert not second.alive(), "a second broker is up"
    assert second.process.returncode > 0, f"it did not refuse, it crashed ({second.process.returncode}):\n{second.log_tail()}"
    return second.log_file.read_text()


def check_first(first, java):
    assert first.alive()
    for partition in range(4):
        sent = java.produce(first, "mine", partition=partition, count=20, idempotent=True)
        expect.check_acknowledged(sent, 20, partition=partition)


def test_the_same_log_directories(first, prepare, java):
    second = prepare(log_dirs=first.log_dirs, name="second")
    assert str(first.log_dirs[0]) in refusal_of(second)
    check_first(first, java)


def test_one_log_directory_in_common(first, prepare, java, tmp_path):
    second = prepare(log_dirs=[tmp_path / "other", first.log_dirs[1]], name="second")
    assert str(first.log_dirs[1]) in refusal_of(second)
    check_first(first, java)


@pytest.mark.aplomb
def test_the_tail_of_the_original(first, prepare, java, memory, tmp_path):
    """A copy of the log directories names the tail in which the first broker's acknowledged records are, and leaves it alone: while that broker
    is at work, and when it was killed and only the tail has its last records."""
    [tail] = [path for path in memory.rglob("*") if path.is_file()]

    def copied(name):
        copies = [shutil.copytree(directory, tmp_path / name / directory.name) for directory in first.log_dirs]
        second = prepare(log_dirs=copies, name=f"broker of {name}").start()
        assert f"{tail} is the tail of" in second.log_file.read_text()
        return second

    copied("the copy of a broker at work").kill()
    check_first(first, java)
    first.kill()
    copied("the copy of a broker that was killed").stop()
    assert tail.exists()
    first.start()
    assert [record["offset"] for record in java.consume(first, "mine", partition=0, offset="earliest", count=20)] == list(range(20))


@pytest.mark.aplomb
def test_a_tail_that_is_not_in_memory_is_refused(prepare, tmp_path):
    """A tail on a disk would be a tail that waits."""
    said = refusal_of(prepare({"aplomb.tail.dir": str(tmp_path)}))
    assert str(tmp_path) in said
    assert "tmpfs" in said
