//! What the doctor says, in the form that was asked for.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use aplomb_doctor::diagnosis::diagnose;
use aplomb_doctor::page;
use aplomb_doctor::recording::Recording;
use clap::{Args, ValueEnum};

/// How the answer is given.
#[derive(Debug, Args)]
pub(super) struct AnswerArgs {
    /// What goes to the standard output.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
    /// Draw it, too: one HTML file that needs nothing else.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Keep what was seen, for `aplomb doctor examine`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// A form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people.
    Text,
    /// For programs: `causes`, the best first, each with `name`, `confidence`, `evidence` and
    /// `remedy`.
    Json,
    /// The page.
    Html,
}

impl AnswerArgs {
    /// Says what a recording shows.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn tell(&self, recording: &Recording) -> Result<(), Box<dyn Error>> {
        if let Some(file) = &self.record {
            fs::write(file, recording.to_json()?).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let diagnosis = diagnose(recording);
        if let Some(file) = &self.page {
            let page = page::page(recording, &diagnosis);
            fs::write(file, page).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let said = match self.format {
            Form::Text => page::text::text(recording, &diagnosis),
            Form::Json => page::json(recording, &diagnosis),
            Form::Html => page::page(recording, &diagnosis),
        };
        print!("{said}");
        Ok(())
    }
}
