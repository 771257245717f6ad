//! A heap for each thread that carries requests, whose pages are there before the first request and
//! stay.
//!
//! A page that a thread touches for the first time is given to it by the kernel, then and there. In
//! a container whose memory is used up the kernel first frees another, may have to write that one
//! to a disk, and the thread waits. What the allocator has given back and takes again is such a
//! page too. So each of these threads has an arena of the allocator to itself that begins with a
//! reserve: faulted in and locked at start, and never given back. A heap that grows beyond its
//! reserve is like any other: it grows, and what is freed goes back.
//!
//! What always holds: a reserve is handed out from its beginning to its end, each byte once; the
//! allocator owns what it was handed for the rest of the process's life.
#![expect(unsafe_code, reason = "the allocator is C, and asks for memory by function pointers")]

use std::ffi::{CStr, CString, c_uint, c_void};
use std::io;
use std::mem::{self, offset_of};
use std::ops::Range;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use aplomb_disk::{MappedFile, MemoryError};
use tikv_jemalloc_sys::{extent_hooks_s as Hooks, mallctl};

/// Bytes of a reserve: several times what a shard of a broker with some thousand records a second
/// has on its heap (5 MB in the whole process).
pub(crate) const RESERVE: usize = 32 << 20;

/// The allocator takes memory for a heap in pieces of so many bytes, unless it needs a larger one;
/// otherwise each would be larger than the last, and the rest of a reserve too small for the next.
const PIECE: usize = 2 << 20;

/// Bytes of a thread's stack that are touched before it is at work.
const STACK: usize = 128 << 10;

/// A heap that could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeapError {
    #[error("no memory for a thread's heap: {0}")]
    Memory(#[from] MemoryError),
    #[error("no memory for a thread's heap: {0}")]
    Pages(io::Error),
    #[error("the allocator refuses a heap for a thread ({what}): {error}")]
    Allocator { what: String, error: io::Error },
}

/// An arena of the allocator with a reserve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heap {
    arena: c_uint,
}

/// Where an arena has its memory from. The allocator knows the hooks' address, which is this
/// value's.
#[repr(C)]
struct Source {
    hooks: Hooks,
    /// The allocator's own, for everything beyond the reserve.
    usual: NonNull<Hooks>,
    reserve: MappedFile,
    /// Bytes of the reserve that were handed out.
    used: AtomicUsize,
}

impl Heap {
    /// Makes a heap with so many bytes of reserve, and waits for their pages. It is there until the
    /// process ends. Gives beside it why the reserve could not be locked, if so.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn new(bytes: usize) -> Result<(Self, Option<String>), HeapError> {
        let reserve = MappedFile::anonymous(bytes as u64)?;
        let not_locked = reserve.fault_in(0..bytes).map_err(HeapError::Pages)?;
        let mut usual: *mut Hooks = null_mut();
        exchange::<_, ()>(c"arena.0.extent_hooks", Some(&mut usual), None)?;
        let usual = NonNull::new(usual).expect("an arena has hooks");
        let hooks = Hooks {
            alloc: Some(hand_out),
            dalloc: None,
            destroy: None,
            commit: None,
            decommit: None,
            purge_lazy: None,
            purge_forced: Some(give_back),
            split: Some(split),
            merge: Some(merge),
        };
        let source = Box::new(Source { hooks, usual, reserve, used: AtomicUsize::new(0) });
        let hooks: *mut Hooks = Box::into_raw(source).cast();
        let mut arena: c_uint = 0;
        exchange(c"arenas.create", Some(&mut arena), Some(hooks))?;
        exchange::<(), _>(&of(arena, "retain_grow_limit"), None, Some(PIECE))?;
        Ok((Self { arena }, not_locked))
    }

    /// Makes it the calling thread's, for all that the thread allocates from now on.
    ///
    /// # Errors
    /// The allocator refuses; the thread keeps the heap that it had.
    pub(crate) fn adopt(self) -> Result<(), HeapError> {
        exchange::<(), _>(c"thread.arena", None, Some(self.arena))?;
        std::hint::black_box([1_u8; STACK]);
        Ok(())
    }
}

impl Source {
    fn addresses(&self) -> Range<usize> {
        let start = self.reserve.as_ptr().as_ptr().addr();
        start..start + self.reserve.len()
    }

    /// So many bytes of the reserve at a multiple of `alignment`, none of them handed out before.
    fn take(&self, bytes: usize, alignment: usize) -> Option<*mut c_void> {
        let addresses = self.addresses();
        let place = |used: usize| (addresses.start + used).next_multiple_of(alignment) - addresses.start;
        let after = |used: usize| place(used).checked_add(bytes).filter(|end| *end <= addresses.len());
        let used = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).ok()?;
        // SAFETY: the place is within the mapping.
        Some(unsafe { self.reserve.as_ptr().as_ptr().add(place(used)) }.cast())
    }
}

/// The source that the allocator means.
///
/// # Safety
/// `hooks` are those of a [`Source`], which live for ever.
unsafe fn source<'a>(hooks: *mut Hooks) -> &'a Source {
    const { assert!(offset_of!(Source, hooks) == 0) };
    // SAFETY: as required of the caller; the hooks are the source's first field, and nobody has a
    // mutable reference to it.
    unsafe { &*hooks.cast::<Source>() }
}

/// The allocator wants memory: from the reserve, zeroed and there, or else as usual.
unsafe extern "C" fn hand_out(
    hooks: *mut Hooks,
    at: *mut c_void,
    bytes: usize,
    alignment: usize,
    zeroed: *mut bool,
    there: *mut bool,
    arena: c_uint,
) -> *mut c_void {
    // SAFETY: the allocator gives back the hooks that it was given.
    let source = unsafe { source(hooks) };
    if at.is_null()
        && let Some(memory) = source.take(bytes, alignment)
    {
        // SAFETY: both point to values of the allocator's.
        unsafe { (*zeroed, *there) = (true, true) };
        return memory;
    }
    let usual = source.usual.as_ptr();
    // SAFETY: the allocator's own hooks live as long as the process.
    let alloc = unsafe { (*usual).alloc }.expect("the usual hooks can allocate");
    // SAFETY: these are the arguments that it was called with.
    unsafe { alloc(usual, at, bytes, alignment, zeroed, there, arena) }
}

/// The allocator has no use for pages: those of the reserve stay, others go back to the kernel.
/// True where they stay.
unsafe extern "C" fn give_back(
    hooks: *mut Hooks,
    memory: *mut c_void,
    bytes: usize,
    from: usize,
    len: usize,
    arena: c_uint,
) -> bool {
    // SAFETY: the allocator gives back the hooks that it was given.
    let source = unsafe { source(hooks) };
    if source.addresses().contains(&memory.addr()) {
        return true;
    }
    let usual = source.usual.as_ptr();
    // SAFETY: the allocator's own hooks live as long as the process.
    let purge = unsafe { (*usual).purge_forced }.expect("the usual hooks can give back");
    // SAFETY: these are the arguments that it was called with.
    unsafe { purge(usual, memory, bytes, from, len, arena) }
}

/// Any piece may become two.
unsafe extern "C" fn split(
    _: *mut Hooks,
    _: *mut c_void,
    _: usize,
    _: usize,
    _: usize,
    _: bool,
    _: c_uint,
) -> bool {
    false
}

/// Two neighbours may become one unless one is of the reserve and the other is not. True where they
/// stay two.
unsafe extern "C" fn merge(
    hooks: *mut Hooks,
    one: *mut c_void,
    _: usize,
    other: *mut c_void,
    _: usize,
    _: bool,
    _: c_uint,
) -> bool {
    // SAFETY: the allocator gives back the hooks that it was given.
    let reserve = unsafe { source(hooks) }.addresses();
    reserve.contains(&one.addr()) != reserve.contains(&other.addr())
}

/// The name of an arena's setting.
fn of(arena: c_uint, setting: &str) -> CString {
    CString::new(format!("arena.{arena}.{setting}")).expect("no zeros are in it")
}

/// Reads a setting of the allocator, writes it, or both (mallctl(3)).
fn exchange<R, W>(name: &CStr, read: Option<&mut R>, mut write: Option<W>) -> Result<(), HeapError> {
    let mut len = mem::size_of::<R>();
    let (read, read_len) = match read {
        Some(value) => (std::ptr::from_mut(value).cast::<c_void>(), &raw mut len),
        None => (null_mut(), null_mut()),
    };
    let (write, write_len) = match &mut write {
        Some(value) => (std::ptr::from_mut(value).cast::<c_void>(), mem::size_of::<W>()),
        None => (null_mut(), 0),
    };
    // SAFETY: the pointers lead to values of these sizes, or nowhere.
    match unsafe { mallctl(name.as_ptr(), read, read_len, write, write_len) } {
        0 => Ok(()),
        error => Err(HeapError::Allocator {
            what: name.to_string_lossy().into_owned(),
            error: io::Error::from_raw_os_error(error),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Page faults of the calling thread until now.
    fn faults() -> i64 {
        let mut usage = mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: there is room for the answer.
        assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) }, 0);
        // SAFETY: all zeros are valid, and the kernel has filled it.
        unsafe { usage.assume_init() }.ru_minflt
    }

    /// Takes and fills so many bytes in small, middle and large pieces.
    fn fill(bytes: usize) -> Vec<Vec<u8>> {
        let mut left = bytes;
        let mut pieces = Vec::with_capacity(bytes / 4096);
        for size in [300, 5_000, 70_000, 1_100_000].into_iter().cycle() {
            if left < size {
                return pieces;
            }
            left -= size;
            pieces.push(vec![7; size]);
        }
        unreachable!("sizes go on for ever")
    }

    fn on_a_heap<T: Send + 'static>(reserve: usize, act: impl FnOnce(Heap) -> T + Send + 'static) -> T {
        let (heap, _) = Heap::new(reserve).expect("there is memory");
        let thread = std::thread::spawn(move || {
            heap.adopt().expect("it is there");
            act(heap)
        });
        thread.join().expect("it does not panic")
    }

    #[test]
    fn what_fits_into_the_reserve_needs_no_page_also_when_it_is_taken_again_after_it_was_given_back() {
        let (first, second) = on_a_heap(RESERVE, |heap| {
            drop(fill(1 << 20));
            let before = faults();
            drop(fill(16 << 20));
            let first = faults() - before;
            exchange::<(), ()>(c"thread.tcache.flush", None, None).expect("a cache is flushed");
            exchange::<(), ()>(&of(heap.arena, "purge"), None, None).expect("an arena is purged");
            let before = faults();
            drop(fill(16 << 20));
            (first, faults() - before)
        });
        // 16 MiB are 4096 pages; a few are the allocator's, of the thread and of what all arenas
        // share.
        assert!(first < 64 && second < 64, "{first} page faults, and {second}");
    }

    #[test]
    fn a_heap_grows_beyond_its_reserve_and_that_part_goes_back() {
        let (grown, again) = on_a_heap(4 << 20, |heap| {
            let before = faults();
            let pieces = fill(32 << 20);
            let grown = faults() - before;
            assert!(pieces.iter().flatten().all(|byte| *byte == 7));
            drop(pieces);
            exchange::<(), ()>(c"thread.tcache.flush", None, None).expect("a cache is flushed");
            exchange::<(), ()>(&of(heap.arena, "purge"), None, None).expect("an arena is purged");
            let before = faults();
            drop(fill(32 << 20));
            (grown, faults() - before)
        });
        assert!(grown > 1000 && again > 1000, "{grown} page faults, and {again}");
    }

    #[test]
    fn zeroed_memory_is_zeroed_also_where_it_was_used_before() {
        on_a_heap(8 << 20, |_| {
            for size in [200, 9_000, 300_000, 3 << 20] {
                drop(vec![7_u8; size]);
                let zeroed = vec![0_u8; size];
                assert!(zeroed.iter().all(|byte| *byte == 0), "{size} bytes");
            }
        });
    }
}
