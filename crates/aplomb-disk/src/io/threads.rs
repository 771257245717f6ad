//! Plain system calls, one after the other, on the calling thread.
#![expect(unsafe_code, reason = "sync_file_range has no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use super::{Backend, Cursor, FileRun, RunEnd, SyncFailed, Write};
use crate::errors::uninterrupted;
use crate::files::OpenFile;

/// The engine that works everywhere.
pub(super) struct Threads;

impl<W: Write> Backend<W> for Threads {
    fn write(&mut self, runs: Vec<FileRun<W>>, ended: &mut dyn FnMut(FileRun<W>, RunEnd)) {
        let mut failed = false;
        for run in runs {
            let end = match if failed { None } else { Some(carry_out(&run)) } {
                None => RunEnd::Skipped,
                Some(Ok(())) => RunEnd::Done,
                Some(Err(error)) => RunEnd::Failed(error),
            };
            failed |= matches!(end, RunEnd::Failed(_));
            ended(run, end);
        }
    }

    fn sync(&mut self, files: &[Arc<OpenFile>]) -> Result<(), SyncFailed> {
        if files.len() > 1 {
            // All of them start on their way to the disk before the first is waited for.
            files.iter().for_each(|file| start_writeback(file));
        }
        files.iter().try_for_each(|file| {
            uninterrupted(|| rustix::fs::fdatasync(file))
                .map_err(|error| SyncFailed { file: Arc::clone(file), error })
        })
    }
}

fn carry_out<W: Write>(run: &FileRun<W>) -> io::Result<()> {
    let mut cursor = Cursor::default();
    while let Some((at, parts)) = cursor.span(&run.writes) {
        match uninterrupted(|| rustix::io::pwritev(&*run.file, &parts, at))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => cursor.advance(&run.writes, count),
        }
    }
    Ok(())
}

/// A hint; the sync that follows finds every error.
fn start_writeback(file: &OpenFile) {
    // SAFETY: the descriptor is open for the length of the call, which touches no memory of ours.
    unsafe {
        libc::sync_file_range(file.as_fd().as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE);
    }
}
