//! From looks to stalls: a thread that is found with the same stack in one look after another has
//! waited all the while.

use std::collections::HashMap;
use std::time::Duration;

use aplomb_doctor::kernel::role_of;

use crate::record::Stall;

/// A thread in uninterruptible sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sleeper {
    pub(super) tid: u32,
    pub(super) name: String,
    pub(super) stack: Vec<String>,
}

/// Folds looks into stalls.
#[derive(Debug)]
pub(super) struct Folder {
    interval: Duration,
    open: HashMap<u32, Stall>,
    done: Vec<Stall>,
}

impl Folder {
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, open: HashMap::new(), done: Vec::new() }
    }

    /// One look at all threads.
    pub(super) fn look(&mut self, at: Duration, sleepers: Vec<Sleeper>) {
        let mut before = std::mem::take(&mut self.open);
        let (from_ms, to_ms) = (ms(at), ms(at + self.interval));
        for Sleeper { tid, name, stack } in sleepers {
            let stall = match before.remove(&tid) {
                Some(mut stall) if stall.stack == stack && stall.thread == name => {
                    stall.to_ms = to_ms;
                    stall.samples += 1;
                    stall
                }
                other => {
                    self.done.extend(other);
                    Stall { role: role_of(&name).into(), thread: name, from_ms, to_ms, samples: 1, stack }
                }
            };
            self.open.insert(tid, stall);
        }
        self.done.extend(before.into_values());
    }

    /// All stalls, in the order of their beginning.
    pub(super) fn finish(mut self) -> Vec<Stall> {
        self.done.extend(self.open.into_values());
        self.done.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms).then_with(|| a.thread.cmp(&b.thread)));
        self.done
    }
}

fn ms(time: Duration) -> f64 {
    // To the microsecond: more would be noise in the record.
    (time.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Role;

    fn sleeper(tid: u32, frame: &str) -> Sleeper {
        Sleeper { tid, name: format!("disk-{tid}"), stack: vec![frame.to_owned()] }
    }

    #[test]
    fn the_same_stack_in_looks_one_after_the_other_is_one_stall() {
        let mut folder = Folder::new(Duration::from_millis(50));
        let at = Duration::from_millis;
        folder.look(at(0), vec![sleeper(1, "write"), sleeper(2, "read")]);
        folder.look(at(50), vec![sleeper(1, "write")]);
        folder.look(at(100), vec![sleeper(1, "sync")]);
        folder.look(at(150), vec![]);
        folder.look(at(200), vec![sleeper(1, "sync")]);
        let stalls = folder.finish();
        let told: Vec<_> = stalls
            .iter()
            .map(|s| (s.stack[0].as_str(), s.from_ms as u64, s.to_ms as u64, s.samples))
            .collect();
        assert_eq!(
            told,
            [("write", 0, 100, 2), ("read", 0, 50, 1), ("sync", 100, 150, 1), ("sync", 200, 250, 1)]
        );
        assert!(stalls.iter().all(|stall| stall.role == Role::Disk));
    }
}
