//! UpdateFeatures: the levels of the cluster's features, all of them or none.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::VotersRecord;
use aplomb_protocol::messages::update_features_request::UpdateFeaturesRequest;
use aplomb_protocol::messages::update_features_response::{UpdatableFeatureResult, UpdateFeaturesResponse};

use super::context::Planned;
use crate::controller::{Controller, FeatureUpdate, UpgradeType};

/// The last version whose answer names each feature.
const WITH_RESULTS: i16 = 1;

/// Plans. `voters` is who votes, for when the log is to say it: a new level of `kraft.version` is in no record of the plan. It shows in the
/// controller's image, and goes into the log as control records.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &UpdateFeaturesRequest,
    version: i16,
    controller: &mut Controller,
    voters: &VotersRecord,
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
    if let Err(error) = draft.update_features(&updates, voters) {
        let response = UpdateFeaturesResponse {
            error_code: ErrorCode::from(&error).to_wire(),
            error_message: Some(format!(
                "The update failed for all features since the following feature had an error: {error}"
            )),
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
