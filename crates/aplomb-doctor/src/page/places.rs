//! Waits folded by where they were: one entry for all waits of a class in the same stack.
//!
//! What always holds: an entry has at least one wait; what an entry says of holders is what its
//! waits say, added up.

use std::collections::{BTreeMap, HashMap};

use crate::recording::{Recording, Wait, WaitClass};

/// Where waits were; the file is not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'a> {
    class: WaitClass,
    call: &'a str,
    kernel: &'a [String],
    frames: &'a [String],
}

/// All waits of a place.
pub(super) struct PlaceWaits<'a> {
    /// One of its waits, for what they have in common.
    pub(super) wait: &'a Wait,
    /// How many waits.
    pub(super) waits: usize,
    /// All of them together, in milliseconds.
    pub(super) total_ms: f64,
    /// The longest, in milliseconds.
    pub(super) longest_ms: f64,
    /// Milliseconds by thread.
    pub(super) threads: BTreeMap<u32, f64>,
    /// Waits by file.
    pub(super) paths: BTreeMap<&'a str, usize>,
    /// Waits by thread that held what was waited for: how many are known, and how many likely.
    pub(super) holders: BTreeMap<u32, (usize, usize)>,
}

/// The places of a recording.
pub(super) struct Places<'a> {
    /// Those that took longest, all waits of a place together, come first.
    pub(super) all: Vec<PlaceWaits<'a>>,
    of: HashMap<Key<'a>, usize>,
}

impl<'a> Places<'a> {
    pub(super) fn of(recording: &'a Recording) -> Self {
        let mut of = HashMap::new();
        let mut all: Vec<PlaceWaits<'a>> = Vec::new();
        for wait in &recording.waits {
            let at = *of.entry(key(wait)).or_insert_with(|| {
                all.push(PlaceWaits::empty(wait));
                all.len() - 1
            });
            all[at].add(wait);
        }
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|a, b| all[*b].total_ms.total_cmp(&all[*a].total_ms));
        let mut rank = vec![0; all.len()];
        for (new, old) in order.iter().enumerate() {
            rank[*old] = new;
        }
        for at in of.values_mut() {
            *at = rank[*at];
        }
        all.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
        Self { all, of }
    }

    /// Where a wait's place is in the list.
    pub(super) fn at(&self, wait: &Wait) -> Option<usize> {
        self.of.get(&key(wait)).copied()
    }
}

impl<'a> PlaceWaits<'a> {
    const fn empty(wait: &'a Wait) -> Self {
        Self {
            wait,
            waits: 0,
            total_ms: 0.0,
            longest_ms: 0.0,
            threads: BTreeMap::new(),
            paths: BTreeMap::new(),
            holders: BTreeMap::new(),
        }
    }

    fn add(&mut self, wait: &'a Wait) {
        let long = length(wait);
        self.waits += 1;
        self.total_ms += long;
        self.longest_ms = self.longest_ms.max(long);
        *self.threads.entry(wait.tid).or_default() += long;
        if let Some(path) = wait.call.as_ref().and_then(|call| call.path.as_deref()) {
            *self.paths.entry(path).or_default() += 1;
        }
        for holder in &wait.holders {
            let (known, likely) = self.holders.entry(*holder).or_default();
            *if wait.holders_known { known } else { likely } += 1;
        }
    }
}

/// How long a wait took, in milliseconds; 0 if its end is before its beginning.
pub(super) fn length(wait: &Wait) -> f64 {
    let long = wait.to_ms - wait.from_ms;
    if long.is_finite() { long.max(0.0) } else { 0.0 }
}

/// The innermost functions, in a line: the kernel's if it has any, else the program's.
pub(super) fn in_a_line(wait: &Wait, most: usize) -> String {
    let stack = if wait.kernel.is_empty() { &wait.frames } else { &wait.kernel };
    match (stack.is_empty(), &wait.call) {
        (true, Some(call)) => call.name.clone(),
        (true, None) => "no stack was seen".to_owned(),
        (false, _) => {
            let shown: Vec<_> = stack.iter().take(most).map(String::as_str).collect();
            let more = if stack.len() > most { " < …" } else { "" };
            format!("{}{more}", shown.join(" < "))
        }
    }
}

fn key(wait: &Wait) -> Key<'_> {
    let call = wait.call.as_ref().map_or("", |call| call.name.as_str());
    Key { class: wait.class, call, kernel: &wait.kernel, frames: &wait.frames }
}
