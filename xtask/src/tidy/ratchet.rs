//! How often a crate may break a rule: `xtask/tidy.toml`, a table a rule, in it a number a crate.
//! What is not in it is 0.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item};

use super::{Places, says};

/// Above so many places, only their number is told.
const MOST_TOLD: usize = 4;

pub(super) struct Ratchets {
    path: PathBuf,
    document: DocumentMut,
}

impl Ratchets {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let what = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let text = std::fs::read_to_string(path).map_err(|why| what(&why))?;
        let document: DocumentMut = text.parse().map_err(|why: toml_edit::TomlError| what(&why))?;
        for (rule, table) in document.iter() {
            let table = table.as_table().ok_or_else(|| what(&format!("{rule} is not a table")))?;
            if let Some((room, _)) = table.iter().find(|(_, number)| as_count(number).is_none()) {
                return Err(what(&format!("{rule}.{room} is not a number")));
            }
        }
        Ok(Self { path: path.to_owned(), document })
    }

    fn allowed(&self, rule: &str, room: &str) -> usize {
        self.document.get(rule).and_then(|table| as_count(table.get(room)?)).unwrap_or(0)
    }

    /// Every number that there is, and how often the rule is really broken.
    fn entries(&self, found: &Places) -> Vec<(String, String, usize, usize)> {
        let tables = self.document.iter().filter_map(|(rule, table)| Some((rule, table.as_table()?)));
        let entries =
            tables.flat_map(|(rule, table)| table.iter().map(move |(room, number)| (rule, room, number)));
        let counted = |rule: &str, room: &str| {
            found.iter().find(|((r, c), _)| *r == rule && c == room).map_or(0, |(_, places)| places.len())
        };
        let entry = |(rule, room, number): (&str, &str, &Item)| {
            (rule.to_owned(), room.to_owned(), as_count(number).unwrap_or(0), counted(rule, room))
        };
        entries.map(entry).collect()
    }

    /// Nothing is found more often than it may be, nor less.
    pub(super) fn check(&self, found: &Places) -> Result<(), String> {
        let mut faults = self.above(found);
        for (rule, room, allowed, count) in self.entries(found) {
            if count < allowed {
                faults.push(format!(
                    "{rule} in {room}: {count}, no longer {allowed}: run cargo xtask tidy --update"
                ));
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n       ")) }
    }

    /// Takes lower numbers over.
    pub(super) fn lower(&mut self, found: &Places) -> Result<(), String> {
        for (rule, room, allowed, count) in self.entries(found) {
            if count < allowed
                && let Some(table) = self.document.get_mut(&rule).and_then(Item::as_table_mut)
            {
                if count == 0 {
                    table.remove(&room);
                } else {
                    table.insert(&room, toml_edit::value(i64::try_from(count).expect("fewer than bytes")));
                }
            }
        }
        let empty = |table: &Item| table.as_table().is_some_and(toml_edit::Table::is_empty);
        let rules: Vec<String> =
            self.document.iter().filter(|(_, table)| empty(table)).map(|(rule, _)| rule.to_owned()).collect();
        for rule in rules {
            self.document.remove(&rule);
        }
        std::fs::write(&self.path, self.document.to_string())
            .map_err(|why| format!("{}: {why}", self.path.display()))?;
        let faults = self.above(found);
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n       ")) }
    }

    fn above(&self, found: &Places) -> Vec<String> {
        let mut faults = Vec::new();
        let mut rule_before = "";
        for ((rule, room), places) in found {
            let (allowed, count) = (self.allowed(rule, room), places.len());
            if count <= allowed {
                continue;
            }
            if rule_before != *rule {
                faults.push(format!("{rule}: {}", says(rule)));
                rule_before = rule;
            }
            let told = if count > MOST_TOLD {
                format!("cargo xtask tidy --list {rule} {room} lists them")
            } else {
                places.join(", ")
            };
            faults.push(format!("  {count} in {room}, where there may be {allowed}: {told}"));
        }
        faults
    }
}

fn as_count(number: &Item) -> Option<usize> {
    usize::try_from(number.as_integer()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratchets(text: &str) -> (tempfile::TempDir, Ratchets) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tidy.toml");
        std::fs::write(&path, text).expect("written");
        let ratchets = Ratchets::read(&path).expect("it is understood");
        (folder, ratchets)
    }

    fn found(count: usize) -> Places {
        let places = (0..count).map(|line| format!("a.rs:{line}")).collect();
        Places::from([(("long-comments", "aplomb-x".to_owned()), places)])
    }

    #[test]
    fn more_is_a_fault_and_less_is_to_be_written_down() {
        let (_folder, ratchets) = ratchets("[long-comments]\naplomb-x = 2\n");
        assert_eq!(ratchets.check(&found(2)), Ok(()));
        assert!(ratchets.check(&found(3)).expect_err("more").contains("3 in aplomb-x, where there may be 2"));
        assert!(ratchets.check(&found(1)).expect_err("less").contains("tidy --update"));
        assert!(ratchets.check(&Places::new()).expect_err("none").contains("tidy --update"));
    }

    #[test]
    fn update_lowers_and_never_raises() {
        let (folder, mut ratchets) = ratchets("# why\n[long-comments]\naplomb-x = 2 # so\naplomb-y = 1\n");
        let read = || std::fs::read_to_string(folder.path().join("tidy.toml")).expect("there");
        ratchets.lower(&found(3)).expect_err("more than there may be");
        assert_eq!(read(), "# why\n[long-comments]\naplomb-x = 2 # so\n");
        ratchets.lower(&found(1)).expect("lower");
        assert_eq!(ratchets.check(&found(1)), Ok(()));
        ratchets.lower(&Places::new()).expect("none");
        assert_eq!(ratchets.check(&found(0)), Ok(()));
        assert!(!read().contains("long-comments"));
    }
}
