//! Clients with quotas, on a broker of several shards.

use std::time::Duration;

use aplomb_protocol::messages as m;

use crate::support::{AsIs, Broker, Client, CreateTopic, Fetch, MS, Produce, SECOND, Setup};

const AS_MUCH: f64 = 10_000.0;

/// Gives a client id a quota, or takes it away.
fn quota(client: &Client, name: Option<&str>, key: &str, value: Option<f64>) {
    let entity = vec![m::alter_client_quotas_request::EntityData {
        entity_type: if key == "connection_creation_rate" { "ip" } else { "client-id" }.to_owned(),
        entity_name: name.map(str::to_owned),
    }];
    let op = m::alter_client_quotas_request::OpData {
        key: key.to_owned(),
        value: value.unwrap_or(0.0),
        remove: value.is_none(),
    };
    let entry = m::alter_client_quotas_request::EntryData { entity, ops: vec![op] };
    let request = m::AlterClientQuotasRequest { entries: vec![entry], validate_only: false };
    let told = client.ask(AsIs::<_, 1>(request));
    assert_eq!(told.entries.iter().map(|entry| entry.error_code).collect::<Vec<_>>(), [0]);
}

fn large() -> String {
    "x".repeat(60_000)
}

#[test]
fn a_client_has_one_quota_on_all_shards() {
    let broker = Broker::of(Setup { shards: 3, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(4));
    quota(&broker.client(), Some("greedy"), "producer_byte_rate", Some(AS_MUCH));
    let of_shard = |shard| broker.client_of_shard(shard).named("greedy");
    let produce = |client: &Client| client.send(Produce::to("orders", large().as_str())).wait_for_throttle();
    assert_eq!(produce(&of_shard(1)), Duration::ZERO);
    let throttle = produce(&of_shard(2));
    assert!((SECOND..3 * SECOND).contains(&throttle), "{throttle:?}");
    assert_eq!(produce(&broker.client_of_shard(1).named("modest")), Duration::ZERO);
    quota(&broker.client(), Some("greedy"), "producer_byte_rate", None);
    assert_eq!(produce(&of_shard(1)), Duration::ZERO);
}

#[test]
fn a_consumer_that_is_throttled_gets_nothing_and_then_everything() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has_topic("orders");
    for _ in 0..4 {
        broker.client().ask(Produce::to("orders", large().as_str()));
    }
    quota(&broker.client(), None, "consumer_byte_rate", Some(AS_MUCH));
    let reader = broker.client().named("reader");
    assert_eq!(reader.send(Fetch::from("orders", 0)).wait_for_throttle(), Duration::ZERO);
    let refused = reader.send(Fetch::from("orders", 1));
    let throttle = refused.wait_for_throttle();
    assert!(throttle > Duration::ZERO);
    assert_eq!(reader.ask(Fetch::from("orders", 1)).partitions.len(), 0, "too early");
    broker.advance(12 * SECOND);
    assert_eq!(reader.ask(Fetch::from("orders", 1)).offsets(), [1]);
}

#[test]
fn quotas_and_rates_are_what_they_were_after_a_kill() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has_topic("orders");
    quota(&broker.client(), Some("greedy"), "producer_byte_rate", Some(AS_MUCH));
    quota(&broker.client(), None, "connection_creation_rate", Some(7.0));
    assert_eq!(broker.connection_rates().default, Some(7.0));
    broker.kill();
    broker.restart();
    assert_eq!(broker.connection_rates().default, Some(7.0));
    let greedy = broker.client().named("greedy");
    greedy.ask(Produce::to("orders", large().as_str()));
    assert!(greedy.send(Produce::to("orders", large().as_str())).wait_for_throttle() > Duration::ZERO);
    broker.advance(100 * MS);
}
