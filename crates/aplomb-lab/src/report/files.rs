//! Records and pages as files: what a run leaves in a directory, and what is made of records that
//! are there.
//!
//! What always holds: a page has its record's name and stands where it was asked for; a file is
//! complete or absent, since it is written under another name first; a directory's files that are
//! no records are named, not passed over in silence.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::Entry;
use crate::record::{RecordError, Run};

/// More bytes than any record has.
const MAX_RECORD: u64 = 256 << 20;

/// Why a record or a page could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system would not.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no record of a run.
    #[error("{}: {source}", path.display())]
    Record {
        /// Which file.
        path: PathBuf,
        /// What is wrong with the record.
        source: RecordError,
    },
    /// Nothing to compare.
    #[error("{}: there is no record of a run in it", path.display())]
    NoRecord {
        /// Which directory.
        path: PathBuf,
    },
}

/// Reads a record, also one that was packed with gzip (`.json.gz`).
///
/// # Errors
/// When the file cannot be read, or is no record.
pub fn read(path: &Path) -> Result<Run, FileError> {
    let failed = |source| FileError::Io { path: path.to_owned(), source };
    let mut json = fs::read(path).map_err(failed)?;
    if is_packed(path) {
        let mut unpacked = Vec::new();
        let read = GzDecoder::new(json.as_slice()).take(MAX_RECORD).read_to_end(&mut unpacked);
        read.map_err(failed)?;
        json = unpacked;
    }
    Run::from_json(&json).map_err(|source| FileError::Record { path: path.to_owned(), source })
}

/// Writes a run's record and its page into a directory, which is made if it is not there; both have
/// the incident's name. Gives the record's path and the page's.
///
/// # Errors
/// When a file cannot be written, or the record holds a number that is not finite.
pub fn write_run(directory: &Path, run: &Run) -> Result<(PathBuf, PathBuf), FileError> {
    let record = directory.join(format!("{}.json", file_name(&run.incident.name)));
    let json =
        run.to_json().map_err(|source| FileError::Record { path: record.clone(), source: source.into() })?;
    write(&record, &json)?;
    let page = write_page(run, &record, directory)?;
    Ok((record, page))
}

/// Writes the page of a record that was read from `record` into `directory`, and gives its path.
/// The page leads to the record if they are neighbours.
///
/// # Errors
/// When the page cannot be written.
pub fn write_page(run: &Run, record: &Path, directory: &Path) -> Result<PathBuf, FileError> {
    let page = page_of(record, directory);
    let neighbours = record.parent().unwrap_or(Path::new("")) == directory;
    let name = record.file_name().filter(|_| neighbours).map(|name| name.to_string_lossy().into_owned());
    write(&page, &super::page(run, name.as_deref()))?;
    Ok(page)
}

/// What [`write_comparison`] has done.
#[derive(Debug)]
pub struct Compared {
    /// The comparison: a page, a picture and a table.
    pub written: Vec<PathBuf>,
    /// JSON files that are no records, and why.
    pub left_out: Vec<FileError>,
}

/// Compares the records that are in a directory: `comparison.html`, `comparison.svg` and
/// `comparison.md`, into `out`, which is made if it is not there. A row leads to its run's page,
/// which is written to `out` too.
///
/// # Errors
/// When the directory cannot be read, has no record, or a file cannot be written.
pub fn write_comparison(directory: &Path, out: &Path) -> Result<Compared, FileError> {
    let listing = |source| FileError::Io { path: directory.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(listing)? {
        let path = entry.map_err(listing)?.path();
        if record_name(&path).is_some() {
            paths.push(path);
        }
    }
    paths.sort();
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for path in paths {
        match read(&path) {
            Ok(run) => runs.push((path, run)),
            Err(error) => left_out.push(error),
        }
    }
    if runs.is_empty() {
        return Err(FileError::NoRecord { path: directory.to_owned() });
    }
    let mut pages = Vec::new();
    for (path, run) in &runs {
        let page = write_page(run, path, out)?;
        pages.push(page.file_name().unwrap_or_default().to_string_lossy().into_owned());
    }
    let entries: Vec<Entry<'_>> =
        runs.iter().zip(&pages).map(|((_, run), page)| Entry { run, page: Some(page) }).collect();
    let files = [
        ("comparison.html", super::compare_page(&entries)),
        ("comparison.svg", super::compare_svg(&entries)),
        ("comparison.md", super::compare_markdown(&entries)),
    ];
    let mut written = Vec::new();
    for (name, text) in files {
        let path = out.join(name);
        write(&path, &text)?;
        written.push(path);
    }
    Ok(Compared { written, left_out })
}

fn page_of(record: &Path, directory: &Path) -> PathBuf {
    let mut name = record_name(record).or(record.file_stem()).unwrap_or_default().to_owned();
    name.push(".html");
    directory.join(name)
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// The name of a record without its endings; none if the file is not JSON by its name.
fn record_name(path: &Path) -> Option<&OsStr> {
    let json = if is_packed(path) { Path::new(path.file_stem()?) } else { path };
    json.file_stem().filter(|_| json.extension().is_some_and(|extension| extension == "json"))
}

/// A name that stays in its directory, whatever an incident is called.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    name.chars().map(plain).take(100).collect()
}

fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let failed = |source| FileError::Io { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".part");
    fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, path)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incidents_name_does_not_leave_the_directory() {
        assert_eq!(file_name("inode-lock"), "inode-lock");
        assert_eq!(file_name("../../etc/passwd"), "______etc_passwd");
    }

    #[test]
    fn a_page_has_its_records_name() {
        for record in ["a/inode-lock.json", "a/inode-lock.json.gz"] {
            assert_eq!(page_of(Path::new(record), Path::new("b")), Path::new("b/inode-lock.html"));
        }
    }
}
