//! From records to images: a log or a snapshot goes in, an image and what changed come out. Records
//! of a metadata transaction are held back until it ends, and forgotten if it is aborted.

use aplomb_model::{LeaderEpoch, Offset};
use aplomb_protocol::MetadataRecord;

use super::apply::ApplyError;
use super::delta::Delta;
use super::image::{MetadataImage, Provenance};
use super::log::Entry;

/// Applies a metadata log in order.
#[derive(Clone, Debug)]
pub struct Replay {
    image: MetadataImage,
    delta: Delta,
    /// What the open transaction has said so far.
    transaction: Option<Vec<MetadataRecord>>,
}

impl Replay {
    /// Goes on from an image.
    #[must_use]
    pub fn from_image(image: MetadataImage) -> Self {
        Self { image, delta: Delta::default(), transaction: None }
    }

    /// The image so far, without what an open transaction has said.
    #[must_use]
    pub const fn image(&self) -> &MetadataImage {
        &self.image
    }

    /// Whether a metadata transaction is open: at the end of a log of ours that is one that will
    /// never end, and a leader aborts it.
    #[must_use]
    pub const fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// What changed since this was last asked.
    pub fn take_delta(&mut self) -> Delta {
        std::mem::take(&mut self.delta)
    }

    /// Ends the replay.
    #[must_use]
    pub fn into_image(self) -> MetadataImage {
        self.image
    }

    /// Applies what one batch of the log says. `end` is the offset after it.
    ///
    /// # Errors
    /// When a record does not fit.
    pub fn apply_batch(
        &mut self,
        entries: &[Entry],
        end: Offset,
        epoch: LeaderEpoch,
    ) -> Result<(), ApplyError> {
        for entry in entries {
            match entry {
                Entry::Record(record) => self.apply(record)?,
                Entry::KraftVersion(level) => {
                    std::sync::Arc::make_mut(&mut self.image.features).set_kraft_version(*level);
                    self.delta.features = true;
                }
                Entry::LeaderChange(_)
                | Entry::Voters(_)
                | Entry::SnapshotHeader(_)
                | Entry::SnapshotFooter
                | Entry::UnknownControl(_) => {}
            }
        }
        self.image.provenance = Provenance { end, epoch };
        Ok(())
    }

    /// Applies one record.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn apply(&mut self, record: &MetadataRecord) -> Result<(), ApplyError> {
        match (record, &mut self.transaction) {
            (MetadataRecord::BeginTransaction(_), Some(_)) => Err(ApplyError::NestedTransaction),
            (MetadataRecord::BeginTransaction(_), open @ None) => {
                *open = Some(Vec::new());
                Ok(())
            }
            (MetadataRecord::EndTransaction(_), open) => {
                let records = open.take().ok_or(ApplyError::NoTransaction("EndTransactionRecord"))?;
                records.iter().try_for_each(|record| self.image.apply(record, &mut self.delta))
            }
            (MetadataRecord::AbortTransaction(_), open) => {
                open.take().map(drop).ok_or(ApplyError::NoTransaction("AbortTransactionRecord"))
            }
            (record, Some(held_back)) => {
                held_back.push(record.clone());
                Ok(())
            }
            (record, None) => self.image.apply(record, &mut self.delta),
        }
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::Uuid;
    use aplomb_protocol::messages as m;

    use super::*;

    fn topic(name: &str, id: u128) -> MetadataRecord {
        m::TopicRecord { name: name.to_owned(), topic_id: Uuid::from_u128(id) }.into()
    }

    fn replay(records: &[MetadataRecord]) -> Result<Replay, ApplyError> {
        let mut replay = Replay::from_image(MetadataImage::empty("c"));
        records.iter().try_for_each(|record| replay.apply(record))?;
        Ok(replay)
    }

    fn begin() -> MetadataRecord {
        m::BeginTransactionRecord::default().into()
    }

    #[test]
    fn a_transaction_is_seen_when_it_ends() {
        let mut seen = replay(&[begin(), topic("a", 200)]).expect("fits");
        assert!(seen.in_transaction() && seen.image().topics.is_empty());
        assert!(seen.take_delta().is_empty());
        seen.apply(&m::EndTransactionRecord::default().into()).expect("fits");
        assert!(seen.image().topics.by_name("a").is_some());
        assert!(seen.take_delta().topics[&Uuid::from_u128(200)].created);
    }

    #[test]
    fn an_aborted_transaction_never_was() {
        let aborted =
            [begin(), topic("a", 200), m::AbortTransactionRecord::default().into(), topic("b", 201)];
        let seen = replay(&aborted).expect("fits");
        assert!(seen.image().topics.by_name("a").is_none());
        assert!(seen.image().topics.by_name("b").is_some());
    }

    #[test]
    fn what_does_not_fit_is_an_error_that_names_it() {
        assert_eq!(replay(&[begin(), begin()]).err(), Some(ApplyError::NestedTransaction));
        let end: MetadataRecord = m::EndTransactionRecord::default().into();
        assert_eq!(replay(&[end]).err(), Some(ApplyError::NoTransaction("EndTransactionRecord")));
        assert!(matches!(replay(&[topic("a", 200), topic("a", 201)]), Err(ApplyError::TopicTaken { .. })));
        let gone = Uuid::from_u128(300);
        let remove = m::RemoveTopicRecord { topic_id: gone }.into();
        assert_eq!(
            replay(&[remove]).err(),
            Some(ApplyError::UnknownTopic { record: "RemoveTopicRecord", topic: gone })
        );
    }

    #[test]
    fn a_topic_that_came_and_went_is_no_change() {
        let id = Uuid::from_u128(200);
        let mut seen =
            replay(&[topic("a", 200), m::RemoveTopicRecord { topic_id: id }.into()]).expect("fits");
        assert!(seen.take_delta().is_empty());
        seen.apply(&topic("a", 201)).expect("fits");
        seen.take_delta();
        seen.apply(&m::RemoveTopicRecord { topic_id: Uuid::from_u128(201) }.into()).expect("fits");
        assert_eq!(seen.take_delta().deleted.len(), 1);
    }

    #[test]
    fn a_topics_settings_go_with_it() {
        let setting = m::ConfigRecord {
            resource_type: 2,
            resource_name: "a".to_owned(),
            name: "retention.ms".to_owned(),
            value: Some("1".to_owned()),
        };
        let mut seen = replay(&[topic("a", 200), setting.into()]).expect("fits");
        assert_eq!(seen.image().topic_overrides("a").len(), 1);
        seen.apply(&m::RemoveTopicRecord { topic_id: Uuid::from_u128(200) }.into()).expect("fits");
        assert_eq!(seen.image().topic_overrides("a").len(), 0);
    }
}
