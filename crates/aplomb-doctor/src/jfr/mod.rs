//! Recordings of the JDK's Flight Recorder, by the JDK and by async-profiler.
//!
//! A recording is chunks one behind the other; a chunk ([`JfrChunk`]) has a header, a description
//! of its types, constants and events, and needs nothing of the others. Start at [`JfrFile`], which
//! reads a file chunk by chunk, and at [`JfrEvidence`], which makes the doctor's evidence of it.
//!
//! What always holds: lengths that a file tells are believed only as far as its bytes go; work and
//! memory are bounded by a chunk's size; what is broken or unfinished gives what can be read of it,
//! and a [`JfrFault`] that names the place.

mod bytes;
mod chunk;
mod evidence;
mod fault;
mod file;
mod header;
mod metadata;
mod pools;
mod types;
mod values;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use chunk::{JfrChunk, JfrEvent, JfrEvents};
pub(crate) use evidence::add_unknown_safepoints;
pub use evidence::{JfrEvidence, JfrOptions};
pub use fault::{ChunkPlace, JfrFault, JfrFlaw};
pub use file::{JfrFile, MOST_CHUNK_BYTES};
pub use header::{ChunkHeader, ChunkState, HEADER_BYTES};
pub use values::{Elements, FieldSet};
