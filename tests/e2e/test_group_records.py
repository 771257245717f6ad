"""What groups leave in __consumer_offsets: the same requests make the same records in Apache Kafka and in the broker under test, to the byte
but for identities and times."""

import re

import pytest
from differential import answers, groups, questions
from differential.schemas import Id

CHOSEN = re.compile(r'[\w.]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=")[\w-]{22}(?=")|\b1[0-9]{12}\b|(?<="metadataHash":)-?[1-9]\d+')
# Two members have one partition each; which, their ids say.
OF_ONE = re.compile(r'"partitions":\[[01]\]')
# A batch's numbers that are not time or place.
BATCH = re.compile(r"(count|baseSequence|lastSequence|producerId|producerEpoch|partitionLeaderEpoch|isTransactional|isControl|magic|compresscodec): (\S+)")
RECORD = re.compile(r"\| offset: \d+ CreateTime: \d+ (keySize: \d+ valueSize: -?\d+) sequence: (-?\d+) headerKeys: \[\] (.*)")

# A group that goes back to the classic protocol names no leader until its members have joined, and says what they have, where Apache Kafka
# says what they are to have (docs/operating/groups.md). The leader's id has 38 bytes, a topic of one partition 14.
GONE_BACK = '"generation":2,'
OTHERWISE = (("valueSize: 191", "valueSize: 139"), ('"leader":"…"', '"leader":null'), ('[{"topic":"read","partitions":[…]}]', "[]"))


def script():
    """(API, version, request, what is learned of the answer)."""
    join, heartbeat, commit = groups.join, groups.heartbeat, groups.commit
    member = {"MemberId": Id("member"), "GroupInstanceId": None}
    yield "JoinGroup", 9, join("c", GroupInstanceId=None), {"member": "MemberId"}
    yield "JoinGroup", 9, join("c", **member), {}
    assignments = [{"MemberId": Id("member"), "Assignment": groups.ASSIGNMENT}]
    sync = {"GroupId": "c", "GenerationId": 1, "ProtocolType": "consumer", "ProtocolName": "range", **member}
    yield "SyncGroup", 5, {**sync, "Assignments": assignments}, {}
    yield "OffsetCommit", 9, commit("c", GenerationIdOrMemberEpoch=1, MemberId=Id("member")), {}
    yield "OffsetCommit", 2, commit("c", GenerationIdOrMemberEpoch=1, MemberId=Id("member"), RetentionTimeMs=100_000), {}
    yield "LeaveGroup", 5, {"GroupId": "c", "Members": [{"MemberId": Id("member"), "GroupInstanceId": None, "Reason": "over"}]}, {}
    yield "OffsetDelete", 0, {"GroupId": "c", "Topics": [{"Name": "read", "Partitions": [{"PartitionIndex": 0}]}]}, {}
    yield "OffsetCommit", 10, commit("simple"), {}
    yield "DeleteGroups", 2, {"GroupsNames": ["simple"]}, {}
    yield "JoinGroup", 5, join("static"), {"static": "MemberId"}
    yield "SyncGroup", 3, {"GroupId": "static", "GenerationId": 1, "MemberId": Id("static"), "GroupInstanceId": "i", "Assignments": []}, {}
    yield "ConsumerGroupHeartbeat", 1, heartbeat("k"), {"epoch": "MemberEpoch"}
    yield "OffsetCommit", 10, commit("k", GenerationIdOrMemberEpoch=Id("epoch"), MemberId="m"), {}
    silent = {"RebalanceTimeoutMs": -1, "SubscribedTopicNames": None, "TopicPartitions": None}
    yield "ConsumerGroupHeartbeat", 1, heartbeat("k", MemberEpoch=Id("epoch"), **silent, ServerAssignor="range"), {"epoch": "MemberEpoch"}
    yield "ConsumerGroupHeartbeat", 1, heartbeat("k", MemberId="n", InstanceId="j", RackId="r"), {"other": "MemberEpoch"}
    yield "ConsumerGroupHeartbeat", 1, heartbeat("k", MemberId="n", InstanceId="j", MemberEpoch=-2, **silent), {}
    yield "ConsumerGroupHeartbeat", 1, heartbeat("k", MemberId="o", InstanceId="j"), {}
    yield "ConsumerGroupHeartbeat", 1, heartbeat("k", MemberId="m", MemberEpoch=-1, **silent), {}
    yield "ConsumerGroupHeartbeat", 1, heartbeat("k", MemberId="o", InstanceId="j", MemberEpoch=-1, **silent), {}
    yield "DeleteGroups", 2, {"GroupsNames": ["k"]}, {}
    # From one protocol to the other and back.
    yield "ConsumerGroupHeartbeat", 1, heartbeat("static", MemberId="p"), {}
    yield "ConsumerGroupHeartbeat", 1, heartbeat("static", MemberId="p", MemberEpoch=-1, **silent), {}


@pytest.fixture(scope="module")
def left(start_broker, tools):
    """What each of the two has answered, and the batches and records that it has left."""
    found = []
    for kind in ("kafka", None):
        # Members are told the same interval as ever, while their group changes too.
        broker = start_broker(kind=kind, properties={**groups.PROPERTIES, "aplomb.groups.rebalance.heartbeat.interval.ms": "0"})
        asked = answers.Broker(broker)
        asked.ask(questions.create("read", 2))
        answers.once(lambda: asked.ask(questions.listing("read")), lambda listed: listed["Topics"][0]["ErrorCode"] == 0)
        asked.ids["read"] = asked.ask(questions.listing("read"))["Topics"][0]["TopicId"]
        for question, is_so, _ in groups.topic_made():
            answers.once(lambda: asked.ask(questions.Question(*question)), is_so)
        said = []
        for api, version, request, learned in script():
            answer = asked.ask(questions.Question(api, version, "", request))
            said.append((api, answers.plain(answer, api=api)))
            asked.ids.update({name: answer[field] for name, field in learned.items()})
        asked.close()
        broker.stop()
        (log,) = (broker.log_dirs[0] / "__consumer_offsets-0").glob("*.log")
        dumped = tools.ok("kafka-dump-log", "--offsets-decoder", "--files", log).lines()
        broker.close()
        found.append((said, dumped))
    return found


def test_every_answer_is_the_same(left):
    (kafkas, _), (ours, _) = left
    for (api, theirs), (_, answer) in zip(kafkas, ours):
        # Which of two partitions a member gets depends on the other's id.
        found = [each for each in answers.differences(theirs, answer) if each[0] != "Assignment.TopicPartitions[].Partitions[]"]
        assert found == [], api


def batches(dumped):
    """What each batch is, and its records in an order of their own: that of a group's members is by their ids."""
    found = []
    for line in dumped:
        if line.startswith("baseOffset"):
            found.append((dict(BATCH.findall(line)), []))
        elif line.startswith("|"):
            size, _, said = RECORD.match(line).groups()
            found[-1][1].append(OF_ONE.sub('"partitions":[…]', CHOSEN.sub("…", f"{size} {said}")))
    return [(batch, sorted(records)) for batch, records in found]


def test_every_batch_and_record_is_the_same(left):
    kafkas, ours = (batches(dumped) for _, dumped in left)
    assert sum(len(records) for _, records in kafkas) > 50
    for (head, theirs), batch in zip(kafkas, ours):
        for place, record in enumerate(theirs):
            if '"type":"2"' in record and GONE_BACK in record and '"group":"static"' in record:
                for said, otherwise in OTHERWISE:
                    assert said in record
                    record = record.replace(said, otherwise)
                theirs[place] = record
        assert batch == (head, theirs)
    assert len(ours) == len(kafkas)
