//! Names and files as a kernel would show them, and as the disk would have them after a power cut.
//!
//! A directory has the entries that processes see and the entries that are durable. Changes of
//! names since the last sync are kept in order; a sync of a directory makes its changes durable
//! together with every earlier change that they depend on. After a power cut each directory has a
//! prefix of its changes, and a rename between two has happened in both or in neither.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_model::SplitMix64;

use super::content::Content;
use crate::FileStamp;

/// The number of the log directory itself.
const ROOT: Inode = Inode(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Inode(u64);

/// Why a call on the tree failed, in the operating system's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NotFound,
    RootGone,
    NotADirectory,
    IsADirectory,
    NotEmpty,
}

impl Refusal {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::RootGone => "the log directory is not there any more",
            Self::NotFound => "No such file or directory (os error 2)",
            Self::NotADirectory => "Not a directory (os error 20)",
            Self::IsADirectory => "Is a directory (os error 21)",
            Self::NotEmpty => "Directory not empty (os error 39)",
        }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File { len: u64, modified_ms: i64 },
    Directory,
}

type Entries = BTreeMap<String, Inode>;

#[derive(Clone, Debug)]
enum Node {
    File(Content),
    Directory { seen: Entries, durable: Entries },
}

#[derive(Clone, Debug)]
enum NameChange {
    Link { directory: Inode, name: String, inode: Inode },
    Unlink { directory: Inode, name: String },
    Move { from: (Inode, String), to: (Inode, String) },
}

impl NameChange {
    fn directories(&self) -> [Inode; 2] {
        match self {
            Self::Link { directory, .. } | Self::Unlink { directory, .. } => [*directory; 2],
            Self::Move { from, to } => [from.0, to.0],
        }
    }

    /// Applies the change to the durable side.
    fn settle(&self, nodes: &mut BTreeMap<Inode, Node>) {
        match self {
            Self::Link { directory, name, inode } => {
                durable_entries(nodes, *directory).insert(name.clone(), *inode);
            }
            Self::Unlink { directory, name } => {
                durable_entries(nodes, *directory).remove(name);
            }
            Self::Move { from, to } => {
                if let Some(inode) = durable_entries(nodes, from.0).remove(&from.1) {
                    durable_entries(nodes, to.0).insert(to.1.clone(), inode);
                }
            }
        }
    }
}

/// A log directory.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<Inode, Node>,
    unsettled: Vec<NameChange>,
    next: u64,
    /// When each node was changed last, by the number of changes before.
    changed: BTreeMap<Inode, u64>,
    changes: u64,
    /// The log directory itself was taken away.
    root_gone: bool,
}

impl Tree {
    pub(super) fn new() -> Self {
        let root = Node::Directory { seen: Entries::new(), durable: Entries::new() };
        Self {
            nodes: BTreeMap::from([(ROOT, root)]),
            unsettled: Vec::new(),
            next: 1,
            changed: BTreeMap::new(),
            changes: 0,
            root_gone: false,
        }
    }

    /// The file under a name, if there is one.
    pub(super) fn file(&self, name: &str) -> Option<Inode> {
        self.find(name).ok().filter(|inode| matches!(self.nodes[inode], Node::File(_)))
    }

    /// The log directory is taken away, with all in it, and does not come back.
    pub(super) fn remove_root(&mut self) {
        let names: Vec<String> = self.seen(ROOT).keys().cloned().collect();
        names.iter().for_each(|name| self.unlink(name).expect("it was listed"));
        self.root_gone = true;
    }

    pub(super) fn is_root_gone(&self) -> bool {
        self.root_gone
    }

    pub(super) fn kind(&self, name: &str) -> Result<Kind, Refusal> {
        Ok(match &self.nodes[&self.find(name)?] {
            Node::File(content) => Kind::File { len: content.len(), modified_ms: content.modified_ms },
            Node::Directory { .. } => Kind::Directory,
        })
    }

    pub(super) fn content(&self, name: &str) -> Result<&Content, Refusal> {
        match &self.nodes[&self.find(name)?] {
            Node::File(content) => Ok(content),
            Node::Directory { .. } => Err(Refusal::IsADirectory),
        }
    }

    /// A file's content, to be changed.
    pub(super) fn content_mut(&mut self, name: &str) -> Result<&mut Content, Refusal> {
        let inode = self.find(name)?;
        self.note_change(inode);
        file_content(&mut self.nodes, inode)
    }

    /// What tells the state of a file or a directory from every other.
    pub(super) fn stamp(&self, name: &str) -> Result<FileStamp, Refusal> {
        let inode = self.find(name)?;
        let (len, modified_ms) = match &self.nodes[&inode] {
            Node::File(content) => (content.len(), content.modified_ms),
            Node::Directory { .. } => (0, 0),
        };
        let changed_ns = self.changed.get(&inode).map_or(0, |change| change.cast_signed());
        Ok(FileStamp { inode: inode.0, len, modified_ms, changed_ns })
    }

    fn note_change(&mut self, inode: Inode) {
        self.changes += 1;
        self.changed.insert(inode, self.changes);
    }

    /// The names in a directory, sorted.
    pub(super) fn list(&self, directory: Option<&str>) -> Result<Vec<(String, Kind)>, Refusal> {
        let inode = self.directory(directory)?;
        let prefix = directory.map_or(String::new(), |name| format!("{name}/"));
        self.seen(inode)
            .keys()
            .map(|name| Ok((name.clone(), self.kind(&format!("{prefix}{name}"))?)))
            .collect()
    }

    /// All files below the top, by their full names.
    pub(super) fn files(&self) -> BTreeMap<String, &Content> {
        let mut found = BTreeMap::new();
        let mut open = vec![(String::new(), ROOT)];
        while let Some((prefix, directory)) = open.pop() {
            for (name, inode) in self.seen(directory) {
                match &self.nodes[inode] {
                    Node::File(content) => {
                        found.insert(format!("{prefix}{name}"), content);
                    }
                    Node::Directory { .. } => open.push((format!("{prefix}{name}/"), *inode)),
                }
            }
        }
        found
    }

    /// Bytes in all files that processes see.
    pub(super) fn used(&self) -> u64 {
        self.files().values().map(|content| content.len()).sum()
    }

    /// Makes an empty file if there is none.
    pub(super) fn create_file(&mut self, name: &str) -> Result<(), Refusal> {
        match self.find(name) {
            Ok(inode) if matches!(self.nodes[&inode], Node::File(_)) => Ok(()),
            Ok(_) => Err(Refusal::IsADirectory),
            Err(Refusal::NotFound) => self.link(name, Node::File(Content::default())),
            Err(refusal) => Err(refusal),
        }
    }

    /// Makes a directory if there is none; its parent must exist.
    pub(super) fn create_directory(&mut self, name: &str) -> Result<(), Refusal> {
        match self.find(name) {
            Ok(inode) if matches!(self.nodes[&inode], Node::Directory { .. }) => Ok(()),
            Ok(_) => Err(Refusal::NotADirectory),
            Err(Refusal::NotFound) => {
                self.link(name, Node::Directory { seen: Entries::new(), durable: Entries::new() })
            }
            Err(refusal) => Err(refusal),
        }
    }

    pub(super) fn remove_file(&mut self, name: &str) -> Result<(), Refusal> {
        self.content(name)?;
        self.unlink(name)
    }

    pub(super) fn remove_directory(&mut self, name: &str) -> Result<(), Refusal> {
        let inode = self.directory(Some(name))?;
        if !self.seen(inode).is_empty() {
            return Err(Refusal::NotEmpty);
        }
        self.unlink(name)
    }

    /// Renames; an existing file under the new name is replaced.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), Refusal> {
        let moved = self.find(from)?;
        let (from_directory, from_name) = self.place(from)?;
        let (to_directory, to_name) = self.place(to)?;
        if let Ok(replaced) = self.find(to) {
            match (&self.nodes[&moved], &self.nodes[&replaced]) {
                (Node::File(_), Node::Directory { .. }) => return Err(Refusal::IsADirectory),
                (Node::Directory { .. }, Node::File(_)) => return Err(Refusal::NotADirectory),
                (_, Node::Directory { seen, .. }) if !seen.is_empty() && replaced != moved => {
                    return Err(Refusal::NotEmpty);
                }
                (_, _) => {}
            }
        }
        self.seen_mut(from_directory).remove(&from_name);
        self.seen_mut(to_directory).insert(to_name.clone(), moved);
        self.note_change(moved);
        self.unsettled
            .push(NameChange::Move { from: (from_directory, from_name), to: (to_directory, to_name) });
        Ok(())
    }

    /// Makes a file's content survive a power cut.
    pub(super) fn sync_content(&mut self, name: &str) -> Result<(), Refusal> {
        let inode = self.find(name)?;
        file_content(&mut self.nodes, inode)?.sync();
        Ok(())
    }

    /// Makes the names in a directory survive, and those of the directories above it.
    pub(super) fn sync_names(&mut self, directory: Option<&str>) -> Result<(), Refusal> {
        let mut wanted = BTreeSet::from([ROOT]);
        let mut at = directory;
        while let Some(name) = at {
            wanted.insert(self.directory(Some(name))?);
            at = name.rsplit_once('/').map(|(parent, _)| parent);
        }
        // A change of a wanted directory needs the earlier changes of the other directory that it
        // touches.
        loop {
            let before = wanted.len();
            for change in &self.unsettled {
                let [one, other] = change.directories();
                if wanted.contains(&one) || wanted.contains(&other) {
                    wanted.extend([one, other]);
                }
            }
            if wanted.len() == before {
                break;
            }
        }
        let (settled, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.unsettled).into_iter().partition(|change| {
                let [one, other] = change.directories();
                wanted.contains(&one) || wanted.contains(&other)
            });
        self.unsettled = rest;
        settled.iter().for_each(|change| change.settle(&mut self.nodes));
        if settled.iter().any(|change| !matches!(change, NameChange::Link { .. })) {
            self.forget_unreachable();
        }
        Ok(())
    }

    /// The power goes and comes back.
    pub(super) fn power_cut(&mut self, random: &mut SplitMix64) {
        let changes = std::mem::take(&mut self.unsettled);
        // Each directory stops at some change of its own; what touches a stopped directory did not
        // happen.
        let mut left: BTreeMap<Inode, u64> = BTreeMap::new();
        for directory in changes.iter().flat_map(NameChange::directories).collect::<BTreeSet<_>>() {
            let count =
                changes.iter().filter(|change| change.directories().contains(&directory)).count() as u64;
            let survive = if random.coin() { count } else { random.within(0..count + 1) };
            left.insert(directory, survive);
        }
        for change in &changes {
            let directories = change.directories();
            if directories.iter().all(|directory| left[directory] > 0) {
                change.settle(&mut self.nodes);
                for directory in BTreeSet::from(directories) {
                    left.entry(directory).and_modify(|left| *left -= 1);
                }
            } else {
                left.extend(directories.map(|directory| (directory, 0)));
            }
        }
        let mut changed = Vec::new();
        for (inode, node) in &mut self.nodes {
            match node {
                Node::File(content) => {
                    changed.extend(content.is_unsynced().then_some(*inode));
                    content.power_cut(random);
                }
                Node::Directory { seen, durable } => {
                    changed.extend((seen != durable).then_some(*inode));
                    seen.clone_from(durable);
                }
            }
        }
        changed.into_iter().for_each(|inode| self.note_change(inode));
        self.forget_unreachable();
    }

    fn find(&self, name: &str) -> Result<Inode, Refusal> {
        if self.root_gone {
            return Err(Refusal::RootGone);
        }
        name.split('/').try_fold(ROOT, |directory, part| match &self.nodes[&directory] {
            Node::Directory { seen, .. } => seen.get(part).copied().ok_or(Refusal::NotFound),
            Node::File(_) => Err(Refusal::NotADirectory),
        })
    }

    fn directory(&self, name: Option<&str>) -> Result<Inode, Refusal> {
        let inode = match name {
            Some(name) => self.find(name)?,
            None if self.root_gone => return Err(Refusal::RootGone),
            None => ROOT,
        };
        match self.nodes[&inode] {
            Node::Directory { .. } => Ok(inode),
            Node::File(_) => Err(Refusal::NotADirectory),
        }
    }

    /// The directory that holds `name`, and its last part.
    fn place(&self, name: &str) -> Result<(Inode, String), Refusal> {
        match name.rsplit_once('/') {
            Some((parent, last)) => Ok((self.directory(Some(parent))?, last.to_owned())),
            None => Ok((ROOT, name.to_owned())),
        }
    }

    fn seen(&self, directory: Inode) -> &Entries {
        match &self.nodes[&directory] {
            Node::Directory { seen, .. } => seen,
            Node::File(_) => panic!("{directory:?} was looked up as a directory"),
        }
    }

    fn seen_mut(&mut self, directory: Inode) -> &mut Entries {
        self.note_change(directory);
        match self.nodes.get_mut(&directory) {
            Some(Node::Directory { seen, .. }) => seen,
            _ => panic!("{directory:?} was looked up as a directory"),
        }
    }

    fn link(&mut self, name: &str, node: Node) -> Result<(), Refusal> {
        let (directory, last) = self.place(name)?;
        let inode = Inode(self.next);
        self.next += 1;
        self.nodes.insert(inode, node);
        self.seen_mut(directory).insert(last.clone(), inode);
        self.unsettled.push(NameChange::Link { directory, name: last, inode });
        Ok(())
    }

    fn unlink(&mut self, name: &str) -> Result<(), Refusal> {
        let (directory, last) = self.place(name)?;
        self.seen_mut(directory).remove(&last).ok_or(Refusal::NotFound)?;
        self.unsettled.push(NameChange::Unlink { directory, name: last });
        Ok(())
    }

    /// Drops what neither a process nor a power cut can find again.
    fn forget_unreachable(&mut self) {
        let pending = self.unsettled.iter().filter_map(|change| match change {
            NameChange::Link { inode, .. } => Some(*inode),
            NameChange::Unlink { .. } | NameChange::Move { .. } => None,
        });
        let mut open: Vec<Inode> = pending.chain([ROOT]).collect();
        let mut reached = BTreeSet::new();
        while let Some(inode) = open.pop() {
            if reached.insert(inode)
                && let Some(Node::Directory { seen, durable }) = self.nodes.get(&inode)
            {
                open.extend(seen.values().chain(durable.values()));
            }
        }
        self.nodes.retain(|inode, _| reached.contains(inode));
        let nodes = &self.nodes;
        self.changed.retain(|inode, _| nodes.contains_key(inode));
        self.unsettled.retain(|change| change.directories().iter().all(|inode| nodes.contains_key(inode)));
    }
}

fn file_content(nodes: &mut BTreeMap<Inode, Node>, inode: Inode) -> Result<&mut Content, Refusal> {
    match nodes.get_mut(&inode) {
        Some(Node::File(content)) => Ok(content),
        _ => Err(Refusal::IsADirectory),
    }
}

fn durable_entries(nodes: &mut BTreeMap<Inode, Node>, directory: Inode) -> &mut Entries {
    match nodes.get_mut(&directory) {
        Some(Node::Directory { durable, .. }) => durable,
        _ => panic!("{directory:?} had its names changed and is no directory"),
    }
}

#[cfg(test)]
mod tests;
