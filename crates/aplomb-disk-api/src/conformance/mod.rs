//! What every disk promises: one suite, run on the simulated and the real.
//!
//! A disk joins by implementing [`Harness`] and naming it in
//! [`disk_conformance!`](crate::disk_conformance), which makes one test of each promise. The
//! promises are in [`order`] (what a lane guarantees), [`names`] (publish, rename, delete),
//! [`reads`], [`jobs`] and [`endings`] (full queues, losses, stops: every command ends once).
//! Nothing here knows which disk it is talking to.

pub mod endings;
pub mod jobs;
pub mod names;
pub mod order;
pub mod reads;
pub mod vanished;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aplomb_model::Instant;
use bytes::Bytes;

use crate::stats::DiskStats;
use crate::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskJob, DiskQueue, Done, FileName, Lane, QueueFull,
    SmallFile, Ticket,
};

/// How many turns a command may take before the suite says that it hangs.
const PATIENCE: usize = 20_000;

/// A disk under test, empty when the test begins.
pub trait Harness {
    /// An entrance to the disk. Full lanes are tested: a lane should hold some tens or hundreds of
    /// commands, not more.
    fn queue(&mut self, sink: Arc<dyn CompletionSink>) -> Box<dyn DiskQueue>;

    /// The clock.
    fn now(&self) -> Instant;

    /// Lets the disk work for about a millisecond.
    fn turn(&mut self);

    /// Ends the disk's process in good order: what was accepted is carried out and completed.
    fn stop(&mut self);

    /// Ends the disk's process as badly as the harness can, a power cut if possible, and starts
    /// another one on the same files. Earlier entrances are dead.
    fn crash(&mut self);

    /// Deletes a file, or a directory with all in it, behind the disk's back. `None`: the log
    /// directory itself.
    fn vanish(&mut self, name: Option<&str>);

    /// Every file and its content, read without the disk's help.
    fn files(&self) -> BTreeMap<String, Bytes>;

    /// The disk's counters.
    fn stats(&self) -> Arc<DiskStats>;
}

/// Makes one `#[test]` of every promise. Takes an expression that makes a fresh [`Harness`].
#[macro_export]
macro_rules! disk_conformance {
    ($fresh:expr) => {
        $crate::disk_conformance! { @each $fresh;
            order: a_write_makes_the_file_and_later_ones_build_on_it,
            order: overlapping_writes_and_truncations_take_effect_in_order,
            order: many_parts_become_one_write,
            order: a_sync_covers_every_earlier_write,
            order: a_sync_passes_over_what_is_gone,
            order: writes_to_many_files_all_arrive,
            names: a_publication_replaces_files_as_a_whole,
            names: a_deleted_file_does_not_come_back_once_it_is_synced,
            names: a_published_directory_is_there_for_the_next_write,
            names: a_publication_that_a_crash_interrupts_leaves_old_or_new,
            names: neighbouring_publications_keep_their_order,
            names: a_renamed_file_has_left_its_old_name,
            names: a_renamed_directory_takes_its_files_along,
            names: a_large_directory_goes_as_a_whole,
            names: a_deleted_file_can_be_written_anew,
            reads: a_read_ends_at_the_end_of_the_file,
            reads: a_missing_file_is_not_found_and_the_disk_is_well,
            reads: a_stream_of_reads_sees_every_byte_in_order,
            reads: a_read_sees_what_was_appended_after_an_earlier_one,
            reads: a_read_sees_what_replaced_the_bytes_read_earlier,
            endings: a_full_lane_gives_the_command_back,
            endings: each_owner_hears_of_its_own_commands_once,
            endings: lent_bytes_live_until_the_completion_and_not_much_longer,
            endings: after_a_loss_everything_ends_offline,
            endings: a_stop_carries_out_what_was_accepted,
            endings: an_idle_disk_has_nothing_outstanding,
            endings: the_disk_says_how_much_room_it_has,
            jobs: a_job_does_what_its_calls_say_and_gives_its_outcome_back,
            jobs: a_stamp_tells_what_was_changed_from_what_was_not,
            jobs: a_job_is_stepped_until_it_is_done_and_ends_once,
            jobs: a_job_holds_up_no_command,
            jobs: a_full_lane_gives_the_job_back,
            jobs: commands_see_what_a_job_changed,
            jobs: a_job_that_does_not_find_a_file_loses_nothing,
            jobs: an_error_that_a_job_keeps_to_itself_loses_the_disk,
            jobs: a_lost_disk_ends_its_jobs,
            jobs: a_job_that_fails_loses_the_disk,
            vanished: a_file_that_vanishes_before_its_sync_is_missed,
            vanished: a_write_into_a_file_that_vanished_is_missed,
            vanished: a_directory_that_vanishes_is_missed_among_many,
            vanished: a_checkpoint_of_a_directory_that_vanished_finds_none,
            vanished: a_write_that_is_not_the_first_makes_no_file,
            vanished: a_log_directory_that_vanishes_is_lost,
            vanished: a_sync_without_a_log_directory_is_missed,
            vanished: what_our_own_commands_took_away_is_not_missed,
            vanished: a_deletion_passes_over_what_vanished,
            vanished: nothing_is_missed_while_our_own_commands_take_names_away,
        }
    };
    (@each $fresh:expr; $($room:ident: $promise:ident,)+) => {
        $(
            #[test]
            fn $promise() {
                $crate::conformance::$room::$promise(&mut $fresh);
            }
        )+
    };
}

/// One owner of commands: an entrance, and the letters that came back.
pub(crate) struct Owner {
    queue: Box<dyn DiskQueue>,
    mailbox: Arc<Mailbox>,
}

/// Collects completions.
#[derive(Default)]
pub(crate) struct Mailbox(Mutex<BTreeMap<Ticket, Vec<Result<Done, DiskError>>>>);

impl CompletionSink for Mailbox {
    fn complete(&self, completion: Completion) {
        self.letters().entry(completion.ticket).or_default().push(completion.result);
    }
}

impl Mailbox {
    pub(crate) fn letters(
        &self,
    ) -> std::sync::MutexGuard<'_, BTreeMap<Ticket, Vec<Result<Done, DiskError>>>> {
        self.0.lock().expect("nobody panics with a mailbox open")
    }
}

impl Owner {
    pub(crate) fn new(harness: &mut impl Harness) -> Self {
        let mailbox = Arc::new(Mailbox::default());
        let queue = harness.queue(Arc::clone(&mailbox) as Arc<dyn CompletionSink>);
        Self { queue, mailbox }
    }

    pub(crate) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    pub(crate) fn try_submit(
        &mut self,
        harness: &impl Harness,
        command: DiskCommand,
    ) -> Result<Ticket, QueueFull<DiskCommand>> {
        self.queue.try_submit(command, harness.now())
    }

    /// Submits, waiting for room if need be.
    pub(crate) fn submit(&mut self, harness: &mut impl Harness, mut command: DiskCommand) -> Ticket {
        for _ in 0..PATIENCE {
            match self.try_submit(harness, command) {
                Ok(ticket) => return ticket,
                Err(QueueFull(back)) => command = back,
            }
            harness.turn();
        }
        panic!("the disk took no command any more: {command:?}");
    }

    pub(crate) fn try_submit_job(
        &mut self,
        harness: &impl Harness,
        job: Box<dyn DiskJob>,
    ) -> Result<Ticket, QueueFull<Box<dyn DiskJob>>> {
        self.queue.try_submit_job(job, harness.now())
    }

    /// Submits a job, waiting for room if need be.
    pub(crate) fn submit_job(&mut self, harness: &mut impl Harness, mut job: Box<dyn DiskJob>) -> Ticket {
        for _ in 0..PATIENCE {
            match self.try_submit_job(harness, job) {
                Ok(ticket) => return ticket,
                Err(QueueFull(back)) => job = back,
            }
            harness.turn();
        }
        panic!("the disk took no job any more");
    }

    /// Submits a job and waits for its end.
    pub(crate) fn ask_job(
        &mut self,
        harness: &mut impl Harness,
        job: Box<dyn DiskJob>,
    ) -> Result<Done, DiskError> {
        let ticket = self.submit_job(harness, job);
        self.wait(harness, ticket)
    }

    /// Waits for one completion.
    pub(crate) fn wait(&self, harness: &mut impl Harness, ticket: Ticket) -> Result<Done, DiskError> {
        for _ in 0..PATIENCE {
            if let Some(results) = self.mailbox.letters().get(&ticket) {
                return results[0].clone();
            }
            harness.turn();
        }
        panic!("{ticket:?} was never completed");
    }

    /// Waits for all of them; each must have been carried out.
    pub(crate) fn wait_done(&self, harness: &mut impl Harness, tickets: &[Ticket]) {
        for ticket in tickets {
            assert_eq!(self.wait(harness, *ticket), Ok(Done::Nothing), "{ticket:?}");
        }
    }

    /// Submits and waits.
    pub(crate) fn ask(
        &mut self,
        harness: &mut impl Harness,
        command: DiskCommand,
    ) -> Result<Done, DiskError> {
        let ticket = self.submit(harness, command);
        self.wait(harness, ticket)
    }

    /// Submits and waits for a command that must succeed.
    pub(crate) fn must(&mut self, harness: &mut impl Harness, command: DiskCommand) {
        let words = format!("{command:?}");
        assert_eq!(self.ask(harness, command), Ok(Done::Nothing), "{words:.200}");
    }
}

pub(crate) fn name(name: &str) -> FileName {
    FileName::new(name)
}

pub(crate) fn write(file: &str, at: u64, data: impl Into<Bytes>) -> DiskCommand {
    DiskCommand::Write { file: name(file), at, data: vec![data.into()] }
}

pub(crate) fn sync(files: &[&str]) -> DiskCommand {
    DiskCommand::Sync { files: files.iter().map(|file| name(file)).collect() }
}

pub(crate) fn publish(lane: Lane, files: &[(&str, &str)]) -> DiskCommand {
    let small = |(file, content): &(&str, &str)| SmallFile {
        name: name(file),
        content: Bytes::copy_from_slice(content.as_bytes()),
    };
    DiskCommand::Publish { files: files.iter().map(small).collect(), lane }
}

/// Bytes that differ from place to place, so that a misplaced block shows.
pub(crate) fn pattern(from: u64, len: usize) -> Vec<u8> {
    (from..from + len as u64).map(|at| (at ^ (at >> 8) ^ (at >> 16).wrapping_mul(31)) as u8).collect()
}

/// Small dice for the suite itself.
pub(crate) fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}
