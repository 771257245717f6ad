//! One chunk: its metadata, its constants, its events.
//!
//! What always holds: a chunk whose end was never written, or was cut off, is read as far as it
//! goes; what is missing is told by [`JfrChunk::faults`]. Reading always comes to an end.

use super::bytes::ChunkBytes;
use super::fault::{ChunkPlace, JfrFault, JfrFlaw};
use super::header::{ChunkHeader, ChunkState, HEADER_BYTES};
use super::metadata::read_types;
use super::pools::{CHECKPOINT, ConstantPools, EventFrame, METADATA};
use super::types::{TypeIndex, TypeTable};
use super::values::{ChunkContent, FieldSet};

/// The most faults that a chunk tells of.
const MOST_FAULTS: usize = 16;

/// A part of a recording that can be read without the others.
#[derive(Debug)]
pub struct JfrChunk<'a> {
    header: ChunkHeader,
    bytes: ChunkBytes<'a>,
    types: TypeTable,
    pools: ConstantPools,
    faults: Vec<JfrFault>,
}

impl<'a> JfrChunk<'a> {
    /// Reads what a chunk says of itself. `bytes` begin with its header, and may end early.
    ///
    /// # Errors
    /// When there is no header or no metadata: then nothing of it can be read.
    pub fn open(bytes: &'a [u8], place: ChunkPlace) -> Result<Self, JfrFault> {
        let header =
            ChunkHeader::parse(bytes).map_err(|flaw| ChunkBytes::new(bytes, place).fault(0, flaw))?;
        let found = bytes.len();
        let said = usize::try_from(header.size).ok().filter(|size| (HEADER_BYTES..=found).contains(size));
        let bytes = ChunkBytes::new(&bytes[..said.unwrap_or(found)], place);
        let mut faults = Vec::new();
        let mut note = |flaw| faults.push(bytes.fault(0, flaw));
        match header.state {
            ChunkState::Complete if said.is_none() => {
                note(JfrFlaw::Unfinished { said: header.size, found: found as u64 });
            }
            ChunkState::Complete => {}
            ChunkState::Flushed(_) => note(JfrFlaw::Live),
            ChunkState::Rewriting => note(JfrFlaw::Rewriting),
        }
        let types = find_types(&bytes, &header)?;
        let pools = find_constants(&bytes, &header, &types, &mut faults);
        Ok(Self { header, bytes, types, pools, faults })
    }

    /// What its header says.
    #[must_use]
    pub fn header(&self) -> &ChunkHeader {
        &self.header
    }

    /// Where it is in its file.
    #[must_use]
    pub fn place(&self) -> ChunkPlace {
        self.bytes.place()
    }

    /// What of it could not be read, events aside.
    #[must_use]
    pub fn faults(&self) -> &[JfrFault] {
        &self.faults
    }

    /// Names of all types that it describes.
    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        self.types.names()
    }

    /// Its events, in the order in which they were written, which is not that of their times.
    #[must_use]
    pub fn events(&self) -> JfrEvents<'_> {
        JfrEvents { content: self.content(), at: HEADER_BYTES }
    }

    /// Constants of a type, with their numbers.
    #[must_use]
    pub fn constants(&self, type_name: &str) -> Vec<(i64, FieldSet<'_>)> {
        let Some(of) = self.types.named(type_name) else { return Vec::new() };
        let numbers = self.pools.numbers(of).into_iter();
        numbers.filter_map(|number| Some((number, self.constant_at(of, number)?))).collect()
    }

    fn constant_at(&self, of: TypeIndex, number: i64) -> Option<FieldSet<'_>> {
        let place = self.pools.place(of, number)?;
        Some(FieldSet::new(self.content(), of, place, self.bytes.len()))
    }

    fn content(&self) -> ChunkContent<'_> {
        ChunkContent { bytes: &self.bytes, types: &self.types, pools: &self.pools }
    }
}

/// The metadata that the header names, or, where it names none, the last that can be found.
fn find_types(bytes: &ChunkBytes<'_>, header: &ChunkHeader) -> Result<TypeTable, JfrFault> {
    let read = |frame: EventFrame| read_types(&mut bytes.cursor(frame.body, frame.end));
    let named = inside(bytes, header.metadata_at).and_then(|at| {
        let frame = EventFrame::read(bytes, at, bytes.len()).ok()?;
        (frame.type_id == METADATA).then_some(frame)
    });
    let mut last = Err(bytes.fault(0, JfrFlaw::NoMetadata));
    if let Some(frame) = named {
        last = read(frame);
        if last.is_ok() {
            return last;
        }
    }
    for frame in frames(bytes).filter(|frame| frame.type_id == METADATA) {
        let types = read(frame);
        if types.is_ok() || last.is_err() {
            last = types;
        }
    }
    last
}

/// The chain of constants that the header names, or, where that is broken, all lists that can be
/// found.
fn find_constants(
    bytes: &ChunkBytes<'_>,
    header: &ChunkHeader,
    types: &TypeTable,
    faults: &mut Vec<JfrFault>,
) -> ConstantPools {
    if let Some(last) = inside(bytes, header.constants_at) {
        let mut pools = ConstantPools::default();
        match pools.follow(bytes, types, last) {
            Ok(()) => return pools,
            Err(fault) => faults.push(fault),
        }
    }
    let mut pools = ConstantPools::default();
    for frame in frames(bytes).filter(|frame| frame.type_id == CHECKPOINT) {
        if let Err(fault) = pools.add_later(bytes, types, frame) {
            let is_last = matches!(fault.flaw, JfrFlaw::Work | JfrFlaw::TooManyConstants(_));
            if faults.len() < MOST_FAULTS {
                faults.push(fault);
            }
            if is_last {
                break;
            }
        }
    }
    if pools.is_empty() {
        faults.push(bytes.fault(0, JfrFlaw::NoConstants));
    }
    pools
}

fn inside(bytes: &ChunkBytes<'_>, at: i64) -> Option<usize> {
    usize::try_from(at).ok().filter(|at| (HEADER_BYTES..bytes.len()).contains(at))
}

/// Events one after the other, until one cannot be told from the next.
fn frames<'c>(bytes: &'c ChunkBytes<'_>) -> impl Iterator<Item = EventFrame> + use<'c> {
    let next = |at| EventFrame::read(bytes, at, bytes.len()).ok();
    std::iter::successors(next(HEADER_BYTES), move |frame| next(frame.end))
}

/// An event, and where it was written.
#[derive(Clone, Copy, Debug)]
pub struct JfrEvent<'c> {
    /// Bytes of the file before it.
    pub offset: u64,
    /// What it says; [`FieldSet::type_name`] is its kind.
    pub fields: FieldSet<'c>,
}

/// The events of a chunk, metadata and constants left out.
#[derive(Debug)]
pub struct JfrEvents<'c> {
    content: ChunkContent<'c>,
    at: usize,
}

impl<'c> Iterator for JfrEvents<'c> {
    type Item = Result<JfrEvent<'c>, JfrFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let ChunkContent { bytes, types, .. } = self.content;
        while self.at < bytes.len() {
            let frame = match EventFrame::read(bytes, self.at, bytes.len()) {
                Ok(frame) => frame,
                Err(fault) => {
                    self.at = bytes.len();
                    return Some(Err(fault));
                }
            };
            // An event has at least its size and its type, so this is further on.
            self.at = frame.end;
            if frame.type_id == METADATA || frame.type_id == CHECKPOINT {
                continue;
            }
            let Some(of) = types.find(frame.type_id) else {
                return Some(Err(bytes.fault(frame.at, JfrFlaw::UnknownType(frame.type_id))));
            };
            let offset = bytes.offset(frame.at);
            let fields = FieldSet::new(self.content, of, frame.body, frame.end);
            return Some(Ok(JfrEvent { offset, fields }));
        }
        None
    }
}
