//! Changing the levels of features (`FeatureControlManager`).

use std::collections::BTreeMap;

use aplomb_protocol::messages as m;

use super::activation::claimed_features;
use super::draft::Draft;
use super::error::AdminError;
use crate::config::BrokerConfig;
use crate::metadata::{FeatureRange, KRAFT_VERSION, METADATA_VERSION, MetadataVersion};

/// What a change of a level may do (`FeatureUpdate.UpgradeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeType {
    /// Only upwards.
    Upgrade,
    /// Downwards, if nothing is lost.
    SafeDowngrade,
    /// Downwards, whatever is lost.
    UnsafeDowngrade,
}

impl UpgradeType {
    /// The type with this number; `None` for one that is unknown.
    #[must_use]
    pub const fn from_wire(raw: i8) -> Option<Self> {
        Some(match raw {
            1 => Self::Upgrade,
            2 => Self::SafeDowngrade,
            3 => Self::UnsafeDowngrade,
            _ => return None,
        })
    }
}

/// One level of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureUpdate {
    /// Which feature gets it.
    pub feature: String,
    /// Its level from now on; 0 turns it off.
    pub level: i16,
    /// What the caller is prepared for.
    pub kind: Option<UpgradeType>,
}

impl Draft {
    /// Drafts new levels of features. One that is named twice gets the last of its levels. What
    /// eligible leaders want said is said as `config` has it. With level 1 of `kraft.version` the
    /// log is to say who votes, which is `voters`.
    ///
    /// # Errors
    /// For the first of them that cannot be; the draft is as before then.
    pub fn update_features(
        &mut self,
        updates: &[FeatureUpdate],
        voters: &m::VotersRecord,
        config: &BrokerConfig,
    ) -> Result<(), AdminError> {
        let latest: BTreeMap<&str, &FeatureUpdate> =
            updates.iter().map(|update| (update.feature.as_str(), update)).collect();
        self.check_room(latest.len())?;
        let mut records = Vec::new();
        let mut kraft_version = None;
        for update in latest.values() {
            self.check_level(update, voters)?;
            if update.feature == KRAFT_VERSION {
                kraft_version = Some(update.level);
            } else {
                let (name, feature_level) = (update.feature.clone(), update.level);
                records.push(m::FeatureLevelRecord { name, feature_level }.into());
            }
        }
        self.push(records);
        self.say_min_in_sync(config);
        if let Some(level) = kraft_version {
            self.set_kraft_version(level);
        }
        Ok(())
    }

    /// Whether a level can be had.
    fn check_level(&self, update: &FeatureUpdate, voters: &m::VotersRecord) -> Result<(), AdminError> {
        let FeatureUpdate { feature, level, kind } = update;
        let refuse =
            |why: String| Err(AdminError::FeatureLevel { feature: feature.clone(), level: *level, why });
        let Some(kind) = *kind else {
            return refuse("The controller does not support the given upgrade type.".to_owned());
        };
        if *level < 0 {
            return refuse("A feature version cannot be less than 0.".to_owned());
        }
        let features = &self.image().features;
        let current = features.level(feature);
        let node = self.image().brokers.iter().next().map_or(0, |broker| broker.id.0);
        match claimed_features(features).get(feature) {
            None => return refuse(format!("Local controller {node} does not support this feature.")),
            Some(FeatureRange { min, max }) if !(*min..=*max).contains(level) => {
                return refuse(format!("Local controller {node} only supports versions {min}-{max}"));
            }
            Some(_) => {}
        }
        if *level < current && kind == UpgradeType::Upgrade {
            let why = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.";
            return refuse(why.to_owned());
        }
        if *level > current && kind != UpgradeType::Upgrade {
            return refuse("Can't downgrade to a newer version.".to_owned());
        }
        if feature == KRAFT_VERSION && *level < current {
            return refuse("Can't downgrade the version of this feature.".to_owned());
        }
        let has_addresses = || voters.voters.iter().all(|voter| !voter.endpoints.is_empty());
        if feature == KRAFT_VERSION && *level > current && !has_addresses() {
            // Apache Kafka could not go on from such a log: it looks for its own address there.
            let why = "The log is to say where the voters are, and this one has no listener for it: set controller.listener.names.";
            return refuse(why.to_owned());
        }
        if feature == METADATA_VERSION {
            check_metadata_version(current, *level, kind)?;
        }
        Ok(())
    }
}

/// A lower level must be able to express everything that there may be.
fn check_metadata_version(from: i16, to: i16, kind: UpgradeType) -> Result<(), AdminError> {
    if to >= from || !MetadataVersion(from).has_more_records_than(MetadataVersion(to)) {
        return Ok(());
    }
    let why = if kind == UpgradeType::UnsafeDowngrade {
        "Unsafe metadata downgrade is not supported in this version."
    } else {
        "Refusing to perform the requested downgrade because it might delete metadata information."
    };
    Err(AdminError::MetadataDowngrade { from, to, why })
}
