//! Compacted topics: of each key the last record stays, and no client waits for that.

use aplomb_disk_api::Lane;
use aplomb_model::ErrorCode;

use crate::support::{
    Alter, Batch, Broker, CreateTopic, DeleteTopic, Fetch, MS, MoveReplica, NEW_YEAR, Produce, SECOND, Setup,
};

const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];

fn table() -> CreateTopic {
    CreateTopic::named("table")
        .with("cleanup.policy", "compact")
        .with("internal.segment.bytes", "2000")
        .with("file.delete.delay.ms", "1000")
}

/// Writes of each key so many values, `key-n`.
fn write(broker: &Broker, from: usize, to: usize) {
    let client = broker.client();
    for n in from..to {
        for key in KEYS {
            let value = format!("{key}-{n}-{}", "x".repeat(80));
            let batch = Batch::from(value.as_str()).under_key(key).at(NEW_YEAR + n as i64);
            assert_eq!(client.ask(Produce::to("table", batch)).error, ErrorCode::None);
        }
    }
}

/// Offsets and values that a consumer finds, the padding left out.
fn found(broker: &Broker) -> Vec<String> {
    let values = broker.client().read("table", 0);
    values.into_iter().map(|value| value.split("-x").next().expect("a part").to_owned()).collect()
}

/// The last `values` are found, whatever stands before them.
fn ends_with(found: &[String], n: usize) {
    let last: Vec<String> = KEYS.iter().map(|key| format!("{key}-{n}")).collect();
    assert!(found.ends_with(&last), "{found:?} ends with {last:?}");
}

fn files_with(broker: &Broker, part: &str) -> Vec<String> {
    broker.disk(0).image().into_keys().filter(|file| file.contains(part)).collect()
}

/// When something happens to a pass.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// It reads, or writes.
    Works,
    /// The log has a new segment, and its files do not have their names.
    Swaps,
    /// They have, and the old ones wait to be deleted.
    Swapped,
}

const MOMENTS: [Moment; 3] = [Moment::Works, Moment::Swaps, Moment::Swapped];

/// Time passes until a pass is as far as that.
fn until(broker: &Broker, moment: Moment) {
    let jobs = || {
        let disk = broker.disk(0);
        disk.stats().lane(Lane::Job).depth() + disk.stats().lane(Lane::Job).completed()
    };
    // Loading a log is a job, too.
    let before = jobs();
    for _ in 0..100_000 {
        let is_there = match moment {
            Moment::Works => jobs() > before,
            Moment::Swaps => jobs() > before && !files_with(broker, ".swap").is_empty(),
            Moment::Swapped => jobs() > before && !files_with(broker, ".deleted").is_empty(),
        };
        if is_there {
            return;
        }
        broker.advance(if jobs() > before { MS / 50 } else { MS });
    }
    panic!("no pass has come as far as {moment:?}: {:?}", files_with(broker, "table-0/"));
}

#[test]
fn of_each_key_the_last_record_stays_at_its_offset() {
    let broker = Broker::start();
    broker.has(table());
    let figures = broker.figures_of_new("table");
    write(&broker, 0, 20);
    let before = figures.extent();
    assert_eq!((before.end, found(&broker).len()), (100, 100));
    broker.advance(120 * SECOND);
    assert!(broker.logs("table-0 is compacted below"));
    let after = figures.extent();
    assert_eq!((after.start, after.end), (0, 100));
    assert!(after.size < before.size / 3 && after.segments <= before.segments, "{after:?}");
    let values = found(&broker);
    assert!(values.len() < 25, "{values:?}");
    ends_with(&values, 19);
    assert_eq!(files_with(&broker, ".deleted"), [""; 0], "what was replaced is gone");
    let checkpoint = broker.disk(0).image()["cleaner-offset-checkpoint"].clone();
    let text = String::from_utf8(checkpoint.to_vec()).expect("text");
    assert!(text.lines().any(|line| line.starts_with("table 0 ")), "{text}");

    write(&broker, 20, 40);
    broker.stop();
    broker.restart();
    broker.advance(120 * SECOND);
    let values = found(&broker);
    assert!(values.len() < 25, "{values:?}");
    ends_with(&values, 39);
}

#[test]
fn whatever_a_frozen_disk_does_to_a_pass_clients_of_memory_do_not_wait() {
    for moment in MOMENTS {
        let broker = Broker::start();
        broker.has(table());
        write(&broker, 0, 20);
        until(&broker, moment);
        broker.disk(0).freeze();
        let client = broker.client();
        let produced = client.send(Produce::to("table", Batch::from("z").under_key("z")));
        assert!(!produced.is_waiting(), "{moment:?}");
        let offset = produced.answer().base;
        let fetched = client.send(Fetch::from("table", offset));
        assert!(!fetched.is_waiting(), "{moment:?}");
        broker.advance(5 * SECOND);
        broker.disk(0).thaw();
        broker.advance(60 * SECOND);
        assert!(broker.logs("table-0 is compacted below"), "{moment:?}");
        let values = found(&broker);
        assert!(values.len() < 25 && values.ends_with(&["z".to_owned()]), "{moment:?}: {values:?}");
    }
}

#[test]
fn a_reader_of_old_records_goes_on_while_they_are_replaced() {
    for step in 0..60 {
        let broker = Broker::start();
        broker.has(table());
        write(&broker, 0, 20);
        broker.stop();
        broker.restart();
        until(&broker, Moment::Works);
        // Some way into the pass, each time another.
        broker.advance(MS / 20 * step);
        let client = broker.client();
        let mut offset = 0;
        let mut read = Vec::new();
        while offset < 100 {
            let fetch = client.send(Fetch::from("table", offset).at_most(300));
            broker.advance(MS / 20);
            let answer = fetch.wait();
            assert_eq!(answer.partitions[0].error, ErrorCode::None, "step {step}, offset {offset}");
            let offsets = answer.offsets();
            assert!(!offsets.is_empty(), "step {step}, offset {offset}");
            read.extend(offsets.iter().copied().filter(|found| *found >= offset));
            offset = offsets.last().expect("it is not empty") + 1;
        }
        assert!(read.is_sorted_by(|a, b| a < b), "step {step}: {read:?}");
        // All that is the last of its key is there, whatever the pass had done when it was read.
        assert!(read.ends_with(&[95, 96, 97, 98, 99]), "step {step}: {read:?}");
    }
}

#[test]
fn a_kill_or_a_power_cut_during_a_pass_leaves_one_log() {
    for moment in MOMENTS {
        for cuts_power in [false, true] {
            let broker = Broker::start();
            broker.has(table());
            write(&broker, 0, 20);
            until(&broker, moment);
            if cuts_power {
                broker.cut_power();
            } else {
                broker.kill();
            }
            broker.restart();
            let values = found(&broker);
            ends_with(&values, 19);
            write(&broker, 20, 30);
            broker.advance(120 * SECOND);
            let values = found(&broker);
            assert!(values.len() < 25, "{moment:?}: {values:?}");
            ends_with(&values, 29);
        }
    }
}

#[test]
fn a_topic_that_is_deleted_during_a_pass_goes_and_may_come_again() {
    for moment in MOMENTS {
        let broker = Broker::start();
        broker.has(table());
        write(&broker, 0, 20);
        until(&broker, moment);
        broker.client().ask(DeleteTopic::named("table"));
        broker.has(table());
        write(&broker, 0, 3);
        broker.advance(120 * SECOND);
        let values = found(&broker);
        assert!(values.len() <= 15, "{moment:?}: {values:?}");
        ends_with(&values, 2);
        assert_eq!(files_with(&broker, ".cleaned"), [""; 0], "{moment:?}");
        write(&broker, 3, 20);
        broker.advance(120 * SECOND);
        ends_with(&found(&broker), 19);
        assert!(found(&broker).len() < 25, "{moment:?}");
    }
}

#[test]
fn a_partition_moves_when_its_pass_is_over() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(0, table());
    write(&broker, 0, 20);
    until(&broker, Moment::Works);
    assert_eq!(broker.client().ask(MoveReplica::of("table", 1)).error, ErrorCode::None);
    broker.advance(120 * SECOND);
    assert_eq!(broker.disks_with("table-0"), [1]);
    ends_with(&found(&broker), 19);
    write(&broker, 20, 40);
    broker.advance(120 * SECOND);
    let values = found(&broker);
    assert!(values.len() < 25, "{values:?}");
    ends_with(&values, 39);
}

#[test]
fn what_cannot_be_read_is_left_as_it_is_and_others_are_compacted() {
    let broker = Broker::start();
    broker.has(table());
    broker.has(
        CreateTopic::named("other").with("cleanup.policy", "compact").with("internal.segment.bytes", "2000"),
    );
    write(&broker, 0, 20);
    for n in 0..100 {
        let value = format!("{n}-{}", "x".repeat(80));
        broker.client().ask(Produce::to("other", Batch::from(value.as_str()).under_key("k")));
    }
    broker.advance(2 * SECOND);
    broker.overwrite(0, "table-0/00000000000000000000.log", 100, b"????");
    broker.advance(120 * SECOND);
    assert!(broker.logs("table-0 is not compacted until the next start"));
    assert!(broker.logs("other-0 is compacted below"));
    assert_eq!(files_with(&broker, ".cleaned"), [""; 0]);
    ends_with(&found_from(&broker, 95), 19);
}

/// What a consumer finds from an offset on.
fn found_from(broker: &Broker, offset: i64) -> Vec<String> {
    let values = broker.client().read("table", offset);
    values.into_iter().map(|value| value.split("-x").next().expect("a part").to_owned()).collect()
}

#[test]
fn what_the_topic_says_of_lags_and_ratios_is_kept() {
    let broker = Broker::start();
    broker.has(table().with("min.compaction.lag.ms", "3600000"));
    let (client, wall) = (broker.client(), broker.wall_ms());
    for n in 0..100 {
        let value = format!("{n}-{}", "x".repeat(80));
        client.ask(Produce::to("table", Batch::from(value.as_str()).under_key("k").at(wall)));
    }
    broker.advance(300 * SECOND);
    assert_eq!(found(&broker).len(), 100, "it is too young");
    client.ask(Alter::topic("table", "min.compaction.lag.ms", "1000"));
    client.ask(Alter::topic("table", "min.cleanable.dirty.ratio", "1.0"));
    broker.advance(300 * SECOND);
    assert_eq!(found(&broker).len(), 100, "no log is dirtier than all of it");
    client.ask(Alter::topic("table", "max.compaction.lag.ms", "60000"));
    broker.advance(300 * SECOND);
    assert!(found(&broker).len() < 25, "it has waited long enough");
}

#[test]
fn without_threads_or_with_the_policy_gone_nothing_is_compacted() {
    let broker = Broker::of(Setup { settings: vec![("log.cleaner.enable", "false")], ..Setup::default() });
    broker.has(table());
    write(&broker, 0, 20);
    broker.advance(300 * SECOND);
    assert_eq!(found(&broker).len(), 100);

    let broker = Broker::start();
    broker.has(table());
    write(&broker, 0, 20);
    broker.client().ask(Alter::topic("table", "cleanup.policy", "delete"));
    broker.client().ask(Alter::topic("table", "retention.ms", "-1"));
    broker.advance(300 * SECOND);
    assert_eq!(found(&broker).len(), 100);
    broker.client().ask(Alter::topic("table", "cleanup.policy", "compact"));
    broker.advance(120 * SECOND);
    assert!(found(&broker).len() < 25);
}
