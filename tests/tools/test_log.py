"""aplomb log dump and verify, on the directories of Aplomb and of Apache Kafka: they say what kafka-dump-log says, and they find damage."""

import json
import re
import shutil

import pytest
from conftest import PROPERTIES, aplomb, bench


@pytest.fixture(scope="module", params=["aplomb", "kafka"])
def stopped(request, start_broker):
    """The log directory of a broker that was stopped cleanly after several kinds of batches were written."""
    broker = start_broker(kind=request.param, properties=PROPERTIES)
    common = ("--warm-up", "0", "--duration", "1s", "--partitions", 1, "--quiet")
    bench(broker, "produce", "-t", "plain", *common, "--rate", 4000, "--record-size", 700)
    bench(broker, "produce", "-t", "packed", *common, "--rate", 2000, "--compression", "lz4", "--keys", "uniform:9")
    bench(broker, "produce", "-t", "loose", *common, "--rate", 500, "--no-idempotence", "--acks", "1")
    broker.stop()
    yield broker.log_dirs[0]
    broker.close()


@pytest.fixture
def copied(stopped, tmp_path):
    """A copy to break."""
    return shutil.copytree(stopped, tmp_path / "data")


def fields(line):
    """The named values of a line of either tool."""
    return dict(re.findall(r"(\w+): (\S+)", line.split(" payload: ")[0]))


def test_a_clean_directory_is_in_order(stopped):
    for options in ((), ("--deep",)):
        ran = aplomb("log", "verify", *options, stopped)
        assert ran.exit == 0, ran.stdout
        assert re.fullmatch(r"\d+ logs, \d+ segments, \d+ batches, 0 findings", ran.stdout.strip())
    one = aplomb("log", "verify", stopped / "plain-0")
    assert one.exit == 0
    assert int(one.stdout.split(" segments")[0].split()[-1]) >= 3, "the log has rolled"


@pytest.mark.parametrize("topic", ["plain", "packed", "loose"])
def test_batches_and_records_are_those_of_kafka_dump_log(stopped, tools, topic):
    segments = sorted((stopped / f"{topic}-0").glob("*.log"))
    theirs = tools.ok("kafka-dump-log", "--deep-iteration", "--print-data-log", "--files", ",".join(map(str, segments))).lines()
    ours = aplomb("log", "dump", "--deep", *segments).lines()
    wanted = ("baseOffset: ", "| offset: ")
    theirs, ours = ([line for line in lines if line.startswith(wanted)] for lines in (theirs, ours))
    assert len(ours) == len(theirs) > 100
    for mine, other in zip(ours, theirs, strict=True):
        assert fields(mine) == fields(other)


@pytest.mark.parametrize("kind", ["index", "timeindex", "snapshot"])
def test_indexes_and_snapshots_are_those_of_kafka_dump_log(stopped, tools, kind):
    seen = 0
    for file in sorted((stopped / "plain-0").glob(f"*.{kind}")):
        theirs = [fields(line) for line in tools.ok("kafka-dump-log", "--files", file).lines() if line.startswith(("offset", "timestamp", "producerId"))]
        ours = [fields(line) for line in aplomb("log", "dump", file).lines()[1:]]
        if not ours:
            # The other tool prints a first entry of an index that has none.
            continue
        assert ours == theirs
        seen += len(ours)
    assert seen > 0


def test_metadata_records_have_their_names(stopped, tools):
    directory = stopped / "__cluster_metadata-0"
    segments = sorted(directory.glob("*.log"))
    said = tools.ok("kafka-dump-log", "--cluster-metadata-decoder", "--files", ",".join(map(str, segments))).stdout
    theirs = [name.replace("_", "").lower() for name in re.findall(r'"type":"([A-Z_]+)"', said)]
    ours = [json.loads(line) for line in aplomb("log", "dump", "--deep", "--json", *segments).lines()]
    names = [line["type"].lower() for line in ours if "type" in line]
    assert names == theirs
    assert sum(name == "topicrecord" for name in names) == 3


def test_only_the_offsets_that_were_asked_for(stopped):
    lines = aplomb("log", "dump", "--deep", "--offsets", "100-104", stopped / "plain-0").lines()
    records = [int(fields(line)["offset"]) for line in lines if line.startswith("| ")]
    assert records == [100, 101, 102, 103, 104]


def test_small_files_of_a_directory(stopped):
    lines = [json.loads(line) for line in aplomb("log", "dump", "--json", stopped).lines()]
    meta = {line["key"]: line["value"] for line in lines if line["file"].endswith("meta.properties")}
    assert meta["node.id"] == "1"
    points = {line["topic"]: line["offset"] for line in lines if line["file"].endswith("recovery-point-offset-checkpoint")}
    assert (points["plain"], points["packed"], points["loose"]) == (4000, 2000, 500)


def segments(data):
    return sorted((data / "plain-0").glob("*.log"))


def flip_a_bit(data):
    raw = bytearray(segments(data)[0].read_bytes())
    raw[5000] ^= 1
    segments(data)[0].write_bytes(raw)


def cut_the_end(data):
    file = segments(data)[-1]
    file.write_bytes(file.read_bytes()[:-1])


def index_into_nowhere(data):
    file = segments(data)[0].with_suffix(".index")
    raw = bytearray(file.read_bytes())
    raw[7] ^= 1
    file.write_bytes(raw)


def time_goes_back(data):
    file = segments(data)[0].with_suffix(".timeindex")
    raw = file.read_bytes()
    file.write_bytes(raw[12:24] + raw[:12] + raw[24:])


def a_segment_is_missing(data):
    file = segments(data)[-1]
    file.rename(file.with_name("00000000000000000001.log"))


def a_snapshot_is_damaged(data):
    file = max((data / "plain-0").glob("*.snapshot"))
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)


def a_checkpoint_is_ahead(data):
    file = data / "recovery-point-offset-checkpoint"
    file.write_text(file.read_text().replace("plain 0 4000", "plain 0 4001"))


def an_epoch_is_ahead(data):
    (data / "plain-0" / "leader-epoch-checkpoint").write_text("0\n1\n0 5000\n")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (flip_a_bit, r"\.log: batch at position \d+: .*checksum|\.log: batch at position \d+: .*[Cc][Rr][Cc]"),
        (cut_the_end, r"\.log: no batch at position \d+: "),
        (index_into_nowhere, r"\.index: "),
        (time_goes_back, r"\.timeindex: "),
        (a_segment_is_missing, r"\.log: begins below "),
        (a_snapshot_is_damaged, r"\.snapshot: .*checksum"),
        (a_checkpoint_is_ahead, r"recovery-point-offset-checkpoint: plain-0 has 4001 and its log ends at 4000"),
        (an_epoch_is_ahead, r"leader-epoch-checkpoint: epoch 0 starts at 5000 and the log ends at 4000"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_damage_is_found_and_named(copied, damage, said):
    damage(copied)
    before = {path: path.stat().st_mtime_ns for path in copied.rglob("*")}
    ran = aplomb("log", "verify", copied)
    assert ran.exit == 1
    assert any(re.search(said, line) for line in ran.lines()), ran.stdout
    assert before == {path: path.stat().st_mtime_ns for path in copied.rglob("*")}, "nothing is changed"


def test_a_dump_shows_what_is_before_the_damage_and_fails(copied):
    flip_a_bit(copied)
    ran = aplomb("log", "dump", segments(copied)[0])
    assert ran.exit == 1
    assert "isvalid: false" in ran.stdout
    assert "aplomb: " in ran.stderr


def test_a_directory_that_is_not_there_is_another_failure(tmp_path):
    ran = aplomb("log", "verify", tmp_path / "none")
    assert (ran.exit, "none" in ran.stderr) == (2, True)
