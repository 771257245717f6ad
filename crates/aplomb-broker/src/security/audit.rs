//! Lines for the audit log: who was refused what, and on what ground (`kafka.authorizer.logger`).
//!
//! Clients can cause as many as they like. So many a second are written, of the others it is said
//! how many there were.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use aplomb_model::Instant;

/// Lines of one shard in a second.
const MOST: u32 = 100;

/// Where decisions are noted, and counted.
#[derive(Debug, Default)]
pub struct Audit {
    lines: RefCell<AuditLines>,
    allowed: Cell<u64>,
    denied: Cell<u64>,
}

#[derive(Debug, Default)]
struct AuditLines {
    now: Instant,
    /// When lines are counted anew.
    next: Instant,
    count: u32,
    left_out: u64,
    lines: Vec<String>,
}

impl Audit {
    /// What is noted from here on is noted at this time.
    pub(crate) fn at(&self, now: Instant) {
        self.lines.borrow_mut().now = now;
    }

    /// Counts decisions of which so many allowed something, and so many did not.
    pub(crate) fn count(&self, allowed: u32, denied: u32) {
        self.allowed.set(self.allowed.get() + u64::from(allowed));
        self.denied.set(self.denied.get() + u64::from(denied));
    }

    /// How many decisions have allowed something since the start, and how many have not.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [self.allowed.get(), self.denied.get()]
    }

    /// AuditLines a decision, if there is room for it.
    pub(crate) fn note(&self, line: impl FnOnce() -> String) {
        let mut notes = self.lines.borrow_mut();
        if notes.next <= notes.now {
            (notes.next, notes.count) = (notes.now + Duration::from_secs(1), 0);
        }
        if notes.count == MOST {
            notes.left_out += 1;
            return;
        }
        notes.count += 1;
        let left_out = std::mem::take(&mut notes.left_out);
        notes.lines.push(match left_out {
            0 => line(),
            more => format!("{} ({more} decisions before this one were left out)", line()),
        });
    }

    /// What was noted.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.borrow_mut().lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_a_hundred_lines_a_second() {
        let audit = Audit::default();
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        audit.at(at(1));
        (0..1000).for_each(|_| audit.note(|| "no".to_owned()));
        assert_eq!(audit.take().len(), 100);
        audit.at(at(2));
        audit.note(|| "no".to_owned());
        assert_eq!(audit.take(), ["no (900 decisions before this one were left out)"]);
        audit.count(2, 1);
        audit.count(0, 1);
        assert_eq!(audit.counts(), [2, 2], "lines and counts have nothing to do with each other");
    }
}
