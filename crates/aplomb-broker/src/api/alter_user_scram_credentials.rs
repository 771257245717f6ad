//! AlterUserScramCredentials: passwords for SCRAM, which come salted and hashed.

use std::collections::BTreeMap;

use aplomb_protocol::messages::alter_user_scram_credentials_request::AlterUserScramCredentialsRequest;
use aplomb_protocol::messages::alter_user_scram_credentials_response::{
    AlterUserScramCredentialsResponse, AlterUserScramCredentialsResult,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::context::code_and_message;
use crate::controller::{AdminError, Controller, Planned, ScramChange};
use crate::operation::{Api, Asked, Begun, PATIENCE};

pub(super) const API: Api = Api::of_controller(ApiKey::AlterUserScramCredentials, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: AlterUserScramCredentialsRequest = asked.decode()?;
    let planned = asked.head().plan(|controller, _| plan(&request, controller));
    asked.decide(Vec::new(), planned, PATIENCE, move |error| {
        let users = names(&request).map(|user| AlterUserScramCredentialsResult {
            user: user.to_owned(),
            error_code: error.to_wire(),
            error_message: None,
        });
        AlterUserScramCredentialsResponse { results: users.collect(), ..Default::default() }
    })
}

fn names(request: &AlterUserScramCredentialsRequest) -> impl Iterator<Item = &str> {
    let deleted = request.deletions.iter().map(|deletion| deletion.name.as_str());
    deleted.chain(request.upsertions.iter().map(|upsertion| upsertion.name.as_str()))
}

/// All changes of the request as one decision. A user that is there twice is refused.
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
    let mut changes: BTreeMap<&str, Option<ScramChange<'_>>> = BTreeMap::new();
    for (name, change) in deletions.chain(upsertions) {
        changes.entry(name).and_modify(|known| *known = None).or_insert(Some(change));
    }
    let mut draft = controller.draft();
    let results = changes.into_iter().map(|(user, change)| {
        let result = match change {
            Some(change) => draft.alter_scram(user, change),
            None => Err(AdminError::ScramTwice),
        };
        let (error_code, error_message) = code_and_message(&result);
        AlterUserScramCredentialsResult { user: user.to_owned(), error_code, error_message }
    });
    let results = results.collect();
    let response = AlterUserScramCredentialsResponse { results, ..Default::default() };
    Planned { response, records: controller.take(draft) }
}
