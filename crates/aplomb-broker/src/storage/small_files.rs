//! Small files that say something about a directory.

use aplomb_disk_api::{FileName, SmallFile};
use aplomb_log::layout::{PARTITION_METADATA, top_level};
use aplomb_log::state_files::{CleanShutdown, PartitionMetadata};
use aplomb_model::Uuid;

/// The file that says whose a directory is.
pub(crate) fn partition_metadata(directory: &str, topic: Uuid) -> SmallFile {
    SmallFile {
        name: FileName::new(format!("{directory}/{PARTITION_METADATA}")),
        content: PartitionMetadata { topic_id: topic }.encode().into(),
    }
}

/// The file that says that a directory was closed cleanly, by this epoch of the broker.
pub(super) fn clean_shutdown_marker(broker_epoch: i64) -> SmallFile {
    SmallFile {
        name: FileName::new(top_level::CLEAN_SHUTDOWN),
        content: CleanShutdown::encode(broker_epoch).into(),
    }
}
