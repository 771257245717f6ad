//! AlterUserScramCredentials: passwords for SCRAM, which come salted and hashed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::alter_user_scram_credentials_request::AlterUserScramCredentialsRequest;
use aplomb_protocol::messages::alter_user_scram_credentials_response::{
    AlterUserScramCredentialsResponse, AlterUserScramCredentialsResult,
};
use aplomb_protocol::{ApiKey, DecodeError, MetadataRecord};

use super::On;
use super::context::{code_and_message, in_words};
use crate::controller::{AdminError, Controller, Planned, ScramChange};
use crate::operation::{Api, Asked, Begun, PATIENCE};
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::AlterUserScramCredentials, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: AlterUserScramCredentialsRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Alter, On::Cluster) {
        return asked.answer(&refused(&request, error, Some(in_words(&AdminError::Denied(error)))));
    }
    let planned = asked.head().plan(|controller, _| plan(&request, controller));
    asked.decide(Vec::new(), planned, PATIENCE, move |error| refused(&request, error, None))
}

fn refused(
    request: &AlterUserScramCredentialsRequest,
    error: ErrorCode,
    error_message: Option<String>,
) -> AlterUserScramCredentialsResponse {
    let deleted = request.deletions.iter().map(|deletion| deletion.name.as_str());
    let named = deleted.chain(request.upsertions.iter().map(|upsertion| upsertion.name.as_str()));
    let users: BTreeSet<&str> = named.collect();
    let results = users.into_iter().map(|user| AlterUserScramCredentialsResult {
        user: user.to_owned(),
        error_code: error.to_wire(),
        error_message: error_message.clone(),
    });
    AlterUserScramCredentialsResponse { results: results.collect(), ..Default::default() }
}

/// All changes of the request as one decision. A user that is there twice is refused, unless for
/// what was said first.
#[must_use = "the records have to be written"]
pub(super) fn plan(
    request: &AlterUserScramCredentialsRequest,
    controller: &mut Controller,
) -> Planned<AlterUserScramCredentialsResponse> {
    let deletions = request
        .deletions
        .iter()
        .map(|deletion| (deletion.name.as_str(), ScramChange::Delete { mechanism: deletion.mechanism }));
    let upsertions = request.upsertions.iter().map(|upsertion| {
        let change = ScramChange::Set {
            mechanism: upsertion.mechanism,
            iterations: upsertion.iterations,
            salt: &upsertion.salt,
            salted_password: &upsertion.salted_password,
        };
        (upsertion.name.as_str(), change)
    });
    let mut draft = controller.draft();
    let mut changes: BTreeMap<&str, Result<MetadataRecord, AdminError>> = BTreeMap::new();
    for (user, change) in deletions.chain(upsertions) {
        match changes.entry(user) {
            Entry::Vacant(first) => {
                first.insert(draft.scram_record(user, change));
            }
            Entry::Occupied(known) if known.get().is_err() => {}
            Entry::Occupied(mut known) => *known.get_mut() = Err(AdminError::ScramTwice),
        }
    }
    let results = changes.into_iter().map(|(user, change)| {
        let result = change.and_then(|record| draft.alter_scram(record));
        let (error_code, error_message) = code_and_message(&result);
        AlterUserScramCredentialsResult { user: user.to_owned(), error_code, error_message }
    });
    let results = results.collect();
    let response = AlterUserScramCredentialsResponse { results, ..Default::default() };
    Planned { response, records: controller.take(draft) }
}
