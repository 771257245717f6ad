//! Quotas: changed, and told.

use aplomb_protocol::messages::alter_client_quotas_request::{
    AlterClientQuotasRequest, EntityData, EntryData, OpData,
};
use aplomb_protocol::messages::describe_client_quotas_request::{ComponentData, DescribeClientQuotasRequest};

use super::super::{alter_client_quotas, describe_client_quotas};
use super::*;

type Parts<'a> = &'a [(&'a str, Option<&'a str>)];
type Filter<'a> = &'a [(&'a str, i8, Option<&'a str>)];
type Ops<'a> = &'a [(&'a str, Option<f64>)];

/// The error codes and sentences of the entities.
fn alter(broker: &mut Broker, entries: &[(Parts<'_>, Ops<'_>)]) -> Vec<(i16, String)> {
    let entries = entries.iter().map(|(entity, ops)| EntryData {
        entity: entity
            .iter()
            .map(|(kind, name)| EntityData {
                entity_type: (*kind).to_owned(),
                entity_name: name.map(str::to_owned),
            })
            .collect(),
        ops: ops
            .iter()
            .map(|(key, value)| OpData {
                key: (*key).to_owned(),
                value: value.unwrap_or(0.0),
                remove: value.is_none(),
            })
            .collect(),
    });
    let request = AlterClientQuotasRequest { entries: entries.collect(), validate_only: false };
    let planned = alter_client_quotas::plan(&request, &mut broker.controller);
    let told = |entry: m::alter_client_quotas_response::EntryData| {
        (entry.error_code, entry.error_message.unwrap_or_default())
    };
    planned.response.entries.into_iter().map(told).collect()
}

/// What a filter of (type, how, name) finds: entities and their quotas, or the error.
fn describe(broker: &Broker, filter: Filter<'_>, strict: bool) -> Result<Vec<String>, i16> {
    let components = filter.iter().map(|(kind, how, name)| ComponentData {
        entity_type: (*kind).to_owned(),
        match_type: *how,
        r#match: name.map(str::to_owned),
    });
    let request = DescribeClientQuotasRequest { components: components.collect(), strict };
    let image = broker.controller.image();
    let context = Context { image, config: &broker.config, listener: "PLAINTEXT", access: Access::open() };
    let response = describe_client_quotas::handle(&request, &context);
    if response.error_code != 0 {
        assert_eq!(response.entries, None);
        return Err(response.error_code);
    }
    let entry = |entry: m::describe_client_quotas_response::EntryData| {
        let name = |part: &m::describe_client_quotas_response::EntityData| {
            format!("{}={}", part.entity_type, part.entity_name.as_deref().unwrap_or("*"))
        };
        let entity: Vec<_> = entry.entity.iter().map(name).collect();
        let values: Vec<_> = entry.values.iter().map(|one| format!("{}={}", one.key, one.value)).collect();
        format!("{} {}", entity.join(","), values.join(","))
    };
    Ok(response.entries.expect("no error").into_iter().map(entry).collect())
}

#[test]
fn quotas_are_set_changed_and_taken_away() {
    let mut broker = Broker::new();
    let alice: Parts<'_> = &[("user", Some("alice")), ("client-id", None)];
    let told = alter(
        &mut broker,
        &[(alice, &[("producer_byte_rate", Some(1024.0)), ("request_percentage", Some(2.5))])],
    );
    assert_eq!(told, [(0, String::new())]);
    let all = describe(&broker, &[], false).unwrap();
    assert_eq!(all, ["client-id=*,user=alice producer_byte_rate=1024,request_percentage=2.5"]);
    alter(&mut broker, &[(alice, &[("request_percentage", None), ("producer_byte_rate", Some(9.0))])]);
    assert_eq!(describe(&broker, &[], false).unwrap(), ["client-id=*,user=alice producer_byte_rate=9"]);
    alter(&mut broker, &[(alice, &[("producer_byte_rate", None), ("consumer_byte_rate", None)])]);
    assert_eq!(describe(&broker, &[], false).unwrap(), [""; 0]);
}

#[test]
fn what_cannot_be_is_refused_in_apache_kafkas_words() {
    let mut broker = Broker::new();
    let ok: Ops<'_> = &[("producer_byte_rate", Some(1.0))];
    for (entity, ops, why) in [
        (&[] as Parts<'_>, ok, "Invalid empty client quota entity"),
        (&[("group", Some("g"))], ok, "Unhandled client quota entity type: group"),
        (&[("user", Some(""))], ok, "Empty user not supported"),
        (
            &[("user", None), ("ip", None)],
            ok,
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (&[("ip", Some("nowhere"))], ok, "nowhere is not a valid IP or resolvable host."),
        (&[("ip", None)], ok, "Invalid configuration key producer_byte_rate"),
        (
            &[("user", None)],
            &[("request_percentage", Some(f64::NAN))],
            "Quota request_percentage must be a finite number",
        ),
        (
            &[("user", None)],
            &[("producer_byte_rate", Some(0.0))],
            "Quota producer_byte_rate must be greater than 0",
        ),
        (
            &[("user", None)],
            &[("producer_byte_rate", Some(1.5))],
            "producer_byte_rate cannot be a fractional value.",
        ),
        (
            &[("user", None)],
            &[("producer_byte_rate", Some(1e19))],
            "Proposed value for producer_byte_rate is too large for a LONG.",
        ),
        (
            &[("ip", None)],
            &[("connection_creation_rate", Some(1e10))],
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        (
            &[("user", None)],
            &[("producer_byte_rate", Some(1.0)), ("producer_byte_rate", Some(2.0))],
            "Ignoring duplicate entity ClientQuotaEntity(entries={user=null})",
        ),
    ] {
        assert_eq!(alter(&mut broker, &[(entity, ops)]), [(42, why.to_owned())]);
    }
    assert_eq!(describe(&broker, &[], false).unwrap(), [""; 0]);
}

#[test]
fn an_entity_that_is_there_twice_is_answered_once_and_its_first_quotas_count() {
    let mut broker = Broker::new();
    let ip: Parts<'_> = &[("ip", Some("10.0.0.1"))];
    let told = alter(
        &mut broker,
        &[(ip, &[("connection_creation_rate", Some(1.0))]), (ip, &[("connection_creation_rate", Some(2.0))])],
    );
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].0, 42);
    assert_eq!(describe(&broker, &[], false).unwrap(), ["ip=10.0.0.1 connection_creation_rate=1"]);
}

#[test]
fn a_filter_names_types_by_name_by_default_or_at_all() {
    let mut broker = Broker::new();
    let entities: [Parts<'_>; 4] = [
        &[("user", Some("a"))],
        &[("user", None)],
        &[("user", Some("a")), ("client-id", Some("c"))],
        &[("client-id", Some("c"))],
    ];
    for entity in entities {
        alter(&mut broker, &[(entity, &[("producer_byte_rate", Some(1.0))])]);
    }
    let found = |filter: Filter<'_>, strict| describe(&broker, filter, strict).unwrap().len();
    assert_eq!((found(&[], false), found(&[], true)), (4, 0));
    assert_eq!(found(&[("user", 0, Some("a"))], false), 2);
    assert_eq!(found(&[("user", 0, Some("a"))], true), 1);
    assert_eq!(found(&[("user", 1, None)], true), 1);
    assert_eq!(found(&[("user", 2, None)], true), 2);
    assert_eq!(found(&[("user", 2, None), ("client-id", 2, None)], true), 1);
    let refused: [(Filter<'_>, i16); 8] = [
        (&[("", 0, Some("a"))], 42),
        (&[("group", 0, Some("a"))], 35),
        (&[("user", 0, None)], 42),
        (&[("user", 1, Some("a"))], 42),
        (&[("user", 2, Some("a"))], 42),
        (&[("user", 3, None)], 42),
        (&[("user", 2, None), ("user", 1, None)], 42),
        (&[("user", 2, None), ("ip", 2, None)], 42),
    ];
    for (filter, error) in refused {
        assert_eq!(describe(&broker, filter, false), Err(error), "{filter:?}");
    }
}
