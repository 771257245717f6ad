//! Requests of clients with quotas, and what they are told.

use std::sync::Arc;

use aplomb_protocol::ErrorTally;
use bytes::{BufMut as _, Bytes, BytesMut};

use super::*;
use crate::config::SecurityProtocol;
use crate::metadata::QuotaEntity;
use crate::ports::{ConnectionId, RequestId, Session, ShardId, Waited};

const WINDOWS: Windows = Windows { count: 11, millis: 1000 };

/// A shard's quotas, with those that all clients have.
fn quotas(limits: &[(QuotaKind, f64)]) -> Quotas {
    Quotas::new(Arc::new(Ledger::new(WINDOWS)), WINDOWS, security(limits))
}

fn security(limits: &[(QuotaKind, f64)]) -> Arc<Security> {
    let everybody: QuotaEntity = vec![(CLIENT_ID.to_owned(), None)];
    let limits = limits.iter().map(|(kind, limit)| (kind.key().to_owned(), *limit)).collect();
    Arc::new(Security { quotas: [(everybody, limits)].into(), ..Security::default() })
}

/// A request of so many bytes, behind which its connection had so many milliseconds.
fn request(bytes: usize, spent: u64) -> Request {
    let session =
        Session::anonymous([127, 0, 0, 1].into(), Arc::from("PLAINTEXT"), SecurityProtocol::Plaintext);
    Request {
        id: RequestId { connection: ConnectionId { shard: ShardId(1), number: 1 }, sequence: 0 },
        frame: Bytes::from(vec![0; bytes]),
        session: Arc::new(session),
        spent: Duration::from_millis(spent),
    }
}

fn at(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

/// What a client is told that produces so many bytes.
fn produce(quotas: &mut Quotas, client: &str, bytes: usize, now: u64) -> Duration {
    let mut bill = quotas.bill(&request(bytes, 0), ApiKey::Produce, Some(client));
    Till { quotas, bill: bill.as_mut(), now: at(now) }.produced(true)
}

fn fetch(quotas: &mut Quotas, bytes: u64, spent: u64, now: u64) -> Duration {
    let mut bill = quotas.bill(&request(50, spent), ApiKey::Fetch, Some("c"));
    Till { quotas, bill: bill.as_mut(), now: at(now) }.fetched(|| bytes)
}

#[test]
fn a_client_without_quotas_has_no_bill() {
    let mut none = quotas(&[]);
    assert!(none.bill(&request(10, 0), ApiKey::Produce, None).is_none());
    none.set(&security(&[(QuotaKind::Produce, 1.0)]));
    assert!(none.bill(&request(10, 0), ApiKey::Produce, None).is_some());
}

#[test]
fn three_large_batches_at_once_wait_as_with_apache_kafka() {
    let mut quotas = quotas(&[(QuotaKind::Produce, 100_000.0)]);
    let told: Vec<_> = (0..3).map(|_| produce(&mut quotas, "c", 1_000_000, 5).as_millis()).collect();
    assert_eq!(told, [0, 10_000, 20_000]);
    assert_eq!(produce(&mut quotas, "another", 1_000_000, 5), Duration::ZERO);
}

#[test]
fn other_quotas_count_at_once_and_what_was_used_stays_used() {
    let mut quotas = quotas(&[(QuotaKind::Produce, 1e9)]);
    assert_eq!(produce(&mut quotas, "c", 1_000_000, 0), Duration::ZERO);
    quotas.set(&security(&[(QuotaKind::Produce, 50_000.0)]));
    assert_eq!(produce(&mut quotas, "c", 0, 0), Duration::from_secs(10));
}

#[test]
fn a_fetch_that_is_throttled_is_not_paid_for() {
    let mut quotas = quotas(&[(QuotaKind::Fetch, 100.0)]);
    assert_eq!(fetch(&mut quotas, 1000, 0, 0), Duration::ZERO);
    assert_eq!(fetch(&mut quotas, 100, 0, 0), Duration::from_secs(1));
    assert_eq!(fetch(&mut quotas, 100, 0, 1), Duration::from_millis(999));
    assert_eq!(fetch(&mut quotas, 100, 0, 12_000), Duration::ZERO);
}

#[test]
fn a_batch_that_is_larger_than_the_quota_is_read_and_then_waited_for() {
    let mut quotas = quotas(&[(QuotaKind::Fetch, 100.0)]);
    assert_eq!(fetch(&mut quotas, 5000, 0, 0), Duration::ZERO);
    assert_eq!(fetch(&mut quotas, 10, 0, 0), Duration::from_millis(40_100));
    assert_eq!(fetch(&mut quotas, 5000, 0, 11_000), Duration::ZERO);
}

#[test]
fn what_a_client_is_sent_at_once_is_within_its_quota() {
    let mut quotas = quotas(&[(QuotaKind::Fetch, 100.0)]);
    let bill = quotas.bill(&request(50, 0), ApiKey::Fetch, None);
    assert_eq!(quotas.most_fetched(bill.as_ref()), Some(1000));
    assert_eq!(quotas.most_fetched(None), None);
}

#[test]
fn time_throttles_for_a_window_at_most_and_empties_fetches() {
    let mut quotas = quotas(&[(QuotaKind::Request, 1.0), (QuotaKind::Fetch, 1e9)]);
    // 1 % of ten seconds.
    assert_eq!(fetch(&mut quotas, 10, 100, 0), Duration::ZERO);
    assert_eq!(fetch(&mut quotas, 10, 10, 0), Duration::from_secs(1));
    let spent = quotas.ledger.standings(10, at(0));
    assert_eq!(spent.iter().find(|one| one.kind == QuotaKind::Fetch).map(|one| one.rate), Some(1.0));
}

#[test]
fn markers_of_coordinators_take_no_time() {
    let mut quotas = quotas(&[(QuotaKind::Request, 1.0)]);
    for (api, throttled) in [(ApiKey::WriteTxnMarkers, false), (ApiKey::Metadata, true)] {
        let mut bill = quotas.bill(&request(50, 5000), api, None);
        let till = Till { quotas: &mut quotas, bill: bill.as_mut(), now: at(0) };
        let mut reply = frame();
        till.settle(&mut reply);
        assert_eq!(reply.throttle() > Duration::ZERO, throttled, "{api:?}");
    }
}

#[test]
fn a_producer_that_wants_no_answer_is_throttled_and_its_time_is_not_counted() {
    let mut quotas = quotas(&[(QuotaKind::Request, 1.0), (QuotaKind::Produce, 1.0)]);
    let mut bill = quotas.bill(&request(20, 5000), ApiKey::Produce, None);
    let mut till = Till { quotas: &mut quotas, bill: bill.as_mut(), now: at(0) };
    let throttle = till.produced(false);
    assert_eq!(throttle, Duration::from_secs(10));
    let mut reply = Reply::Nothing { throttle, waited: Waited::default() };
    till.settle(&mut reply);
    assert_eq!(reply.throttle(), Duration::from_secs(10));
    assert!(quotas.ledger.standings(10, at(0)).iter().all(|one| one.kind == QuotaKind::Produce));
}

#[test]
fn who_is_throttled_reads_it_in_its_place() {
    let mut quotas = quotas(&[(QuotaKind::Request, 10.0)]);
    let mut bill = quotas.bill(&request(50, 2000), ApiKey::Metadata, None);
    let mut reply = frame();
    let Reply::Frame { parts, .. } = &reply else { unreachable!() };
    // Pieces of one allocation, as in a response with records.
    let other = parts[0].clone();
    Till { quotas: &mut quotas, bill: bill.as_mut(), now: at(0) }.settle(&mut reply);
    let Reply::Frame { parts, throttle, .. } = &reply else { unreachable!() };
    assert_eq!(*throttle, Duration::from_secs(1));
    assert_eq!(parts[0][..], [0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 3, 232]);
    assert_eq!(other[8..], [0, 0, 0, 0]);
}

#[test]
fn permits_are_one_clients_over_all_its_requests() {
    let mut quotas = quotas(&[(QuotaKind::Mutation, 2.0)]);
    let mut take = |client: &str, partitions: usize, now: u64| {
        let mut bill = quotas.bill(&request(50, 0), ApiKey::CreateTopics, Some(client));
        let mut permits = quotas.permits(bill.as_ref(), true, at(now));
        let taken = permits.take(partitions);
        quotas.give_back(bill.as_mut(), &permits);
        (taken.is_ok(), bill.expect("it has a quota").throttle.as_secs())
    };
    assert_eq!(take("a", 30, 0), (true, 0));
    assert_eq!(take("a", 1, 0), (false, 4));
    assert_eq!(take("b", 1, 0), (true, 0));
    assert_eq!(take("a", 1, 5000), (true, 0));
}

/// A response with a throttle time behind its header.
fn frame() -> Reply {
    let mut bytes = BytesMut::new();
    bytes.put_slice(&[0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0]);
    Reply::Frame {
        parts: vec![bytes.freeze()],
        lent: 0,
        errors: ErrorTally::default(),
        throttle: Duration::ZERO,
        throttle_at: Some(8),
        waited: Waited::default(),
    }
}
