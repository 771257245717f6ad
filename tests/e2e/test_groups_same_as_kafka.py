"""One script about groups on the broker under test and on Apache Kafka: what the admin client and the tools say is the same."""

import re

import pytest
from harness import groups
from harness.clients import Admin

PROPERTIES = {**groups.QUICK, "auto.create.topics.enable": "false", "offsets.topic.num.partitions": "1"}


def blot(text, broker):
    """Without what differs from run to run: addresses, and the ids of members, topics and times."""
    text = text.replace(str(broker.port), "PORT")
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)
    return re.sub(r"(?<![\w+/-])[\w+/-]{21}[AQgw](?![\w+/-])", "UUID", text)


class Scene:
    """A topic with two partitions of ten records, a group of each protocol with one member that has read and committed them, and a group
    without members."""

    def __init__(self, broker, java, clients, party_on):
        self.broker = broker
        self.admin = Admin(java, broker)
        self.party = party_on(broker)
        if self.admin.answer("create-topic", name="t", partitions=2, replication=1).get("result"):
            self.admin.offset("t", "latest", 1)
            for partition in range(2):
                clients["python"].produce(broker, "t", partition=partition, count=10, size=40, timestamp=1_700_000_000_000)
        self.classic = self.party("python", "classic", "t", instance="c1", session=60_000)
        self.consumer = self.party("python-consumer", "consumer", "t")
        for member in (self.classic, self.consumer):
            self.party.until(lambda member=member: len(member.committed) == 2, "all is committed")
        self.admin.call("alter-group-offsets", group="simple", offsets=[["t", 0, 4, "four"], ["t", 1, 7, ""]])


    def end(self):
        """No member, no group."""
        self.party.close()
        for name, (_, _, state) in self.admin.call("list-groups").items():
            if state != "Empty":
                self.admin.call("remove-members", group=name)
            self.admin.call("delete-group", group=name)


@pytest.fixture
def scenes(both, java, clients, party_on):
    """The scene on both brokers; after the test, the groups are gone."""
    made = [Scene(broker, java, clients, party_on) for broker in both]
    yield made
    for scene in made:
        scene.end()


def plain(value):
    """Without the ids of members, in which they differ."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key != "id"}
    return [plain(item) for item in value] if isinstance(value, list) else value


def group(name, **fields):
    return {"group": name, **fields}


P0, P1, P2 = ["t", 0], ["t", 1], ["t", 2]
ASKED = [
    ("list-groups", {}),
    ("list-groups", {"types": ["Classic"]}),
    ("list-groups", {"types": ["Consumer"]}),
    ("list-groups", {"states": ["Stable"]}),
    ("list-groups", {"states": ["Empty"], "types": ["Classic"]}),
    ("list-groups", {"states": ["Dead", "Assigning"]}),
    *[(op, group(name)) for op in ("describe-group", "describe-classic-group", "list-group-offsets") for name in ("classic", "consumer", "simple", "missing", "")],
    ("list-group-offsets", group("simple", partitions=[P0, P2, ["missing", 0]])),
    ("list-group-offsets", group("consumer", partitions=[P0, P1], stable=True)),
]
CHANGED = [
    ("alter-group-offsets", group("classic", offsets=[[*P0, 1, ""]])),
    ("alter-group-offsets", group("consumer", offsets=[[*P0, 1, ""]])),
    ("alter-group-offsets", group("simple", offsets=[[*P0, 2, "two"], [*P2, 1, ""]])),
    ("alter-group-offsets", group("simple", offsets=[["missing", 0, 1, ""]])),
    ("alter-group-offsets", group("simple", offsets=[[*P1, 1, "m" * 4097]])),
    ("alter-group-offsets", group("", offsets=[[*P1, 1, ""]])),
    ("delete-group-offsets", group("classic", partitions=[P0])),
    ("delete-group-offsets", group("consumer", partitions=[P0])),
    ("delete-group-offsets", group("simple", partitions=[P1, P2])),
    ("delete-group-offsets", group("missing", partitions=[P1])),
    ("list-group-offsets", group("simple")),
    ("delete-group", group("classic")),
    ("delete-group", group("consumer")),
    ("delete-group", group("missing")),
    ("remove-members", group("classic", instances=["c2"])),
    ("remove-members", group("missing", instances=["c1"])),
    ("remove-members", group("simple")),
    ("delete-group", group("simple")),
    ("delete-group", group("simple")),
    ("list-groups", {}),
]


def compare(scenes, script):
    said = [[(op, fields, scene.admin.answer(op, **fields)) for op, fields in script] for scene in scenes]
    for (op, fields, ours), (_, _, kafkas) in zip(*said, strict=True):
        ours, kafkas = (answer.get("error") or plain(answer["result"]) for answer in (ours, kafkas))
        assert ours == kafkas, f"{op} {fields}"


def test_the_admin_client_sees_and_changes_the_same(scenes):
    compare(scenes, ASKED)
    compare(scenes, CHANGED)


def test_members_that_are_removed_join_anew(scenes):
    for scene in scenes:
        members = {"classic": scene.classic, "consumer": scene.consumer}
        before = scene.admin.call("describe-group", group="classic")["members"][0]["id"]
        scene.admin.call("remove-members", group="classic", instances=["c1"])
        scene.admin.call("remove-members", group="consumer")
        for name, member in members.items():
            joined = lambda member=member: sum("assigned" in change for change in member.changes) == 2
            scene.party.until(lambda joined=joined, member=member: joined() and len(member.owned) == 2, f"{name} is joined again")
        [member] = scene.admin.call("describe-group", group="classic")["members"]
        assert (member["instance"], member["id"] == before) == ("c1", False)
    compare(scenes, [(op, group(name)) for name in ("classic", "consumer") for op in ("describe-group", "list-group-offsets")])


def test_groups_have_settings_of_their_own(scenes):
    of = {"type": "GROUP", "name": "consumer"}
    keys = ("session.timeout.ms", "heartbeat.interval.ms")
    changes = [[[f"consumer.{key}", "SET", value]] for key in keys for value in ("5000", "1", "x", "999999")]
    compare(
        scenes,
        [
            *[(op, fields) for change in changes for op, fields in (("alter-configs", {**of, "changes": change}), ("describe-configs", of))],
            ("alter-configs", {**of, "changes": [["no.such.key", "SET", "1"]]}),
            ("alter-configs", {**of, "changes": [[f"consumer.{key}", "DELETE", None] for key in keys]}),
            ("list-config-resources", {"types": ["GROUP"]}),
            ("describe-configs", of),
        ],
    )


def spoken(tools, scene, *command):
    """The exit code, and the words of each line, sorted: columns are as wide as ids, and rows come in any order."""
    tool, *arguments = command
    ran = tools.run(tool, "--bootstrap-server", scene.broker.bootstrap, *arguments)
    return ran.exit, sorted(blot(line, scene.broker).split() for line in ran.stdout.splitlines() if line.strip())


def compare_tools(tools, scenes, script):
    for command in script:
        ours, kafkas = (spoken(tools, scene, *command) for scene in scenes)
        assert ours == kafkas, " ".join(command)


GROUPS = ("kafka-consumer-groups",)
DESCRIBED = [(*GROUPS, "--describe", "--group", name, *what) for name in ("classic", "consumer", "simple", "missing") for what in ((), ("--state",), ("--members",))]
SHOWN = [
    (*GROUPS, "--list"),
    (*GROUPS, "--list", "--state"),
    (*GROUPS, "--list", "--type"),
    (*GROUPS, "--list", "--state", "stable", "--type", "consumer"),
    *DESCRIBED,
    (*GROUPS, "--describe", "--group", "consumer", "--offsets", "--verbose"),
    (*GROUPS, "--describe", "--group", "consumer", "--members", "--verbose"),
    (*GROUPS, "--describe", "--group", "classic", "--members", "--verbose"),
    (*GROUPS, "--describe", "--group", "consumer", "--state", "--verbose"),
    (*GROUPS, "--describe", "--all-groups"),
    (*GROUPS, "--describe", "--all-groups", "--state"),
    ("kafka-groups", "--list"),
    ("kafka-groups", "--list", "--group-type", "consumer"),
    ("kafka-groups", "--list", "--consumer"),
    ("kafka-get-offsets", "--topic", "t"),
    ("kafka-get-offsets", "--topic-partitions", "__consumer_offsets:0", "--time", "earliest"),
]
RESET = (*GROUPS, "--reset-offsets", "--group", "simple")
RESETS = [
    (*GROUPS, "--reset-offsets", "--group", "classic", "--all-topics", "--to-earliest", "--execute"),
    (*GROUPS, "--reset-offsets", "--group", "consumer", "--all-topics", "--to-earliest", "--execute"),
    (*RESET, "--all-topics", "--to-earliest", "--dry-run"),
    *[
        step
        for how in (
            ("--to-latest",),
            ("--shift-by", "-3"),
            ("--shift-by", "100"),
            ("--to-offset", "5"),
            ("--to-current",),
            ("--to-datetime", "2023-11-14T22:13:20.004"),
            ("--to-datetime", "2040-01-01T00:00:00.000"),
            ("--by-duration", "PT1S"),
            ("--to-earliest",),
        )
        for step in ((*RESET, "--topic", "t:0", *how, "--execute"), (*GROUPS, "--describe", "--group", "simple"))
    ],
    (*RESET, "--topic", "t", "--to-offset", "8", "--export", "--dry-run"),
    (*RESET, "--topic", "missing", "--to-earliest", "--execute"),
    (*GROUPS, "--reset-offsets", "--group", "new", "--topic", "t", "--to-offset", "2", "--execute"),
    (*GROUPS, "--describe", "--group", "new"),
    (*GROUPS, "--delete-offsets", "--group", "new", "--topic", "t:1"),
    (*GROUPS, "--delete-offsets", "--group", "consumer", "--topic", "t:1"),
    (*GROUPS, "--delete-offsets", "--group", "missing", "--topic", "t:1"),
    (*GROUPS, "--describe", "--group", "new"),
    *[(*GROUPS, "--delete", "--group", name) for name in ("new", "simple", "consumer", "classic", "missing")],
    (*GROUPS, "--list"),
]


def test_the_tools_show_the_same(scenes, tools):
    compare_tools(tools, scenes, SHOWN)


def test_the_tools_reset_and_delete_the_same(scenes, tools):
    compare_tools(tools, scenes, RESETS)
