//! UpdateFeatures: the levels of the cluster's features, all of them or none.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::VotersRecord;
use aplomb_protocol::messages::update_features_request::UpdateFeaturesRequest;
use aplomb_protocol::messages::update_features_response::{UpdatableFeatureResult, UpdateFeaturesResponse};

use super::On;
use super::context::in_words;
use crate::config::BrokerConfig;
use crate::controller::Planned;
use crate::controller::{AdminError, Controller, FeatureUpdate, UpgradeType};
use crate::metadata::Entry;
use crate::operation::{Api, Asked, Begun, patience};
use crate::security::AclOperation;
use aplomb_protocol::{ApiKey, DecodeError};

/// The last version whose answer names each feature.
const WITH_RESULTS: i16 = 1;

pub(super) const API: Api = Api::of_controller(ApiKey::UpdateFeatures, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: UpdateFeaturesRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Alter, On::Cluster) {
        let message = Some(in_words(&AdminError::Denied(error)));
        return asked.answer(&refused(error, message));
    }
    let (version, config) = (asked.to.version, asked.view.config());
    let head = asked.head();
    let (before, voters) = (head.controller().image().features.kraft_version(), head.voters().clone());
    let planned = head.plan(|controller, _| plan(&request, version, controller, &voters, config));
    let level = head.controller().image().features.kraft_version();
    let control = match level == before {
        true => Vec::new(),
        false => vec![Entry::KraftVersion(level), Entry::Voters(voters)],
    };
    asked.decide(control, planned, patience(request.timeout_ms), |error| refused(error, Some(String::new())))
}

fn refused(error: ErrorCode, error_message: Option<String>) -> UpdateFeaturesResponse {
    UpdateFeaturesResponse { error_code: error.to_wire(), error_message, ..Default::default() }
}

/// Plans. `voters` is who votes, for when the log is to say it: a new level of `kraft.version` is
/// in no record of the plan. It shows in the controller's image, and goes into the log as control
/// records.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &UpdateFeaturesRequest,
    version: i16,
    controller: &mut Controller,
    voters: &VotersRecord,
    config: &BrokerConfig,
) -> Planned<UpdateFeaturesResponse> {
    let updates: Vec<FeatureUpdate> = request
        .feature_updates
        .iter()
        .map(|update| FeatureUpdate {
            feature: update.feature.clone(),
            level: update.max_version_level,
            kind: UpgradeType::from_wire(update.upgrade_type),
        })
        .collect();
    let mut draft = controller.draft();
    if let Err(error) = draft.update_features(&updates, voters, config) {
        let response = UpdateFeaturesResponse {
            error_code: ErrorCode::from(&error).to_wire(),
            error_message: Some(in_words(&format!(
                "The update failed for all features since the following feature had an error: {error}"
            ))),
            ..Default::default()
        };
        return Planned { response, records: Vec::new() };
    }
    let result = |update: FeatureUpdate| UpdatableFeatureResult {
        feature: update.feature,
        error_message: None,
        ..Default::default()
    };
    let results =
        if version <= WITH_RESULTS { updates.into_iter().map(result).collect() } else { Vec::new() };
    let records = if request.validate_only { Vec::new() } else { controller.take(draft) };
    Planned {
        response: UpdateFeaturesResponse { error_message: None, results, ..Default::default() },
        records,
    }
}
