//! `BrokerRegistrationChangeRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/BrokerRegistrationChangeRecord.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `BrokerRegistrationChangeRecord`: metadata, key 17, versions 0-3, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BrokerRegistrationChangeRecord {
    /// `BrokerId`: int32, versions 0+.
    pub broker_id: i32,
    /// `BrokerEpoch`: int64, versions 0+.
    pub broker_epoch: i64,
    /// `Fenced`: int8, versions 0+, tag 0 in 0+.
    pub fenced: i8,
    /// `InControlledShutdown`: int8, versions 1+, tag 1 in 1+.
    pub in_controlled_shutdown: i8,
    /// `LogDirs`: []uuid, versions 2+, tag 2 in 2+.
    pub log_dirs: Vec<Uuid>,
    /// `CordonedLogDirs`: []uuid, versions 3+, nullable in 3+, tag 3 in 3+, default null.
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

impl Message for BrokerRegistrationChangeRecord {
    const NAME: &'static str = "BrokerRegistrationChangeRecord";
    const API_KEY: Option<i16> = Some(17);
    const VERSIONS: VersionRange = VersionRange::new(0, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let broker_id = r.i32()?;
        let broker_epoch = r.i64()?;
        let mut fenced = 0;
        let mut in_controlled_shutdown = 0;
        let mut log_dirs = Vec::new();
        let mut cordoned_log_dirs = None;
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 => fenced = r.i8()?,
                1 if v >= 1 => in_controlled_shutdown = r.i8()?,
                2 if v >= 2 => log_dirs = r.array(true, Reader::uuid)?,
                3 if v == 3 => cordoned_log_dirs = r.nullable_array(true, Reader::uuid)?,
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(Self { broker_id, broker_epoch, fenced, in_controlled_shutdown, log_dirs, cordoned_log_dirs })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.broker_id);
        w.i64(self.broker_epoch);
        if v < 1 && self.in_controlled_shutdown != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "BrokerRegistrationChangeRecord",
                field: "InControlledShutdown",
                version: v,
            });
        }
        if v < 2 && !self.log_dirs.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "BrokerRegistrationChangeRecord",
                field: "LogDirs",
                version: v,
            });
        }
        if v < 3 && self.cordoned_log_dirs.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "BrokerRegistrationChangeRecord",
                field: "CordonedLogDirs",
                version: v,
            });
        }
        let mut tags = w.open_tags();
        if self.fenced != 0 {
            w.tagged(&mut tags, 0, |w| {
                w.i8(self.fenced);
                Ok(())
            })?;
        }
        if v >= 1 && self.in_controlled_shutdown != 0 {
            w.tagged(&mut tags, 1, |w| {
                w.i8(self.in_controlled_shutdown);
                Ok(())
            })?;
        }
        if v >= 2 && !self.log_dirs.is_empty() {
            w.tagged(&mut tags, 2, |w| {
                w.array(&self.log_dirs, true, |w, it| {
                    w.uuid(*it);
                    Ok(())
                })
            })?;
        }
        if v == 3 && self.cordoned_log_dirs.is_some() {
            w.tagged(&mut tags, 3, |w| {
                w.nullable_array(self.cordoned_log_dirs.as_deref(), true, |w, it| {
                    w.uuid(*it);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }
}
