//! Making files and names durable, and looking whether what was made durable is still there.
//!
//! Always holds: a sync that ends well covers every change of its files that was handed over before
//! it. One that was refused, or that fell into a file that is no longer there, fails the sync, and
//! with it the disk.

use std::iter::Peekable;
use std::sync::Arc;

use aplomb_disk_api::{DiskError, FileName};

use crate::errors::{is_absent, is_shortage};
use crate::files::Files;
use crate::io::Syncs;
use crate::open_file::OpenFile;
use crate::shortage::Endurance;
use crate::written::Owed;

/// Makes the content and the names of these files durable. Of one that does not exist, and has
/// nothing written to it, that it is gone becomes durable.
pub(crate) fn sync_files(
    files: &Files,
    syncs: &mut dyn Syncs,
    mut names: Vec<&FileName>,
) -> Result<(), DiskError> {
    names.sort_unstable();
    names.dedup();
    let owed = Debts::of(files, names.iter().copied());
    owed.refuse_if_refused()?;
    if files.are_many(names.len()) {
        let unsettled = files.unsettled(names.iter().copied());
        files.sync_file_system().map_err(|error| files.sync_error("", &error))?;
        unsettled.iter().for_each(|(directory, mark)| files.settle(directory, *mark));
    } else {
        let mut rest = names.iter().copied().peekable();
        while rest.peek().is_some() {
            let (open, gone) = open_some(files, &mut rest)?;
            // Deletions do not wait for this: their going is made durable for who asks for it.
            gone.iter().for_each(|name| files.unsettle(name.parent()));
            open.iter().for_each(|_| files.stats().on_sync());
            syncs
                .sync(&open)
                .map_err(|failed| files.sync_error(failed.file.name().as_str(), &failed.error))?;
        }
        sync_names(files, names.into_iter())?;
    }
    owed.settle()
}

/// Opens as many of these files as there are descriptors for, and gives them and the names under
/// which there is none. It waits for the first only, so that no wait is for a descriptor that this
/// thread holds.
fn open_some<'a>(
    files: &Files,
    rest: &mut Peekable<impl Iterator<Item = &'a FileName>>,
) -> Result<(Vec<Arc<OpenFile>>, Vec<&'a FileName>), DiskError> {
    let hasty = files.with(Endurance::None);
    let (mut open, mut gone) = (Vec::new(), Vec::new());
    while let Some(name) = rest.peek() {
        let opened = if open.is_empty() { files } else { &hasty }.existing(name);
        match opened {
            Ok(file) => open.push(file),
            Err(error) if is_absent(&error) => gone.push(*name),
            Err(error) if is_shortage(&error) && !open.is_empty() => break,
            Err(error) => return Err(files.error("open", name.as_str(), &error)),
        }
        rest.next();
    }
    Ok((open, gone))
}

/// Makes the names of these files durable, and those of the directories above them.
pub(crate) fn sync_names<'a>(
    files: &Files,
    names: impl Iterator<Item = &'a FileName>,
) -> Result<(), DiskError> {
    let directories = files.unsettled(names);
    if files.are_many(directories.len()) {
        files.sync_file_system().map_err(|error| files.sync_error("", &error))?;
        directories.iter().for_each(|(directory, mark)| files.settle(directory, *mark));
        return Ok(());
    }
    directories.iter().try_for_each(|(directory, mark)| {
        files.sync_directory(directory)?;
        files.settle(directory, *mark);
        Ok(())
    })
}

/// What some files owed when a sync of them began.
pub(crate) struct Debts<'a> {
    files: &'a Files,
    owed: Vec<(&'a FileName, Owed)>,
}

impl<'a> Debts<'a> {
    /// To be called before the sync, so that it covers what is owed.
    pub(crate) fn of(files: &'a Files, names: impl Iterator<Item = &'a FileName>) -> Self {
        let owed = names.filter_map(|name| files.owed(name).map(|owed| (name, owed))).collect();
        Self { files, owed }
    }

    fn refuse_if_refused(&self) -> Result<(), DiskError> {
        match self.owed.iter().find(|(_, owed)| owed.refused) {
            None => Ok(()),
            Some((name, _)) => {
                Err(missed(name, "a write to it found no file, or no directory to make it in"))
            }
        }
    }

    /// To be called after the sync: what it covered is still there, or this is an error.
    pub(crate) fn settle(self) -> Result<(), DiskError> {
        if self.files.is_root_gone() {
            return Err(self.files.root_error());
        }
        for (name, owed) in self.owed {
            let vanished = self.files.has_vanished(name);
            if vanished.map_err(|error| self.files.error("look for", name.as_str(), &error))? {
                return Err(missed(name, "it is not there any more, and no command of ours took it away"));
            }
            self.files.on_synced(name, owed);
        }
        Ok(())
    }
}

fn missed(name: &FileName, reason: &str) -> DiskError {
    DiskError::Failed { what: Arc::from(format!("sync {name}")), reason: reason.into() }
}
