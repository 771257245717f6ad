//! `ZkMigrationStateRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ZkMigrationStateRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ZkMigrationStateRecord`: metadata, key 21, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ZkMigrationStateRecord {
    /// `ZkMigrationState`: int8, versions 0+.
    pub zk_migration_state: i8,
}

impl Message for ZkMigrationStateRecord {
    const NAME: &'static str = "ZkMigrationStateRecord";
    const API_KEY: Option<i16> = Some(21);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let zk_migration_state = r.i8()?;
        r.skip_tags()?;
        Ok(Self { zk_migration_state })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i8(self.zk_migration_state);
        w.no_tags();
        Ok(())
    }
}
