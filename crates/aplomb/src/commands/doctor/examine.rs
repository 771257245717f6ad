//! `aplomb doctor examine`: files that were kept, or sent.

use std::error::Error;
use std::path::PathBuf;

use aplomb_doctor::examine::{Examined, examine};
use aplomb_doctor::recording::Recording;
use aplomb_lab::record::Run;
use clap::Args;

use super::answer::AnswerArgs;

/// Which files, and which broker of a record of several.
#[derive(Debug, Args)]
pub(super) struct ExamineArgs {
    /// Files, or folders of them, of one process. Of a lab's record each broker is a process of its
    /// own: `--broker` says which.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Of a lab's record: the broker, by its kind (`kafka`) or its number from 1.
    #[arg(long)]
    broker: Option<String>,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Examines, and says what was found.
pub(super) fn run(args: &ExamineArgs) -> Result<(), Box<dyn Error>> {
    let Examined { recording, unread } = examine(&args.files, &|json| run_of(json, args.broker.as_deref()));
    for (path, error) in &unread {
        eprintln!("aplomb: {}: {error}", path.display());
    }
    let recording = recording.ok_or("none of these files says anything of a broker")?;
    args.answer.tell(&recording)
}

/// The run of one broker in a record of the lab; `None` if it is no such record.
fn run_of(json: &[u8], broker: Option<&str>) -> Option<Recording> {
    let run = Run::from_json(json).ok()?;
    let number: Option<usize> = broker.and_then(|text| text.parse().ok());
    let fits = |(at, one): &(usize, &aplomb_lab::record::BrokerRun)| match (number, broker) {
        (Some(number), _) => at + 1 == number,
        (None, Some(kind)) => one.broker.kind == kind,
        (None, None) => true,
    };
    run.brokers.iter().enumerate().find(fits).map(|(_, one)| one.recording())
}
