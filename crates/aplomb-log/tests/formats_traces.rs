//! Producers and leader epochs, step by step beside Apache Kafka 4.4.0's ProducerStateManager and
//! LeaderEpochFileCache.
//!
//! `tests/oracle-formats/golden.sh` makes the traces anew; `Producers.java` and `Epochs.java` there
//! say what a line is.

use std::time::Duration;

use aplomb_log::epochs::LeaderEpochs;
use aplomb_log::producers::{
    Admission, AppendOrigin, MarkerEpochRule, ProducerBatch, ProducerState, TransactionMarker, parse_snapshot,
};
use aplomb_model::batch::EndTxnMarker;
use aplomb_model::{ErrorCode, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

const EXPIRATION: Duration = Duration::from_millis(700);

#[test]
fn producers_live_as_in_apache_kafka() {
    let mut state = ProducerState::default();
    let mut last_snapshot = None;
    for (number, line) in include_str!("golden/producers.txt").lines().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        let (length, said) = match words[0] {
            "batch" => (9, batch(&mut state, &words)),
            "marker" => (9, marker(&mut state, &words)),
            "hw" => {
                state.on_high_watermark(offset(words[1]));
                (2, unstable(&state))
            }
            "expire" => {
                state.expire(timestamp(words[1]), EXPIRATION);
                let left: Vec<_> = state.producers().map(|(id, _)| id.to_wire().to_string()).collect();
                (2, format!("[{}]", left.join(",")))
            }
            "snapshot" => {
                last_snapshot = state.take_snapshot();
                let said = last_snapshot.as_ref().map(|(at, bytes)| format!("{at} {}", hex(bytes)));
                (1, said.unwrap_or("none".to_owned()))
            }
            "restart" => {
                let (at, bytes) = last_snapshot.take().expect("a restart follows a snapshot");
                let entries = parse_snapshot(&bytes).unwrap();
                state = ProducerState::restore(at, entries, timestamp(words[1]), EXPIRATION);
                (2, unstable(&state))
            }
            other => panic!("unknown step {other}"),
        };
        assert_eq!(said, words[length..].join(" "), "line {}: {line}", number + 1);
    }
    assert!(state.end() > Offset::new(1000), "little has happened");
}

fn batch(state: &mut ProducerState, words: &[&str]) -> String {
    let &[_, origin, producer, epoch, sequence, delta, transactional, base, now, ..] = words else {
        panic!("a batch has more fields")
    };
    let batch = ProducerBatch {
        producer: id(producer),
        epoch: ProducerEpoch(epoch.parse().unwrap()),
        base_sequence: sequence.parse().unwrap(),
        last_offset_delta: delta.parse().unwrap(),
        transactional: transactional.parse().unwrap(),
    };
    let admission = match origin {
        "CLIENT" => state.check(&batch, AppendOrigin::Client),
        "COORDINATOR" => state.check(&batch, AppendOrigin::Coordinator),
        _ => Ok(Admission::Append),
    };
    match admission {
        Ok(Admission::Append) => {
            state.apply(&batch, offset(base), timestamp(now));
            format!("append {}", unstable(state))
        }
        Ok(Admission::Duplicate { base_offset, last_offset, timestamp }) => {
            format!("duplicate {base_offset} {last_offset} {}", timestamp.0)
        }
        Err(error) => ErrorCode::from(&error).name().to_owned(),
    }
}

fn marker(state: &mut ProducerState, words: &[&str]) -> String {
    let &[_, origin, version, producer, epoch, coordinator, committed, at, now, ..] = words else {
        panic!("a marker has more fields")
    };
    let marker = TransactionMarker {
        producer: id(producer),
        epoch: ProducerEpoch(epoch.parse().unwrap()),
        end: EndTxnMarker {
            committed: committed.parse().unwrap(),
            coordinator_epoch: coordinator.parse().unwrap(),
        },
        offset: offset(at),
        timestamp: timestamp(now),
    };
    let rule = if version == "2" { MarkerEpochRule::Above } else { MarkerEpochRule::NotBelow };
    let allowed = if origin == "REPLICATION" { Ok(()) } else { state.check_marker(&marker, rule) };
    match allowed.map(|()| state.complete(&marker)) {
        Ok(Some(txn)) => format!(
            "completed {} {} {} {} {}",
            txn.first_offset,
            txn.last_offset,
            txn.aborted().is_some(),
            txn.last_stable_offset,
            unstable(state)
        ),
        Ok(None) => format!("nothing-open {}", unstable(state)),
        Err(error) => ErrorCode::from(&error).name().to_owned(),
    }
}

fn unstable(state: &ProducerState) -> String {
    state.first_unstable_offset().map_or("-1".to_owned(), |offset| offset.to_string())
}

#[test]
fn leader_epochs_change_as_in_apache_kafka() {
    let mut epochs = LeaderEpochs::default();
    for line in include_str!("golden/epochs.txt").lines() {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[change, entries, ends, of] = &parts[..] else { panic!("four parts: {line}") };
        match change.split(' ').collect::<Vec<_>>()[..] {
            ["assign", epoch, start] => epochs.assign(leader(epoch), offset(start)),
            ["end", end] => epochs.truncate_from_end(offset(end)),
            ["start", start] => epochs.truncate_from_start(offset(start)),
            _ => panic!("unknown change {change}"),
        };
        let known: Vec<_> = epochs.entries().iter().map(|e| format!("{}@{}", e.epoch, e.start)).collect();
        assert_eq!(known.join(" "), entries, "{line}");

        let (log_end, of) = of.split_once(' ').unwrap();
        for asked in ends.split(' ') {
            let (epoch, _) = asked.split_once(':').unwrap();
            let end = epochs.end_offset_for(leader(epoch), offset(log_end));
            let said = end.map_or("-1@-1".to_owned(), |end| format!("{}@{}", end.epoch, end.end));
            assert_eq!(format!("{epoch}:{said}"), asked, "{line}");
        }
        let (at, epoch) = of.split_once(' ').unwrap();
        let said = epochs.epoch_of(offset(at)).map_or(-1, LeaderEpoch::to_wire);
        assert_eq!(said.to_string(), epoch, "{line}");
    }
    let file = include_str!("golden/leader-epoch-checkpoint");
    assert_eq!(epochs.encode(), file);
    assert_eq!(LeaderEpochs::parse(file.as_bytes()), Ok(epochs));
}

fn id(text: &str) -> ProducerId {
    ProducerId::from_wire(text.parse().unwrap()).unwrap()
}

fn offset(text: &str) -> Offset {
    Offset::from_wire(text.parse().unwrap()).unwrap()
}

fn leader(text: &str) -> LeaderEpoch {
    LeaderEpoch::from_wire(text.parse().unwrap()).unwrap()
}

fn timestamp(text: &str) -> Timestamp {
    Timestamp(text.parse().unwrap())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
