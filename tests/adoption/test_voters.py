"""Who votes moves into the metadata log (`kraft.version` 1): in a running broker, and in directories that were formatted so. Either
broker goes on from there."""

import re

import contents
from harness import dump, offline

SETTINGS = {"offsets.topic.num.partitions": "1", "share.coordinator.state.topic.replication.factor": "1"}


def quorum(tools, broker):
    """The voters, as `kafka-metadata-quorum` shows them."""
    shown = tools.ok("kafka-metadata-quorum", "--bootstrap-server", broker.bootstrap, "describe", "--status").stdout
    return re.search(r"CurrentVoters: +(.*)", shown).group(1)


def level(tools, broker):
    shown = tools.ok("kafka-features", "--bootstrap-server", broker.bootstrap, "describe").stdout
    return int(re.search(r"kraft\.version .*FinalizedVersionLevel: (\d+)", shown).group(1))


def upgrade(tools, broker, *more):
    return tools.run("kafka-features", "--bootstrap-server", broker.bootstrap, "upgrade", "--feature", "kraft.version=1", *more)


def directory_id(broker):
    text = (broker.log_dirs[0] / "meta.properties").read_text()
    return re.search(r"directory\.id=(\S+)", text).group(1)


def voter(broker):
    return f'[{{"id": 1, "directoryId": "{directory_id(broker)}", "endpoints": ["CONTROLLER://127.0.0.1:{broker.controller_port}"]}}]'


def test_voters_move_into_the_log_of_a_running_broker(start_broker, tools):
    aplomb = start_broker(kind="aplomb", properties=SETTINGS)
    contents.create(aplomb)
    assert level(tools, aplomb) == 0
    assert '"directoryId"' not in quorum(tools, aplomb)
    assert upgrade(tools, aplomb, "--dry-run").exit == 0
    assert level(tools, aplomb) == 0
    upgraded = upgrade(tools, aplomb)
    assert (upgraded.exit, upgraded.stdout.strip()) == (0, "kraft.version was upgraded to 1.")
    assert (level(tools, aplomb), quorum(tools, aplomb)) == (1, voter(aplomb))
    again = upgrade(tools, aplomb)
    assert again.exit == 0, again.output

    # What was answered was on the disk.
    aplomb.kill()
    aplomb.start()
    assert (level(tools, aplomb), quorum(tools, aplomb)) == (1, voter(aplomb))
    ids = contents.topic_ids(aplomb)
    aplomb.stop()
    assert '"data_version":1' in (aplomb.log_dirs[0] / "__cluster_metadata-0" / "quorum-state").read_text()
    given_back = offline.storage(aplomb, "release")
    assert given_back.returncode == 0, given_back.stderr
    dump.check(tools, aplomb)

    kafka = start_broker(kind="kafka", properties=SETTINGS, after=aplomb)
    assert (level(tools, kafka), quorum(tools, kafka)) == (1, voter(aplomb))
    assert contents.topic_ids(kafka) == ids
    kafka.stop()
    kafka.close()
    aplomb.close()


def test_apache_kafka_moved_them(start_broker, tools):
    kafka = start_broker(kind="kafka", properties=SETTINGS)
    contents.create(kafka)
    upgraded = upgrade(tools, kafka)
    assert upgraded.exit == 0, upgraded.output
    kafka.stop()
    aplomb = start_broker(kind="aplomb", properties=SETTINGS, after=kafka)
    assert (level(tools, aplomb), quorum(tools, aplomb)) == (1, voter(kafka))
    aplomb.stop()
    assert '"data_version":1' in (aplomb.log_dirs[0] / "__cluster_metadata-0" / "quorum-state").read_text()
    aplomb.close()
    kafka.close()


def test_a_directory_with_one_voter_of_its_own_goes_there_and_back(start_broker, tools, tmp_path):
    """`kafka-storage format --standalone`."""
    # The format command looks only at whether the address is there; the voter is found where its own listener is.
    made = offline.formatted("kafka", tmp_path / "made", {**SETTINGS, "controller.quorum.bootstrap.servers": "127.0.0.1:1"}, "--standalone")
    made.properties["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{made.controller_port}"
    aplomb = start_broker(kind="aplomb", properties=SETTINGS, after=made)
    assert (level(tools, aplomb), quorum(tools, aplomb)) == (1, voter(made))
    contents.create(aplomb)
    ids = contents.topic_ids(aplomb)
    aplomb.stop()
    assert offline.storage(aplomb, "release").returncode == 0
    back = start_broker(kind="kafka", properties=SETTINGS, after=aplomb)
    assert (level(tools, back), quorum(tools, back)) == (1, voter(made))
    assert contents.topic_ids(back) == ids
    back.stop()
    for broker in (back, aplomb, made):
        broker.close()
