//! Log lines: events go into a bounded ring, a thread of its own writes them.
//!
//! What always holds: logging never waits. A full ring drops the event and counts it; the writer
//! says how many were lost as soon as it can, and cuts off floods of lines of one kind. Start at
//! [`Log`]; [`mod@line`] is how a line looks, [`writer`] the thread, [`mod@panic`] the end of a
//! process whose thread has panicked.

mod flood;
pub mod line;
pub mod panic;
mod writer;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use aplomb_broker::ports::{Event, Severity};
use aplomb_model::Timestamp;

/// How many events the ring holds.
const CAPACITY: usize = 4096;

/// An event with its time.
#[derive(Debug)]
pub(crate) struct Entry {
    at: Timestamp,
    event: Event,
}

/// What goes through the ring.
#[derive(Debug)]
enum Item {
    Entry(Entry),
    /// Write the rest, then end the process: a thread that carried requests has panicked.
    Abort(Entry),
    /// Write the rest, then end the thread.
    Close,
}

/// The way into the log. Cheap to clone, usable from any thread.
#[derive(Clone, Debug)]
pub struct Log {
    ring: SyncSender<Item>,
    dropped: Arc<AtomicU64>,
}

/// The thread behind a [`Log`]: to be closed when the last line has been said.
#[derive(Debug)]
pub struct LogWriter {
    log: Log,
    thread: JoinHandle<()>,
}

impl Log {
    /// Starts a log whose lines go to `sink`, written by a thread of its own.
    ///
    /// # Errors
    /// If the thread cannot be made.
    pub fn start(sink: Box<dyn Write + Send>) -> std::io::Result<(Self, LogWriter)> {
        let (ring, events) = sync_channel(CAPACITY);
        let log = Self { ring, dropped: Arc::default() };
        let dropped = Arc::clone(&log.dropped);
        let thread = std::thread::Builder::new()
            .name("aplomb-log".to_owned())
            .spawn(move || writer::run(&events, sink, &dropped))?;
        Ok((log.clone(), LogWriter { log, thread }))
    }

    /// Logs an event that happened at `at`. Never waits: a full ring drops it.
    pub fn event(&self, at: Timestamp, event: Event) {
        self.push(Item::Entry(Entry { at, event }));
    }

    /// Logs that something normal but rare happened.
    pub fn info(&self, room: &'static str, text: impl Into<String>) {
        self.event(crate::clock::wall(), Event { severity: Severity::Info, room, text: text.into() });
    }

    /// Logs something that an operator may have to look at.
    pub fn warn(&self, room: &'static str, text: impl Into<String>) {
        self.event(crate::clock::wall(), Event { severity: Severity::Warn, room, text: text.into() });
    }

    /// Logs that something broke.
    pub fn error(&self, room: &'static str, text: impl Into<String>) {
        self.event(crate::clock::wall(), Event { severity: Severity::Error, room, text: text.into() });
    }

    /// Hands over the last words of a process that must not go on; the writer ends it with SIGABRT
    /// once they are written. False when the ring is full: they are lost, and the caller ends the
    /// process by itself.
    #[must_use]
    pub fn abort_after(&self, at: Timestamp, event: Event) -> bool {
        self.push(Item::Abort(Entry { at, event }))
    }

    /// How many events were dropped since the start because the ring was full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn push(&self, item: Item) -> bool {
        match self.ring.try_send(item) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                false
            }
        }
    }
}

impl LogWriter {
    /// Writes what has been logged so far and ends the thread. What is logged later is dropped.
    pub fn close(self) {
        // The ring may be full just now; this waits for room, as a shutdown may.
        if self.log.ring.send(Item::Close).is_ok() {
            let _ = self.thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A sink that a test can read, and can hold up.
    struct Gate {
        text: Arc<Mutex<String>>,
        entered: Sender<()>,
        open: Receiver<()>,
    }

    impl Write for Gate {
        fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
            let _ = self.entered.send(());
            let _ = self.open.recv();
            self.text
                .lock()
                .expect("no panic here")
                .push_str(std::str::from_utf8(buf).expect("log lines are text"));
            Ok(buf.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_log_whose_sink_hangs_drops_lines_counts_them_and_says_so() {
        let text = Arc::new(Mutex::new(String::new()));
        let (entered, was_entered) = channel();
        let (opener, open) = channel();
        let (log, writer) =
            Log::start(Box::new(Gate { text: Arc::clone(&text), entered, open })).expect("a thread starts");

        log.info("test", "the first");
        was_entered.recv().expect("the writer is at work");
        for i in 0..CAPACITY + 7 {
            // Each of a room of its own, or they were a flood.
            log.warn(format!("test/{i}").leak(), format!("event {i}"));
        }
        assert_eq!(log.dropped(), 7);

        drop(opener);
        writer.close();
        let text = text.lock().expect("no panic here");
        assert!(text.contains(" INFO test: the first\n"), "{text}");
        assert!(text.contains(&format!("event {}\n", CAPACITY - 1)));
        assert!(!text.contains(&format!("event {CAPACITY}\n")));
        assert!(
            text.contains(
                " WARN server/log: 7 lines were dropped: the log could not be written fast enough\n"
            )
        );
    }
}
