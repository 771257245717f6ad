//! Stacks and threads of one chunk, each looked up once.
//!
//! What always holds: a stack has [`MOST_FRAMES`] frames at most, a frame [`LONGEST_NAME`] bytes.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::fault::JfrFault;
use super::super::header::ChunkHeader;
use super::super::values::FieldSet;
use super::found::CallFrames;

/// Frames of a stack that are kept, the innermost ones.
const MOST_FRAMES: usize = 40;
/// Bytes of a frame's name that are kept.
const LONGEST_NAME: usize = 256;
/// Bytes of a path that are kept: the system has no longer ones.
const LONGEST_PATH: usize = 4096;

/// What the numbers of a chunk's events stand for.
#[derive(Debug)]
pub(super) struct ChunkNames {
    pub(super) header: ChunkHeader,
    /// async-profiler wrote the chunk: it numbers threads by the kernel's numbers.
    pub(super) by_profiler: bool,
    stacks: HashMap<i64, CallFrames>,
    methods: HashMap<i64, Arc<str>>,
    threads: HashMap<i64, Option<u32>>,
    paths: HashMap<String, Arc<str>>,
}

impl ChunkNames {
    pub(super) fn new(header: ChunkHeader, by_profiler: bool) -> Self {
        let (stacks, methods) = (HashMap::new(), HashMap::new());
        Self { header, by_profiler, stacks, methods, threads: HashMap::new(), paths: HashMap::new() }
    }

    /// When an event began, in milliseconds since 1970.
    pub(super) fn start_ms(&self, event: &FieldSet<'_>) -> Result<f64, JfrFault> {
        Ok(self.header.unix_ms(event.integer("startTime")?.unwrap_or(self.header.start_ticks)))
    }

    /// When it began and ended. Without a duration it has taken no time.
    pub(super) fn span_ms(&self, event: &FieldSet<'_>) -> Result<(f64, f64), JfrFault> {
        let from = self.start_ms(event)?;
        let length = self.header.ticks_ms(event.integer("duration")?.unwrap_or(0));
        Ok((from, from + length))
    }

    /// The kernel's number of a thread that an event names. `None` if it names none, or a virtual
    /// one, which the kernel does not know.
    pub(super) fn tid(&mut self, event: &FieldSet<'_>, field: &str) -> Result<Option<u32>, JfrFault> {
        let Some(number) = event.constant(field)? else { return Ok(None) };
        if let Some(known) = self.threads.get(&number) {
            return Ok(*known);
        }
        let tid = match event.fields(field)? {
            Some(thread) => thread.integer("osThreadId")?,
            // A chunk of async-profiler that was not finished has no list of threads.
            None => Some(number).filter(|_| self.by_profiler),
        };
        let tid = tid.and_then(|tid| u32::try_from(tid).ok()).filter(|tid| *tid > 0);
        self.threads.insert(number, tid);
        Ok(tid)
    }

    /// The frames of an event's stack; none where the stack is missing.
    pub(super) fn frames(&mut self, event: &FieldSet<'_>) -> Result<CallFrames, JfrFault> {
        let Some(number) = event.constant("stackTrace")? else { return Ok(CallFrames::default()) };
        if let Some(known) = self.stacks.get(&number) {
            return Ok(Arc::clone(known));
        }
        let mut frames = Vec::new();
        if let Some(stack) = event.fields("stackTrace")? {
            for frame in stack.each("frames")?.take(MOST_FRAMES) {
                frames.push(self.method(&frame?)?);
            }
        }
        let frames = CallFrames::from(frames);
        self.stacks.insert(number, Arc::clone(&frames));
        Ok(frames)
    }

    /// A path that an event names, shared between those that name the same.
    pub(super) fn path(&mut self, event: &FieldSet<'_>) -> Result<Option<Arc<str>>, JfrFault> {
        let Some(path) = event.text("path")? else { return Ok(None) };
        if let Some(known) = self.paths.get(&path) {
            return Ok(Some(Arc::clone(known)));
        }
        let shared = Arc::from(cut(&path, LONGEST_PATH));
        self.paths.insert(path, Arc::clone(&shared));
        Ok(Some(shared))
    }

    /// The name of a class that an event refers to, with dots.
    pub(super) fn class(event: &FieldSet<'_>, field: &str) -> Result<Option<String>, JfrFault> {
        let Some(class) = event.fields(field)? else { return Ok(None) };
        let name = class.text("name")?.filter(|name| !name.is_empty());
        Ok(name.map(|name| cut(&name, LONGEST_NAME).replace('/', ".")))
    }

    fn method(&mut self, frame: &FieldSet<'_>) -> Result<Arc<str>, JfrFault> {
        let number = frame.constant("method")?;
        if let Some(known) = number.and_then(|number| self.methods.get(&number)) {
            return Ok(Arc::clone(known));
        }
        let name: Arc<str> = match frame.fields("method")? {
            None => Arc::from("?"),
            Some(method) => {
                let name = method.text("name")?.unwrap_or_default();
                let name = cut(&name, LONGEST_NAME);
                match Self::class(&method, "type")? {
                    // The kernel's functions and those of libraries are in no class.
                    None => Arc::from(name),
                    Some(class) => Arc::from(cut(&format!("{class}.{name}"), LONGEST_NAME)),
                }
            }
        };
        if let Some(number) = number {
            self.methods.insert(number, Arc::clone(&name));
        }
        Ok(name)
    }
}

/// The beginning of a text, whole characters only.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters() {
        assert_eq!((cut("abc", 2), cut("abc", 9), cut("aé", 2)), ("ab", "abc", "a"));
    }
}
