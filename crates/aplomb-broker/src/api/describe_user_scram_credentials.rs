//! DescribeUserScramCredentials: which users have a password for SCRAM (`ScramImage`).

use std::collections::BTreeMap;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::describe_user_scram_credentials_request::DescribeUserScramCredentialsRequest;
use aplomb_protocol::messages::describe_user_scram_credentials_response::{
    CredentialInfo, DescribeUserScramCredentialsResponse, DescribeUserScramCredentialsResult,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::{Context, in_words};
use crate::controller::AdminError;
use crate::operation::{Api, Asked, Begun};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::DescribeUserScramCredentials, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    // There may be very many.
    if !asked.is_at_head() {
        return Ok(Begun::ForHead);
    }
    let request: DescribeUserScramCredentialsRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Describe, On::Cluster) {
        return asked.answer(&refused(&request, error));
    }
    asked.answer(&handle(&request, &Context::of(asked)))
}

/// As Apache Kafka does, which leaves out the names.
fn refused(
    request: &DescribeUserScramCredentialsRequest,
    error: ErrorCode,
) -> DescribeUserScramCredentialsResponse {
    let (error_code, error_message) = (error.to_wire(), Some(in_words(&AdminError::Denied(error))));
    let of_one = DescribeUserScramCredentialsResult {
        error_code,
        error_message: error_message.clone(),
        ..Default::default()
    };
    let results = vec![of_one; request.users.as_ref().map_or(0, Vec::len)];
    DescribeUserScramCredentialsResponse { error_code, error_message, results, ..Default::default() }
}

/// Answers. No names, or none at all, are all users.
#[must_use]
pub(super) fn handle(
    request: &DescribeUserScramCredentialsRequest,
    ctx: &Context<'_>,
) -> DescribeUserScramCredentialsResponse {
    if let Err(error) = ctx.access.check(AclOperation::Describe, On::Cluster) {
        let none = DescribeUserScramCredentialsResult { error_code: error.to_wire(), ..Default::default() };
        let results = vec![none; request.users.as_deref().map_or(0, <[_]>::len)];
        let error_message = Some(in_words(&AdminError::Denied(error)));
        let error_code = error.to_wire();
        return DescribeUserScramCredentialsResponse {
            error_code,
            error_message,
            results,
            ..Default::default()
        };
    }
    let scram = &ctx.image.security.scram;
    // Whether a name is there twice.
    let mut names: BTreeMap<&str, bool> = BTreeMap::new();
    match request.users.as_deref() {
        Some(users) if !users.is_empty() => {
            for user in users {
                names.entry(&user.name).and_modify(|twice| *twice = true).or_insert(false);
            }
        }
        _ => names.extend(scram.keys().map(|(name, _)| (name.as_str(), false))),
    }
    let refused = |user: &str, error: ErrorCode, why: String| DescribeUserScramCredentialsResult {
        user: user.to_owned(),
        error_code: error.to_wire(),
        error_message: Some(in_words(&why)),
        ..Default::default()
    };
    let results = names.into_iter().map(|(user, twice)| {
        if twice {
            let why = format!(
                "Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
            );
            return refused(user, ErrorCode::DuplicateResource, why);
        }
        let of_user = scram.range((user.to_owned(), i8::MIN)..=(user.to_owned(), i8::MAX));
        let credential_infos: Vec<CredentialInfo> = of_user
            .map(|(_, stored)| CredentialInfo { mechanism: stored.mechanism, iterations: stored.iterations })
            .collect();
        if credential_infos.is_empty() {
            let why = format!("Attempt to describe a user credential that does not exist: {user}");
            return refused(user, ErrorCode::ResourceNotFound, why);
        }
        DescribeUserScramCredentialsResult { user: user.to_owned(), credential_infos, ..Default::default() }
    });
    DescribeUserScramCredentialsResponse { results: results.collect(), ..Default::default() }
}
