//! UpdateFeatures: levels that go up, those that are refused, and where voters are.

use super::*;

#[test]
fn feature_levels_go_where_nothing_is_lost() {
    let mut broker = Broker::new();
    let mut update = |feature: &str, level, kind, validate_only| {
        let key = m::update_features_request::FeatureUpdateKey {
            feature: feature.to_owned(),
            max_version_level: level,
            upgrade_type: kind,
            ..Default::default()
        };
        let request =
            m::UpdateFeaturesRequest { feature_updates: vec![key], validate_only, ..Default::default() };
        let planned =
            update_features::plan(&request, 2, &mut broker.controller, &Default::default(), &broker.config);
        encodes_in_all_versions::<m::UpdateFeaturesRequest, _>(|_| planned.response.clone());
        (code(planned.response.error_code), planned.response.error_message, planned.records.len())
    };
    let metadata = "metadata.version";
    let begin = "The update failed for all features since the following feature had an error: ";
    assert_eq!(update(metadata, 33, 1, false), (ErrorCode::None, None, 1));
    assert_eq!(update(metadata, 33, 1, true), (ErrorCode::None, None, 0));
    let (error, message, _) = update(metadata, 34, 1, false);
    assert_eq!(error, ErrorCode::InvalidUpdateVersion);
    let why = "Invalid update version 34 for feature metadata.version. Local controller 1 only supports versions 7-33";
    assert_eq!(message, Some(format!("{begin}{why}")));
    let (_, message, _) = update(metadata, 32, 2, false);
    let why = "Unsupported metadata.version downgrade from 33 to 32. Refusing to perform the requested downgrade because it might delete metadata information.";
    assert_eq!(message, Some(format!("{begin}{why}")));
    for (feature, level, kind) in [
        (metadata, 32, 1),
        (metadata, 32, 3),
        (metadata, 33, 0),
        (metadata, -1, 1),
        ("kraft.version", 0, 2),
        ("no.such.feature", 1, 1),
    ] {
        let (error, _, records) = update(feature, level, kind, false);
        assert_eq!((error, records), (ErrorCode::InvalidUpdateVersion, 0), "{feature} {level} {kind}");
    }
    assert_eq!(update("kraft.version", 1, 1, false), (ErrorCode::None, None, 0));
}

#[test]
fn voters_move_into_the_log_where_it_can_say_where_they_are() {
    let mut controller = Controller::new(MetadataImage::empty("cluster"));
    let node = Broker::node();
    drop(controller.activate(&node, Offset::ZERO, false, false));
    let config = Broker::new().config;
    drop(controller.say_min_in_sync(&config));
    let mut update = |voters: &m::VotersRecord, validate_only| {
        let key = m::update_features_request::FeatureUpdateKey {
            feature: "kraft.version".to_owned(),
            max_version_level: 1,
            upgrade_type: 1,
            ..Default::default()
        };
        let request =
            m::UpdateFeaturesRequest { feature_updates: vec![key], validate_only, ..Default::default() };
        let planned = update_features::plan(&request, 2, &mut controller, voters, &config);
        assert_eq!(planned.records, [], "the level is in no metadata record");
        (code(planned.response.error_code), controller.image().features.kraft_version())
    };
    let nowhere = Node { controller_endpoints: vec![], ..node.clone() }.voters();
    assert_eq!(update(&nowhere, false), (ErrorCode::InvalidUpdateVersion, 0));
    assert_eq!(update(&node.voters(), true), (ErrorCode::None, 0));
    assert_eq!(update(&node.voters(), false), (ErrorCode::None, 1));
    assert_eq!(update(&node.voters(), false), (ErrorCode::None, 1));
}

#[test]
fn an_answer_names_the_features_up_to_version_1() {
    let mut broker = Broker::new();
    let key = m::update_features_request::FeatureUpdateKey {
        feature: "metadata.version".to_owned(),
        max_version_level: 33,
        ..Default::default()
    };
    let request = m::UpdateFeaturesRequest { feature_updates: vec![key], ..Default::default() };
    let mut results = |version| {
        update_features::plan(&request, version, &mut broker.controller, &Default::default(), &broker.config)
            .response
            .results
            .len()
    };
    assert_eq!((results(0), results(1), results(2)), (1, 1, 0));
}
