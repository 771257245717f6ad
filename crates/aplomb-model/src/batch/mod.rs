//! Record batches, version 2: what producers send, what the log holds, what consumers get.
//!
//! Bytes stay bytes. [`BatchHeader`] reads the 61 bytes in front of a batch, [`Batches`] walks the
//! batches of a log, [`RecordIter`] the records of one batch, and none of them copies a key or a
//! value. [`validate_produced`] is what a partition's leader does with a batch before it appends
//! it; [`BatchBuilder`] makes batches of our own. No length in the bytes is believed before it is
//! checked against the bytes that are there.
//!
//! Start with `header`; the layout is Apache Kafka's
//! (<https://kafka.apache.org/documentation/#recordbatch>).

mod batches;
mod builder;
mod checksum;
mod codec;
mod compression;
mod control;
mod error;
mod header;
mod records;
mod rejection;
mod skim;
mod validate;
mod validation;
mod varint;

pub use batches::{BatchView, Batches, ScanEnd, Stop};
pub use builder::BatchBuilder;
pub use checksum::{Crc32c, crc32c};
pub use codec::{Codec, Compression};
pub use compression::decompress;
pub use control::{ControlKind, EndTxnMarker};
pub use error::BatchError;
pub use header::{
    BatchHeader, HEADER_SIZE, ProducerStamp, TimestampType, stamp_base_offset, stamp_leader_epoch,
    stamp_producer, stamp_timestamps,
};
pub use records::{Header, HeaderIter, Headers, RecordIter, RecordRef};
pub use rejection::{ProduceRejection, RecordFault, RecordRejection};
pub use validate::{AppendBytes, CompressionRule, ProduceRules, Validated};
pub use validation::{Validation, validate_produced};
