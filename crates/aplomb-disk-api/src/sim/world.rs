//! What commands do to the tree, one file operation after the other, and how each of those may
//! fail.
//!
//! A command becomes a list of [`Step`]s. A process that dies in the middle of a command has done
//! some of them: that is why a publication or a deletion is not one operation here.

use std::collections::BTreeSet;

use aplomb_model::SplitMix64;
use bytes::Bytes;

use super::away::Away;
use super::options::{Fault, SimOperation, SimOptions};
use super::tree::{Kind, Refusal, Tree};
use super::written::Written;
use crate::{DiskCommand, DiskError, Done, FileName, FileStamp, Lane, SmallFile};

/// One file operation.
#[derive(Clone, Debug)]
pub(super) enum Step {
    MakeDirectory(String),
    /// `makes`: a missing file is made.
    Write {
        file: String,
        at: u64,
        data: Vec<u8>,
        makes: bool,
    },
    Replace {
        file: String,
        data: Vec<u8>,
    },
    Truncate {
        file: String,
        len: u64,
    },
    SyncContent(String),
    SyncNames(Option<String>),
    Rename {
        from: String,
        to: String,
    },
    RemoveFile(String),
    RemoveDirectory(String),
}

/// The files, the dice, and what is about to go wrong.
#[derive(Debug)]
pub(super) struct World {
    pub(super) tree: Tree,
    pub(super) random: SplitMix64,
    pub(super) faults: Vec<Fault>,
    pub(super) capacity: u64,
    pub(super) keeps_what_is_synced: bool,
    pub(super) wall_ms: i64,
    /// Bytes that were read and written through calls that wait.
    pub(super) moved: u64,
    /// Operations that a dying process still gets done; `None` for one that lives.
    pub(super) operations_left: Option<u64>,
    /// Operations that are going to find no descriptor.
    pub(super) shortages: Vec<Fault>,
    pub(super) written: Written,
    pub(super) away: Away,
    /// A command is carried out that waits until a shortage is over.
    in_order: bool,
}

impl World {
    pub(super) fn new(options: &SimOptions) -> Self {
        Self {
            tree: Tree::new(),
            random: SplitMix64::new(options.seed),
            faults: Vec::new(),
            capacity: options.capacity,
            keeps_what_is_synced: options.keeps_what_is_synced,
            wall_ms: options.wall_start_ms,
            moved: 0,
            operations_left: None,
            shortages: Vec::new(),
            written: Written::default(),
            away: Away::default(),
            in_order: false,
        }
    }

    /// Whether a command that waits for the end of a shortage has to.
    pub(super) fn has_to_wait(&mut self, command: &DiskCommand) -> bool {
        if self.shortages.is_empty() || matches!(command, DiskCommand::Read { .. }) {
            return false;
        }
        let steps = self.steps(command);
        steps.iter().any(|step| {
            let (operation, name) = step.operation();
            self.is_short(operation, name)
        })
    }

    /// A file or directory goes, with all in it, without a command of ours. `None`: the log
    /// directory itself.
    pub(super) fn vanish(&mut self, name: Option<&str>) {
        let Some(name) = name else { return self.tree.remove_root() };
        for step in self.remove_steps(name) {
            let removed = match &step {
                Step::RemoveFile(name) => self.tree.remove_file(name),
                Step::RemoveDirectory(name) => self.tree.remove_directory(name),
                other => panic!("{other:?} removes nothing"),
            };
            removed.expect("it was found a moment ago");
        }
    }

    /// Carries a command out. What it returns is its completion; the caller draws the conclusion
    /// from a loss.
    pub(super) fn execute(&mut self, command: &DiskCommand) -> Result<Done, DiskError> {
        match command {
            DiskCommand::Read { file, at, len, .. } => self.read(file, *at, *len as usize).map(Done::Read),
            DiskCommand::Space => {
                let usable = self.capacity.saturating_sub(self.tree.used());
                Ok(Done::Space { total: self.capacity, usable })
            }
            _ => {
                self.in_order = true;
                let result = self.execute_in_order(command);
                self.in_order = false;
                result.map(|()| Done::Nothing)
            }
        }
    }

    fn execute_in_order(&mut self, command: &DiskCommand) -> Result<(), DiskError> {
        if let DiskCommand::Sync { files } = command {
            return self.sync(files);
        }
        let result = self.steps(command).into_iter().try_for_each(|step| self.run(step));
        match command {
            DiskCommand::Write { file, .. } if matches!(result, Err(DiskError::NotFound { .. })) => {
                self.written.on_refusal(file.as_str());
            }
            DiskCommand::DeleteFiles { files } => {
                files.iter().for_each(|file| self.written.on_left(file.as_str()));
            }
            DiskCommand::DeleteDirectory { directory } => self.written.on_left(directory.as_str()),
            _ => {}
        }
        result
    }

    /// Makes files durable, and looks whether what was written to them is still there.
    pub(super) fn sync(&mut self, files: &[FileName]) -> Result<(), DiskError> {
        if let Some(name) = files.iter().find(|name| self.written.was_refused(name.as_str())) {
            let reason = "a write to it found no file, or no directory to make it in";
            return Err(failed("sync", name.as_str(), reason));
        }
        self.sync_steps(files).into_iter().try_for_each(|step| self.run(step))?;
        if self.tree.is_root_gone() {
            return Err(failed("looking at", ".", Refusal::RootGone.words()));
        }
        for name in files.iter().map(FileName::as_str) {
            if self.written.has_vanished(name, &self.tree) {
                let reason = "it is not there any more, and no command of ours took it away";
                return Err(failed("sync", name, reason));
            }
            self.written.on_synced(name);
        }
        Ok(())
    }

    /// The process dies while `command` is at work: some of its steps happen, and perhaps the
    /// beginning of a write.
    pub(super) fn execute_in_part(&mut self, command: &DiskCommand) {
        let steps = self.steps(command);
        let whole = self.random.within(0..steps.len() as u64 + 1);
        for (position, mut step) in (0..).zip(steps) {
            if position == whole {
                match &mut step {
                    Step::Write { data, .. } | Step::Replace { data, .. } => {
                        let kept = self.random.within(0..data.len() as u64 + 1);
                        data.truncate(usize::try_from(kept).expect("shorter than the data"));
                    }
                    _ => return,
                }
            }
            // There is no owner left to report an error to.
            if self.run(step).is_err() || position == whole {
                return;
            }
        }
    }

    pub(super) fn read(&mut self, file: &FileName, at: u64, len: usize) -> Result<Bytes, DiskError> {
        self.chance(SimOperation::Read, file.as_str())?;
        let content =
            self.tree.content(file.as_str()).map_err(|refusal| named("read", file.as_str(), refusal))?;
        let bytes = content.bytes();
        let from = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let to = from.saturating_add(len).min(bytes.len());
        Ok(Bytes::copy_from_slice(&bytes[from..to]))
    }

    pub(super) fn list(&mut self, directory: Option<&FileName>) -> Result<Vec<(String, Kind)>, DiskError> {
        let name = directory.map(FileName::as_str);
        self.chance(SimOperation::List, name.unwrap_or("."))?;
        self.tree.list(name).map_err(|refusal| named("list", name.unwrap_or("."), refusal))
    }

    pub(super) fn stamp(&mut self, name: &FileName) -> Result<FileStamp, DiskError> {
        self.chance(SimOperation::List, name.as_str())?;
        self.tree.stamp(name.as_str()).map_err(|refusal| named("stat", name.as_str(), refusal))
    }

    /// The operations that a command asks for.
    fn steps(&self, command: &DiskCommand) -> Vec<Step> {
        match command {
            DiskCommand::Write { file, at, data } => {
                vec![Step::Write { file: text(file), at: *at, data: data.concat(), makes: *at == 0 }]
            }
            DiskCommand::Sync { files } => self.sync_steps(files),
            DiskCommand::Publish { files, lane } => self.publish_steps(files, *lane == Lane::Write),
            DiskCommand::Truncate { file, len } => vec![Step::Truncate { file: text(file), len: *len }],
            DiskCommand::Rename { from, to } => Self::rename_steps(from, to),
            DiskCommand::DeleteFiles { files } => {
                // Each once: the second time it is not there any more.
                let there: BTreeSet<&FileName> = files.iter().filter(|file| self.is_there(file)).collect();
                there.into_iter().map(|file| Step::RemoveFile(text(file))).collect()
            }
            DiskCommand::DeleteDirectory { directory } => self.remove_steps(directory.as_str()),
            DiskCommand::Read { .. } | DiskCommand::Space => Vec::new(),
        }
    }

    /// Whether there is anything under a name, be it the wrong thing.
    fn is_there(&self, name: &FileName) -> bool {
        self.tree.kind(name.as_str()).is_ok()
    }

    pub(super) fn sync_steps(&self, files: &[FileName]) -> Vec<Step> {
        let steps = files.iter().flat_map(|file| {
            let content = self.is_there(file).then(|| Step::SyncContent(text(file)));
            let is_anywhere = file.parent().is_none_or(|directory| self.tree.kind(directory).is_ok());
            content.into_iter().chain(is_anywhere.then(|| Step::SyncNames(parent(file))))
        });
        steps.collect()
    }

    /// Rounds of temporary files, syncs, renames and directory syncs. A name that comes twice
    /// begins a new round.
    /// Missing directories are made if so asked.
    pub(super) fn publish_steps(&self, files: &[SmallFile], makes_directories: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut rest = files;
        while !rest.is_empty() {
            let mut names = BTreeSet::new();
            let round = rest.iter().take_while(|file| names.insert(&file.name)).count();
            self.publish_round(&rest[..round], makes_directories, &mut steps);
            rest = &rest[round..];
        }
        steps
    }

    fn publish_round(&self, files: &[SmallFile], makes_directories: bool, steps: &mut Vec<Step>) {
        let temporary = |file: &SmallFile| format!("{}.tmp", file.name);
        for file in files {
            let name = file.name.as_str();
            let ancestors = name.match_indices('/').map(|(slash, _)| &name[..slash]);
            let missing =
                ancestors.filter(|directory| makes_directories && self.tree.kind(directory).is_err());
            steps.extend(missing.map(|directory| Step::MakeDirectory(directory.to_owned())));
            steps.push(Step::Replace { file: temporary(file), data: file.content.to_vec() });
        }
        steps.extend(files.iter().map(|file| Step::SyncContent(temporary(file))));
        steps.extend(files.iter().map(|file| Step::Rename { from: temporary(file), to: text(&file.name) }));
        let mut directories: Vec<_> = files.iter().map(|file| parent(&file.name)).collect();
        directories.dedup();
        steps.extend(directories.into_iter().map(Step::SyncNames));
    }

    pub(super) fn rename_steps(from: &FileName, to: &FileName) -> Vec<Step> {
        Self::rename_all_steps(&[(from.clone(), to.clone())])
    }

    /// All renames, then the syncs of their directories.
    pub(super) fn rename_all_steps(renames: &[(FileName, FileName)]) -> Vec<Step> {
        let renamed = renames.iter().map(|(from, to)| Step::Rename { from: text(from), to: text(to) });
        let mut directories: Vec<_> =
            renames.iter().flat_map(|(from, to)| [parent(to), parent(from)]).collect();
        directories.dedup();
        renamed.chain(directories.into_iter().map(Step::SyncNames)).collect()
    }

    /// Deletes a file, or a directory from the inside out; nothing if it is not there.
    pub(super) fn remove_steps(&self, name: &str) -> Vec<Step> {
        match self.tree.kind(name) {
            Err(_) => Vec::new(),
            Ok(Kind::File { .. }) => vec![Step::RemoveFile(name.to_owned())],
            Ok(Kind::Directory) => {
                let inside = self.tree.list(Some(name)).unwrap_or_default();
                let mut steps: Vec<Step> = inside
                    .iter()
                    .flat_map(|(child, _)| self.remove_steps(&format!("{name}/{child}")))
                    .collect();
                steps.push(Step::RemoveDirectory(name.to_owned()));
                steps
            }
        }
    }

    pub(super) fn run(&mut self, step: Step) -> Result<(), DiskError> {
        for name in step.takes_away() {
            self.written.on_left(name);
        }
        self.apply(step)
    }

    fn apply(&mut self, step: Step) -> Result<(), DiskError> {
        match step {
            Step::MakeDirectory(name) => {
                self.chance(SimOperation::MakeDirectory, &name)?;
                self.tree.create_directory(&name).map_err(|refusal| named("mkdir", &name, refusal))
            }
            Step::Write { file, at, data, makes } => self.write(&file, Some(at), data, makes),
            Step::Replace { file, data } => self.write(&file, None, data, true),
            Step::Truncate { file, len } => {
                self.chance(SimOperation::Truncate, &file)?;
                if self.written.has_vanished(&file, &self.tree) {
                    return Ok(());
                }
                let content =
                    self.tree.content_mut(&file).map_err(|refusal| named("truncate", &file, refusal))?;
                content.truncate(len);
                content.modified_ms = self.wall_ms;
                self.written.on_change(&file, &self.tree);
                Ok(())
            }
            Step::SyncContent(file) => {
                self.chance(SimOperation::Sync, &file)?;
                let done = if self.keeps_what_is_synced {
                    self.tree.sync_content(&file)
                } else {
                    self.tree.content(&file).map(drop)
                };
                done.map_err(|refusal| named("sync", &file, refusal))
            }
            Step::SyncNames(directory) => {
                let name = directory.as_deref();
                self.chance(SimOperation::Sync, name.unwrap_or("."))?;
                self.tree.sync_names(name).map_err(|refusal| named("sync", name.unwrap_or("."), refusal))
            }
            Step::Rename { from, to } => {
                self.chance(SimOperation::Rename, &from)?;
                self.tree.rename(&from, &to).map_err(|refusal| named("rename", &from, refusal))
            }
            Step::RemoveFile(name) => {
                self.chance(SimOperation::Remove, &name)?;
                self.tree.remove_file(&name).map_err(|refusal| named("unlink", &name, refusal))
            }
            Step::RemoveDirectory(name) => {
                self.chance(SimOperation::Remove, &name)?;
                self.tree.remove_directory(&name).map_err(|refusal| named("rmdir", &name, refusal))
            }
        }
    }

    /// Writes at a place, or (`None`) instead of everything that is there. A disk that fails or is
    /// full may have taken some of it.
    fn write(
        &mut self,
        file: &str,
        at: Option<u64>,
        mut data: Vec<u8>,
        makes: bool,
    ) -> Result<(), DiskError> {
        let struck = self.chance(SimOperation::Write, file);
        let not_carried_out = matches!(struck, Err(DiskError::Offline | DiskError::Shortage { .. }));
        if not_carried_out || self.written.has_vanished(file, &self.tree) {
            return struck; // into a file that has no name any more
        }
        if !makes {
            self.tree.content(file).map_err(|refusal| named("write", file, refusal))?;
        }
        self.tree.create_file(file).map_err(|refusal| named("write", file, refusal))?;
        let content = self.tree.content_mut(file).map_err(|refusal| named("write", file, refusal))?;
        if at.is_none() && content.len() > 0 {
            content.truncate(0);
        }
        let len = content.len();
        let at = at.unwrap_or(0);
        let growth = (at + data.len() as u64).saturating_sub(len);
        let room = self.capacity.saturating_sub(self.tree.used());
        let result = if growth > room {
            Err(failed("write", file, "No space left on device (os error 28)"))
        } else {
            struck
        };
        if result.is_err() {
            let fits = (data.len() as u64).min((len + room).saturating_sub(at));
            let kept = self.random.within(0..fits + 1);
            data.truncate(usize::try_from(kept).expect("shorter than the data"));
        }
        let content = self.tree.content_mut(file).map_err(|refusal| named("write", file, refusal))?;
        content.write(at, data);
        content.modified_ms = self.wall_ms;
        self.written.on_change(file, &self.tree);
        result
    }

    /// Lets a shortage strike.
    fn is_short(&mut self, operation: SimOperation, name: &str) -> bool {
        let struck = self.shortages.iter_mut().position(|fault| fault.strikes(operation, name));
        struck.map(|struck| self.shortages.remove(struck)).is_some()
    }

    /// Lets a fault strike, and the process die.
    fn chance(&mut self, operation: SimOperation, name: &str) -> Result<(), DiskError> {
        match &mut self.operations_left {
            Some(0) => return Err(DiskError::Offline),
            Some(left) => *left -= 1,
            None => {}
        }
        if !self.in_order && self.is_short(operation, name) {
            return Err(DiskError::Shortage {
                what: format!("{} {name}", operation.word()).into(),
                reason: "Too many open files (os error 24)".into(),
            });
        }
        match self.faults.iter_mut().position(|fault| fault.strikes(operation, name)) {
            None => Ok(()),
            Some(struck) => {
                self.faults.remove(struck);
                Err(failed(&operation.word(), name, "Input/output error (os error 5)"))
            }
        }
    }
}

impl Step {
    /// What a fault can strike.
    fn operation(&self) -> (SimOperation, &str) {
        match self {
            Self::MakeDirectory(name) => (SimOperation::MakeDirectory, name),
            Self::Write { file, .. } | Self::Replace { file, .. } => (SimOperation::Write, file),
            Self::Truncate { file, .. } => (SimOperation::Truncate, file),
            Self::SyncContent(file) => (SimOperation::Sync, file),
            Self::SyncNames(directory) => (SimOperation::Sync, directory.as_deref().unwrap_or(".")),
            Self::Rename { from, .. } => (SimOperation::Rename, from),
            Self::RemoveFile(name) | Self::RemoveDirectory(name) => (SimOperation::Remove, name),
        }
    }

    /// Names that stand for something else, or for nothing, afterwards.
    fn takes_away(&self) -> Vec<&str> {
        match self {
            Self::Rename { from, to } => vec![from, to],
            Self::MakeDirectory(name) | Self::RemoveFile(name) | Self::RemoveDirectory(name) => vec![name],
            _ => Vec::new(),
        }
    }
}

fn text(name: &FileName) -> String {
    name.as_str().to_owned()
}

fn parent(name: &FileName) -> Option<String> {
    name.parent().map(str::to_owned)
}

fn named(what: &str, name: &str, refusal: Refusal) -> DiskError {
    match refusal {
        Refusal::NotFound => DiskError::NotFound { name: name.into() },
        _ => failed(what, name, refusal.words()),
    }
}

fn failed(what: &str, name: &str, reason: &str) -> DiskError {
    DiskError::Failed { what: format!("{what} {name}").into(), reason: reason.into() }
}
