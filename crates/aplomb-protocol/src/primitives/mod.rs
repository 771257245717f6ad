//! The alphabet of the wire: integers, lengths, strings, arrays, tagged fields.
//!
//! Each length has two forms. In *flexible* versions it is an unsigned varint of length + 1, 0
//! meaning null; in older ones it is a big-endian int16 (strings) or int32 (bytes, records,
//! arrays), -1 meaning null. Callers say which.

mod arrays;
mod errors;
mod reader;
mod tags;
mod writer;

pub(crate) use arrays::OpenCount;
pub use errors::ErrorTally;
pub use reader::Reader;
pub use tags::Tags;
pub use writer::Writer;

/// The longest string that Kafka reads or writes, in bytes (`Short.MAX_VALUE`, in flexible versions
/// too).
const MAX_STRING: usize = i16::MAX as usize;
