//! What can be wrong with a recording, and where.

/// Where a chunk lies in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkPlace {
    /// Its number, counted from 1.
    pub number: u32,
    /// Bytes of the file before it.
    pub offset: u64,
}

/// A place of a file that could not be read, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chunk {chunk}, byte {offset} of the file: {flaw}")]
pub struct JfrFault {
    /// The chunk's number, counted from 1.
    pub chunk: u32,
    /// Bytes of the file before the place.
    pub offset: u64,
    /// What is wrong there.
    pub flaw: JfrFlaw,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JfrFlaw {
    /// The system could not read it.
    #[error("it cannot be read: {0}")]
    Io(std::io::ErrorKind),
    /// The four letters of a chunk are missing.
    #[error("no chunk begins here")]
    NotAChunk,
    /// Another version of the format.
    #[error("version {0}.{1} of the format is not known")]
    Version(u16, u16),
    /// No JVM has ever written this.
    #[error("the chunk's integers are not compressed")]
    NotCompressed,
    /// More than is read into memory at a time.
    #[error("the chunk has {size} bytes, more than the {limit} that are read at a time")]
    TooLarge {
        /// Bytes of the chunk.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The chunk's end was never written, or the file was cut.
    #[error("the chunk is not finished: its header speaks of {said} bytes, {found} are there")]
    Unfinished {
        /// Bytes, by the header.
        said: i64,
        /// Bytes that the file has of it.
        found: u64,
    },
    /// A running JVM wrote it.
    #[error("a running JVM was writing the chunk: what came after its last flush is left out")]
    Live,
    /// A running JVM rewrote the header while it was copied.
    #[error("the chunk's header was being rewritten: copy it and read it again")]
    Rewriting,
    /// A value goes on where the bytes have ended.
    #[error("bytes end in the middle of a value")]
    Truncated,
    /// An event's size that cannot be.
    #[error("an event of {0} bytes: where the next one begins cannot be told")]
    EventSize(i64),
    /// A length that cannot be.
    #[error("a length of {length}, where {left} bytes are left")]
    Length {
        /// What the file says.
        length: i64,
        /// Bytes until the end.
        left: u64,
    },
    /// An event, constant or field of a type that is not described.
    #[error("the metadata describes no type {0}")]
    UnknownType(i64),
    /// Values in values, without an end.
    #[error("values are nested too deep")]
    Nested,
    /// A file that makes its readers work for ever.
    #[error("it takes more work than its size warrants")]
    Work,
    /// Without metadata nothing of a chunk can be read.
    #[error("the chunk has no metadata: its events cannot be read")]
    NoMetadata,
    /// The metadata is not what it should be.
    #[error("the metadata is broken: {0}")]
    Metadata(&'static str),
    /// Nothing in the chunk says what its numbers stand for.
    #[error("the chunk has no constants: names, stacks and paths are missing")]
    NoConstants,
    /// A list of constants does not lead to the one before it.
    #[error("the chain of constants is broken here")]
    Chain,
    /// More than is kept in memory.
    #[error("the chunk has more than {0} constants: the others are left out")]
    TooManyConstants(u64),
    /// A text in a way of writing that is not known.
    #[error("a text has the unknown encoding {0}")]
    TextEncoding(u8),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_its_place() {
        let fault = JfrFault { chunk: 2, offset: 1234, flaw: JfrFlaw::EventSize(0) };
        assert_eq!(
            fault.to_string(),
            "chunk 2, byte 1234 of the file: an event of 0 bytes: where the next one begins cannot be told"
        );
    }
}
