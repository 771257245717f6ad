//! AlterUserScramCredentials: passwords for SCRAM, which come salted and hashed.

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
        return asked.answer(&refused(&request, error, Some(&in_words(&AdminError::Denied(error)))));
    }
    let planned = asked.head().plan(|controller, _| plan(&request, controller));
    asked.decide(Vec::new(), planned, PATIENCE, move |error| refused(&request, error, None))
}

/// An error for each user, once.
fn refused(
    request: &AlterUserScramCredentialsRequest,
    error: ErrorCode,
    why: Option<&str>,
) -> AlterUserScramCredentialsResponse {
    let deleted = request.deletions.iter().map(|deletion| deletion.name.as_str());
    let users = deleted.chain(request.upsertions.iter().map(|upsertion| upsertion.name.as_str()));
    let users: BTreeSet<&str> = users.collect();
    let results = users.into_iter().map(|user| AlterUserScramCredentialsResult {
        user: user.to_owned(),
        error_code: error.to_wire(),
        error_message: why.map(str::to_owned),
    });
    AlterUserScramCredentialsResponse { results: results.collect(), ..Default::default() }
}

/// All changes of the request as one decision. A user that is there twice is refused as such,
/// unless what is asked of it first cannot be.
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
    for (name, change) in deletions.chain(upsertions) {
        let known = changes.entry(name);
        known
            .and_modify(|known| {
                if known.is_ok() {
                    *known = Err(AdminError::ScramTwice);
                }
            })
            .or_insert_with(|| draft.scram_change(name, change));
    }
    let results = changes.into_iter().map(|(user, change)| {
        let result = change.and_then(|change| draft.alter_scram(change));
        let (error_code, why) = code_and_message(&result);
        // For what it did not foresee Apache Kafka has no words (`ApiError#fromThrowable`).
        let error_message = why.filter(|_| error_code != ErrorCode::UnknownServerError.to_wire());
        AlterUserScramCredentialsResult { user: user.to_owned(), error_code, error_message }
    });
    let results = results.collect();
    let response = AlterUserScramCredentialsResponse { results, ..Default::default() };
    Planned { response, records: controller.take(draft) }
}
