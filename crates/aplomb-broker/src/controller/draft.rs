//! A decision in the making: records, and the image as it will be once they are in the log.

use aplomb_protocol::MetadataRecord;

use super::MAX_RECORDS;
use super::error::AdminError;
use super::placement::Placer;
use crate::metadata::{Delta, MetadataImage};

/// Records that are not yet decided on.
#[derive(Clone, Debug)]
pub struct Draft {
    image: MetadataImage,
    records: Vec<MetadataRecord>,
    /// Counting replicas takes a look at all of them: once for all topics of a request.
    placer: Option<Placer>,
}

impl Draft {
    pub(super) const fn new(image: MetadataImage) -> Self {
        Self { image, records: Vec::new(), placer: None }
    }

    /// The image, and who hands out brokers and directories in it.
    pub(super) fn placer(&mut self) -> (&MetadataImage, &mut Placer) {
        let placer = self.placer.get_or_insert_with(|| Placer::new(&self.image));
        (&self.image, placer)
    }

    /// The image with this draft's records applied.
    #[must_use]
    pub const fn image(&self) -> &MetadataImage {
        &self.image
    }

    /// The records so far.
    #[must_use]
    pub fn records(&self) -> &[MetadataRecord] {
        &self.records
    }

    /// Adds records, all of them or none.
    ///
    /// # Panics
    /// If one does not fit the image: the controller drafts only what it has checked.
    pub(super) fn push(&mut self, records: Vec<MetadataRecord>) {
        let mut ignored = Delta::default();
        for record in records {
            if let Err(error) = self.image.apply(&record, &mut ignored) {
                panic!("the controller drafted a record that does not fit: {error}");
            }
            self.records.push(record);
        }
    }

    /// Drafts a level of `kraft.version`, which is no metadata record.
    pub(super) fn set_kraft_version(&mut self, level: i16) {
        std::sync::Arc::make_mut(&mut self.image.features).set_kraft_version(level);
    }

    /// Whether so many more records are too many for one request.
    pub(super) fn check_room(&self, more: usize) -> Result<(), AdminError> {
        if self.records.len() + more > MAX_RECORDS { Err(AdminError::TooManyRecords) } else { Ok(()) }
    }

    pub(super) fn into_parts(self) -> (MetadataImage, Vec<MetadataRecord>) {
        (self.image, self.records)
    }
}
