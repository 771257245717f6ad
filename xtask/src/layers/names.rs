//! What a path means: the module it leads into, and the item there.

use super::modules::{Module, Modules, Name};

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub(super) module: usize,
    /// No item: the module itself.
    pub(super) item: Option<String>,
}

/// More `use` than this, one behind the other, are taken for a circle of their own.
const MAX_DEPTH: usize = 16;

impl Modules {
    /// What `path`, written in `module`, leads to in this crate.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Option<Target> {
        self.resolve_within(module, path, MAX_DEPTH)
    }

    pub(super) fn module(&self, at: usize) -> &Module {
        &self.0[at]
    }

    fn resolve_within(&self, from: usize, path: &[String], depth: usize) -> Option<Target> {
        let depth = depth.checked_sub(1)?;
        let mut at = from;
        let mut is_first = true;
        for (position, word) in path.iter().enumerate() {
            match word.as_str() {
                "crate" => at = 0,
                "self" => {}
                "super" => at = self.0[at].parent?,
                name => {
                    let rest = &path[position + 1..];
                    let Some(target) = self.look_up(at, name, depth) else {
                        // Not a name of this crate, or one that a macro makes: then it is its
                        // module's.
                        return (!is_first).then(|| Target { module: at, item: Some(name.to_owned()) });
                    };
                    match target {
                        Target { module, item: None } if !rest.is_empty() => at = module,
                        found => return Some(found),
                    }
                }
            }
            is_first = false;
        }
        Some(Target { module: at, item: None })
    }

    fn look_up(&self, at: usize, name: &str, depth: usize) -> Option<Target> {
        match self.0[at].names.get(name) {
            Some(Name::Module(module)) => Some(Target { module: *module, item: None }),
            Some(Name::Item) => Some(Target { module: at, item: Some(name.to_owned()) }),
            Some(Name::Import(path)) => self.resolve_within(at, path, depth),
            None => self.0[at].globs.iter().find_map(|glob| {
                let Target { module, item: None } = self.resolve_within(at, &glob.path, depth)? else {
                    return None;
                };
                let is_elsewhere = module != at && self.0[module].names.contains_key(name);
                if is_elsewhere { self.look_up(module, name, depth.checked_sub(1)?) } else { None }
            }),
        }
    }

    /// The modules from the root to this one.
    pub(super) fn line_of(&self, module: usize) -> Vec<usize> {
        let mut line = vec![module];
        while let Some(parent) = self.0[line[line.len() - 1]].parent {
            line.push(parent);
        }
        line.reverse();
        line
    }
}
