//! Which files hold bytes that no sync has covered yet, and which names our own commands take away.
//!
//! A sync asks here whether what it covers is still there. Without it, bytes that fell into a file
//! which an operator had deleted would be called durable: a descriptor outlives its name.
//!
//! Always holds: a name that one of our own commands takes away, and every name below it, owes
//! nothing from the beginning of that command to the first write after its end.

use std::collections::BTreeMap;

/// What a file owes: see [`Written::owed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owed {
    /// How many changes since the last sync.
    changes: u64,
    /// A change was not carried out, because the file or its directory was not there.
    pub(crate) refused: bool,
}

/// The files of one log directory.
#[derive(Debug, Default)]
pub(crate) struct Written {
    owed: BTreeMap<String, Owed>,
    /// Names that commands of ours are taking away, and how many do.
    leaving: BTreeMap<String, u32>,
}

impl Written {
    /// A file is about to be changed.
    pub(crate) fn on_change(&mut self, name: &str) {
        if !self.is_leaving(name) {
            self.owed.entry(name.to_owned()).or_default().changes += 1;
        }
    }

    /// A change was not carried out.
    pub(crate) fn on_refusal(&mut self, name: &str) {
        if !self.is_leaving(name) {
            self.owed.entry(name.to_owned()).or_default().refused = true;
        }
    }

    /// What a sync of this file has to cover. `None` if nothing was written to it.
    pub(crate) fn owed(&self, name: &str) -> Option<Owed> {
        self.owed.get(name).copied()
    }

    /// A sync has covered what was owed then.
    pub(crate) fn on_synced(&mut self, name: &str, then: Owed) {
        if self.owed.get(name) == Some(&then) {
            self.owed.remove(name);
        }
    }

    /// A command of ours begins to take a name away.
    pub(crate) fn on_leave(&mut self, name: &str) {
        *self.leaving.entry(name.to_owned()).or_default() += 1;
        remove_at_and_below(&mut self.owed, name);
    }

    /// It has ended.
    pub(crate) fn on_left(&mut self, name: &str) {
        let count = self.leaving.get_mut(name).expect("what has left was leaving");
        *count -= 1;
        if *count == 0 {
            self.leaving.remove(name);
        }
        remove_at_and_below(&mut self.owed, name);
    }

    fn is_leaving(&self, name: &str) -> bool {
        let above = name.match_indices('/').map(|(slash, _)| &name[..slash]);
        above.chain([name]).any(|name| self.leaving.contains_key(name))
    }
}

/// Removes a name and every name below it.
pub(crate) fn remove_at_and_below<T>(names: &mut BTreeMap<String, T>, name: &str) -> Vec<T> {
    let below = format!("{name}/")..format!("{name}0"); // '0' comes right after '/'
    let mut removed: Vec<T> = names.remove(name).into_iter().collect();
    let found: Vec<String> = names.range(below).map(|(name, _)| name.clone()).collect();
    removed.extend(found.iter().filter_map(|name| names.remove(name)));
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_clears_what_was_owed_when_it_began_and_nothing_later() {
        let mut written = Written::default();
        written.on_change("orders-3/0.log");
        let then = written.owed("orders-3/0.log").expect("it was written");
        written.on_change("orders-3/0.log");
        written.on_synced("orders-3/0.log", then);
        let now = written.owed("orders-3/0.log").expect("it was written again");
        written.on_synced("orders-3/0.log", now);
        assert_eq!(written.owed("orders-3/0.log"), None);
    }

    #[test]
    fn a_name_that_we_take_away_owes_nothing_and_neither_does_what_is_below_it() {
        let mut written = Written::default();
        for name in ["a/x", "a-b/x", "a0/x"] {
            written.on_change(name);
        }
        written.on_leave("a");
        written.on_change("a/late");
        written.on_refusal("a/x");
        assert_eq!((written.owed("a/x"), written.owed("a/late")), (None, None));
        written.on_left("a");
        assert!(written.owed("a-b/x").is_some() && written.owed("a0/x").is_some());
        written.on_refusal("a/x");
        assert!(written.owed("a/x").is_some_and(|owed| owed.refused));
    }

    #[test]
    fn a_name_is_leaving_until_the_last_of_several_commands_has_taken_it_away() {
        let mut written = Written::default();
        written.on_leave("a");
        written.on_leave("a");
        written.on_left("a");
        written.on_change("a");
        assert_eq!(written.owed("a"), None);
        written.on_left("a");
        written.on_change("a");
        assert!(written.owed("a").is_some());
    }
}
