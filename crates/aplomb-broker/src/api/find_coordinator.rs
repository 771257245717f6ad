//! FindCoordinator: which broker answers for a group or a transactional id. The topic that says so
//! is created when it is asked for the first time.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::find_coordinator_request::FindCoordinatorRequest;
use aplomb_protocol::messages::find_coordinator_response::{Coordinator, FindCoordinatorResponse};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::Context;
use super::coordinators::partition_for;
use crate::head::HeadMessage;
use crate::metadata::{OFFSETS_TOPIC, TRANSACTIONS_TOPIC};
use crate::operation::{Api, Asked, Begun};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::FindCoordinator, begin);

/// The first version that asks for several at once.
const SEVERAL: i16 = 4;

/// Of a group (`CoordinatorType`).
const GROUP: i8 = 0;
/// Of a transactional id. 2 is of a share group.
const TRANSACTION: i8 = 1;

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: FindCoordinatorRequest = asked.decode()?;
    let topic = match request.key_type {
        GROUP => Some(OFFSETS_TOPIC),
        TRANSACTION => Some(TRANSACTIONS_TOPIC),
        _ => None,
    };
    let ctx = Context::of(asked);
    let check = |key: &str| match request.key_type {
        GROUP => ctx.access.check(AclOperation::Describe, On::Group(key)),
        TRANSACTION => ctx.access.check(AclOperation::Describe, On::TransactionalId(key)),
        _ => ctx.access.check(AclOperation::ClusterAction, On::Cluster),
    };
    let keys = if asked.to.version < SEVERAL { vec![request.key] } else { request.coordinator_keys };
    let keys: Vec<_> = keys.into_iter().map(|key| (check(&key), key)).collect();
    let names_any = keys.iter().any(|(allowed, _)| allowed.is_ok());
    if let Some(topic) = topic
        && names_any
        && asked.view.image().topics.by_name(topic).is_none()
    {
        asked.to_head.push(HeadMessage::CreateTopics(vec![topic.to_owned()]));
    }
    let find = |(allowed, key): (Result<(), ErrorCode>, String)| {
        let topic = allowed
            .map_err(|error| (error, None))
            .and_then(|()| topic.ok_or_else(|| no_others(request.key_type)));
        let found = topic.and_then(|topic| find(topic, &key, &ctx));
        match found {
            Ok((node_id, host, port)) => {
                let error_message = Some(String::new());
                Coordinator { key, node_id, host, port, error_code: 0, error_message }
            }
            Err((error, message)) => Coordinator {
                key,
                node_id: -1,
                host: String::new(),
                port: -1,
                error_code: error.to_wire(),
                error_message: message,
            },
        }
    };
    let response = if asked.to.version >= SEVERAL {
        let coordinators = keys.into_iter().map(find).collect();
        FindCoordinatorResponse { coordinators, ..Default::default() }
    } else {
        let Coordinator { node_id, host, port, error_code, error_message, .. } =
            keys.into_iter().map(find).next().expect("there is one key");
        // Clients never saw another word for "no error" here.
        let error_message = if error_code == 0 { Some("NONE".to_owned()) } else { error_message };
        FindCoordinatorResponse { node_id, host, port, error_code, error_message, ..Default::default() }
    };
    asked.answer(&response)
}

type NotFound = (ErrorCode, Option<String>);

/// The broker that leads the partition of the topic, as the client reaches it.
fn find(topic: &str, name: &str, ctx: &Context<'_>) -> Result<(i32, String, i32), NotFound> {
    let none = (ErrorCode::CoordinatorNotAvailable, None);
    let key = partition_for(topic, name, ctx.image).ok_or(none.clone())?;
    let partition = ctx.image.topics.partition(key.topic, key.partition).ok_or(none.clone())?;
    let leader = partition.leader.and_then(|leader| ctx.image.brokers.get(leader));
    let leader = leader.filter(|leader| !leader.fenced).ok_or(none.clone())?;
    let endpoint = leader.endpoint(ctx.listener).ok_or(none)?;
    Ok((leader.id.0, endpoint.host.clone(), i32::from(endpoint.port)))
}

/// Share groups have no coordinators here. Clients give up at this code.
fn no_others(kind: i8) -> NotFound {
    let what = match kind {
        2 => "there are no share groups yet",
        _ => "unknown type of coordinator",
    };
    (ErrorCode::InvalidRequest, Some(what.to_owned()))
}
