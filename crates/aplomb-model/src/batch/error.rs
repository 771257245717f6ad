//! What can be wrong with the bytes of a record batch.
//!
//! One type for all readers of this room. Each variant says what was found; what a client is told
//! is decided in `validate`, and where a log is cut in `batches`.

/// Why bytes are not a record batch, or not one that can be read to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The bytes end before the batch does. A log's last batch looks like this after a crash.
    #[error("batch needs {needed} bytes, {available} are there")]
    Cut {
        /// Bytes that were asked for.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// The length field is smaller than any batch of its version.
    #[error("batch length field says {0}, which no batch has")]
    Length(i32),
    /// A batch of another version. Versions 0 and 1 may occur in old log files, and can be skipped.
    #[error("batch has magic {magic}, 2 was expected")]
    Magic {
        /// The byte that says which version it is.
        magic: i8,
        /// Size of the entry in bytes, by its length field, which all versions have in common.
        size: u64,
    },
    /// A field of the header holds a number that no writer puts there.
    #[error("batch header has {field} {value}")]
    Field {
        /// The field's name in Kafka's documentation.
        field: &'static str,
        /// The number that stands there.
        value: i64,
    },
    /// The bytes are not those that the checksum was computed over.
    #[error("batch has checksum {stored:#010x}, its bytes give {computed:#010x}")]
    Crc {
        /// The checksum that the header says.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// A codec number that stands for no codec.
    #[error("batch has unknown compression codec {0}")]
    UnknownCodec(u8),
    /// A record does not follow the format.
    #[error("record {index}: {what}")]
    Record {
        /// Which record of the batch, from 0.
        index: u32,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The compressed bytes are not what their codec writes.
    #[error("records cannot be decompressed with {codec}: {reason}")]
    Compressed {
        /// Which codec the batch claims.
        codec: &'static str,
        /// What the codec has to say.
        reason: String,
    },
    /// Decompressing would give more bytes than the caller is ready to hold or read.
    #[error("records take more than {limit} bytes when decompressed")]
    TooLarge {
        /// The caller's bound, in bytes.
        limit: u64,
    },
}
