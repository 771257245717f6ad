//! Directories that are out of sight for a while: they were renamed under a running process, and
//! get their names back for the next one.

use std::collections::BTreeSet;

use super::tree::Tree;

/// Those that are, by the names that they had.
#[derive(Clone, Debug, Default)]
pub(super) struct Away(BTreeSet<String>);

impl Away {
    /// Renames a directory; false if it is not there.
    pub(super) fn take(&mut self, name: &str, tree: &mut Tree) -> bool {
        let is_taken = tree.rename(name, &elsewhere(name)).is_ok();
        if is_taken {
            self.0.insert(name.to_owned());
        }
        is_taken
    }

    /// Renames them back, for good. One whose name is another's by now is deleted; one that a power
    /// cut has put back is back.
    pub(super) fn bring_back(&mut self, tree: &mut Tree) {
        for name in std::mem::take(&mut self.0) {
            let elsewhere = elsewhere(&name);
            if tree.rename(&elsewhere, &name).is_err() {
                let files = tree.list(Some(&elsewhere)).unwrap_or_default();
                for (file, _) in files {
                    tree.remove_file(&format!("{elsewhere}/{file}")).expect("it was listed");
                }
                let _ = tree.remove_directory(&elsewhere);
            }
        }
        let _ = tree.sync_names(None);
    }
}

fn elsewhere(name: &str) -> String {
    format!("{name}.elsewhere")
}

#[cfg(test)]
mod tests {
    use aplomb_model::SplitMix64;

    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::new();
        tree.create_directory("a").expect("there is nothing yet");
        tree.create_file("a/log").expect("there is nothing yet");
        tree.sync_names(Some("a")).expect("it is there");
        tree.sync_names(None).expect("it is there");
        tree
    }

    #[test]
    fn what_was_taken_away_is_back_whatever_a_power_cut_does() {
        for seed in 0..20 {
            let (mut tree, mut away) = (tree(), Away::default());
            assert!(away.take("a", &mut tree));
            assert!(tree.kind("a").is_err());
            tree.power_cut(&mut SplitMix64::new(seed));
            away.bring_back(&mut tree);
            tree.power_cut(&mut SplitMix64::new(seed));
            assert!(tree.kind("a/log").is_ok());
            assert_eq!(tree.list(None).map(|all| all.len()), Ok(1));
        }
    }

    #[test]
    fn what_has_taken_its_name_stays() {
        let (mut tree, mut away) = (tree(), Away::default());
        assert!(away.take("a", &mut tree) && !away.take("a", &mut tree));
        tree.create_directory("a").expect("the name is free");
        tree.create_file("a/other").expect("there is nothing yet");
        away.bring_back(&mut tree);
        assert!(tree.kind("a/other").is_ok() && tree.kind("a/log").is_err());
        assert_eq!(tree.list(None).map(|all| all.len()), Ok(1));
    }
}
