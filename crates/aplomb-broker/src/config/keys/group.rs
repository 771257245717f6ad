//! Keys that a group can set for itself (Apache Kafka 4.4.0: `GroupConfig`), with the broker's key
//! that says what it has otherwise and those that bound it. Those of share and streams groups are
//! kept and shown, and checked in their type; there are no such groups here yet.

use super::super::key::{ConfigKey, GroupKey, Valid, group_keys};
use super::reasons::{NO_SHARE_GROUPS, NO_STREAMS_GROUPS};

const SHARE: Meaning = Unused(NO_SHARE_GROUPS);
const STREAMS: Meaning = Unused(NO_STREAMS_GROUPS);
const LEVELS: Valid = Valid::OneOf(&["read_committed", "read_uncommitted"]);

group_keys! {
    "consumer.assignment.interval.ms": Int, AtLeast(0), Used("groups.settings.consumer"),
        "group.consumer.assignment.interval.ms" = "1000",
        ["group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"];
        "Milliseconds between two new assignments of the group at least.";
    "consumer.heartbeat.interval.ms": Int, AtLeast(1), Used("groups.settings.consumer"),
        "group.consumer.heartbeat.interval.ms" = "5000",
        ["group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"];
        "Milliseconds between two heartbeats of a member.";
    "consumer.session.timeout.ms": Int, AtLeast(1), Used("groups.settings.consumer"),
        "group.consumer.session.timeout.ms" = "45000",
        ["group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"];
        "Milliseconds without a heartbeat after which a member is out.";
    "errors.deadletterqueue.copy.record.enable": Boolean, Any, SHARE,
        null = "false", [];
        "Whether records that a share group gives up are copied whole.";
    "errors.deadletterqueue.topic.name": Text, Any, SHARE,
        null = "", [];
        "The topic of the records that a share group gives up; none without a name.";
    "share.assignment.interval.ms": Int, AtLeast(0), SHARE,
        "group.share.assignment.interval.ms" = "1000",
        ["group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"];
        "Milliseconds between two new assignments of a share group at least.";
    "share.auto.offset.reset": Text, ResetStrategy, SHARE,
        null = "latest", [];
        "Where a share group begins: earliest, latest or by_duration: and an ISO 8601 duration.";
    "share.delivery.count.limit": Int, AtLeast(2), SHARE,
        "group.share.delivery.count.limit" = "5",
        ["group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"];
        "How often a record is delivered to a share group at most.";
    "share.heartbeat.interval.ms": Int, AtLeast(1), SHARE,
        "group.share.heartbeat.interval.ms" = "5000",
        ["group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"];
        "Milliseconds between two heartbeats of a share group's member.";
    "share.isolation.level": Text, LEVELS, SHARE,
        null = "read_uncommitted", [];
        "Whether a share group gets records of transactions that were not committed.";
    "share.partition.max.record.locks": Int, AtLeast(100), SHARE,
        "group.share.partition.max.record.locks" = "2000",
        ["group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"];
        "The most records of a partition that a share group has locked at one time.";
    "share.record.lock.duration.ms": Int, AtLeast(1000), SHARE,
        "group.share.record.lock.duration.ms" = "30000",
        ["group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"];
        "Milliseconds that a record is locked for the member of a share group that has fetched it.";
    "share.renew.acknowledge.enable": Boolean, Any, SHARE,
        null = "true", [];
        "Whether members of a share group can renew their locks.";
    "share.session.timeout.ms": Int, AtLeast(1), SHARE,
        "group.share.session.timeout.ms" = "45000",
        ["group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"];
        "Milliseconds without a heartbeat after which a share group's member is out.";
    "streams.assignment.interval.ms": Int, AtLeast(0), STREAMS,
        "group.streams.assignment.interval.ms" = "1000",
        ["group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"];
        "Milliseconds between two new assignments of a streams group at least.";
    "streams.assignor.name": Text, Any, STREAMS,
        "group.streams.assignors" = "sticky", [];
        "The assignor of a streams group.";
    "streams.heartbeat.interval.ms": Int, AtLeast(1), STREAMS,
        "group.streams.heartbeat.interval.ms" = "5000",
        ["group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"];
        "Milliseconds between two heartbeats of a streams group's member.";
    "streams.initial.rebalance.delay.ms": Int, AtLeast(0), STREAMS,
        "group.streams.initial.rebalance.delay.ms" = "3000", [];
        "Milliseconds that the first rebalance of an empty streams group waits for more members.";
    "streams.num.standby.replicas": Int, AtLeast(0), STREAMS,
        "group.streams.num.standby.replicas" = "0", ["group.streams.max.standby.replicas"];
        "Standby replicas of each task of a streams group.";
    "streams.rack.aware.assignment.tags": List, Any, STREAMS,
        "group.streams.rack.aware.assignment.tags" = "", [];
        "Client tags that standby replicas of a task are spread over.";
    "streams.session.timeout.ms": Int, AtLeast(1), STREAMS,
        "group.streams.session.timeout.ms" = "45000",
        ["group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"];
        "Milliseconds without a heartbeat after which a streams group's member is out.";
}
