"""What brokers answer, made comparable: without identities, times and the wording of errors, and in an order of its own."""

import re
import time
import uuid

from differential import schemas
from harness import wire

# Long enough for what is answered at all: of two silent brokers each costs as much.
PATIENCE = 3

# Fields whose values are a broker's own; of what is known and unknown, or null and not, more is compared.
OWN = {
    "ClusterId", "Host", "Port", "LogDir", "TotalBytes", "UsableBytes", "LogAppendTimeMs", "LastTimestamp", "HighWatermark.quorum",
    "LogEndOffset.quorum", "LastFetchTimestamp", "LastCaughtUpTimestamp", "ProducerId", "FinalizedFeaturesEpoch", "LeaderEpoch.quorum", "TransactionStartTimeMs",
}  # fmt: skip
# APIs whose answers list what there is, and topics that earlier questions may have made on one broker alone: those whose time was short.
LISTING = {"Metadata", "DescribeLogDirs", "ElectLeaders", "ListConfigResources", "DescribeTopicPartitions", "ListGroups"}
PASSING = re.compile(r"(made|placed|never|internal|gone|grown|joins|leaves|ends|heard)-\d+$|(missing|no name!|\.\.|a{250})-\d+$")
# Where a member's id is the broker's choice.
CHOSEN = re.compile(r"(?s).*-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[\w-]{22}")
# A sentence or none.
WORDING = re.compile(r"(ErrorMessage|Documentation|BatchIndexErrorMessage)$")


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class Broker:
    """One of the two that are asked: a connection for as long as it holds, and what it chose for itself: ids of topics and members."""

    def __init__(self, broker, source=None):
        self.broker = broker
        # The address that it is asked from.
        self.source = source
        self.ids = {}
        self._connection = None

    def ask(self, question):
        """The decoded answer, or the word for what came instead of it."""
        request = schemas.message(f"{question.api}Request")
        try:
            answer = self._send(question.written(request, schemas.key_of(question.api), self.ids))
        except TimeoutError:
            self._drop()
            return "silence"
        except ConnectionError:
            self._drop()
            return "closed"
        return decode(question, answer)

    def close(self):
        self._drop()

    def _send(self, payload):
        if self._connection is None:
            self._connection = wire.Connection(self.broker.port, timeout=PATIENCE, source=self.source)
        return self._connection.ask(payload)

    def _drop(self):
        if self._connection is not None:
            self._connection.socket.close()
            self._connection = None


def decode(question, answer):
    schema, version = schemas.message(f"{question.api}Response"), question.version
    has_tags = schema.is_flexible(version) and question.api != "ApiVersions"
    assert answer[:4] == b"\x00\x00\x00\x07", f"{question} is answered with the correlation id {answer[:4].hex()}"
    return schema.decode(answer[5 if has_tags else 4 :], version)


def once(ask, is_so):
    """The first answer that is as wanted: Apache Kafka knows a topic, and gives producer ids out, a moment after it has said that it does."""
    deadline = time.monotonic() + 60
    while not is_so(answer := ask()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)
    return answer


def plain(value, name="", api=""):
    """A value without what is a broker's own."""
    if isinstance(value, dict):
        return {field: plain(item, field, api) for field, item in value.items()}
    if isinstance(value, list):
        items = [item for item in (plain(item, name, api) for item in value) if not _is_beside_the_question(item, api)]
        return sorted(items, key=repr)
    if isinstance(value, uuid.UUID):
        return "no id" if value == schemas.NO_ID else "an id"
    if WORDING.search(name):
        return "a sentence" if value else value
    if name in OWN or api == "DescribeQuorum" and f"{name}.quorum" in OWN or name == "SessionId" and value != 0:
        return "none" if value in (None, -1) else "its own"
    if name == "BaseOffset" and value >= 0:
        return "an offset"
    if isinstance(value, bytes):
        return value.hex()
    if name in ("MemberId", "Leader") and isinstance(value, str) and CHOSEN.fullmatch(value):
        return "a member's id"
    return value


def _is_beside_the_question(item, api):
    names = [item.get(name) for name in ("Name", "TopicName", "Topic", "ResourceName", "GroupId")] if isinstance(item, dict) else []
    names = [name for name in names if isinstance(name, str)]
    is_internal = any(name.startswith("__") and name != "__cluster_metadata" for name in names)
    return is_internal or api in LISTING and any(PASSING.match(name) for name in names)


def differences(kafkas, ours, path=""):
    """[(path, what Apache Kafka says, what the other says)]."""
    if isinstance(kafkas, dict) and isinstance(ours, dict):
        names = [*kafkas, *(name for name in ours if name not in kafkas)]
        return [found for name in names for found in differences(kafkas.get(name), ours.get(name), f"{path}.{name}".lstrip("."))]
    if isinstance(kafkas, list) and isinstance(ours, list) and len(kafkas) == len(ours):
        return [found for a, b in zip(kafkas, ours) for found in differences(a, b, f"{path}[]")]
    return [] if kafkas == ours else [(path, kafkas, ours)]
