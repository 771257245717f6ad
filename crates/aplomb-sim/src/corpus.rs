//! Scenarios that found something once, kept in a directory: a scenario a line in its text files,
//! with the reason behind a `#`.
//!
//! What always holds: a scenario is kept once. A line that is no scenario is an error and not
//! passed over, since it was kept to be run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Failure, NotAScenario, Scenario};

/// Where new scenarios are added.
const FOUND: &str = "found.txt";

/// Why a corpus could not be read or added to.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The file system would not.
    #[error("{}: {source}", path.display())]
    Io {
        /// The directory or the file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is no scenario.
    #[error("{}: {source}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Why.
        source: NotAScenario,
    },
}

/// The scenarios of a directory.
#[derive(Debug)]
pub struct Corpus {
    directory: PathBuf,
    scenarios: Vec<Scenario>,
}

impl Corpus {
    /// Reads all `*.txt` of a directory, in the order of their names. One that is not there is an
    /// empty corpus.
    ///
    /// # Errors
    /// When a file cannot be read, or a line is no scenario.
    pub fn open(directory: &Path) -> Result<Self, CorpusError> {
        let failed = |source| CorpusError::Io { path: directory.to_owned(), source };
        let mut paths = Vec::new();
        match fs::read_dir(directory) {
            Ok(entries) => {
                for entry in entries {
                    paths.push(entry.map_err(failed)?.path());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
        paths.sort();
        let mut scenarios = Vec::new();
        for path in paths {
            let text =
                fs::read_to_string(&path).map_err(|source| CorpusError::Io { path: path.clone(), source })?;
            let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
            for line in lines.filter(|line| !line.is_empty()) {
                scenarios
                    .push(line.parse().map_err(|source| CorpusError::Line { path: path.clone(), source })?);
            }
        }
        Ok(Self { directory: directory.to_owned(), scenarios })
    }

    /// What is kept.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// Adds a scenario with what it found, here and in the directory, which is made if it is not
    /// there. Returns whether it was new.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&mut self, scenario: &Scenario, failure: &Failure) -> Result<bool, CorpusError> {
        if self.scenarios.contains(scenario) {
            return Ok(false);
        }
        let path = self.directory.join(FOUND);
        let reason = failure.what.lines().next().unwrap_or_default();
        let written = fs::create_dir_all(&self.directory).and_then(|()| {
            use io::Write as _;
            let mut file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(format!("{scenario} # {reason}\n").as_bytes())
        });
        written.map_err(|source| CorpusError::Io { path, source })?;
        self.scenarios.push(scenario.clone());
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_kept_is_read_again_once_and_with_its_reason() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("corpus");
        let scenario: Scenario = "seed=17 millis=250 without-faults=1,2".parse().expect("a scenario");
        let failure = Failure { at: Duration::from_millis(9), what: "a record is gone\nand more".to_owned() };
        let mut corpus = Corpus::open(&directory).expect("absent is empty");
        assert!(corpus.keep(&scenario, &failure).expect("writable"));
        assert!(!corpus.keep(&scenario, &failure).expect("writable"));
        let text = fs::read_to_string(directory.join(FOUND)).expect("kept");
        assert_eq!(text, "seed=17 millis=250 without-faults=1,2 # a record is gone\n");
        assert_eq!(Corpus::open(&directory).expect("readable").scenarios(), [scenario]);
    }

    #[test]
    fn a_line_that_is_no_scenario_is_named() {
        let place = tempfile::tempdir().expect("a directory");
        fs::write(place.path().join("a.txt"), "# why\n\nseed=1 # fine\nsead=2\n").expect("writable");
        let error = Corpus::open(place.path()).expect_err("sead").to_string();
        assert!(error.contains("a.txt") && error.contains("sead=2"), "{error}");
    }
}
