//! The thread that writes log lines. It may wait for their reader; no thread waits for it.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use aplomb_broker::ports::{Event, Severity};

use super::{Entry, Item, line};

/// Lines are joined up to this many bytes before they are written.
const JOINED: usize = 64 * 1024;

/// Writes until it is told to close.
pub(super) fn run(items: &Receiver<Item>, mut sink: Box<dyn Write + Send>, dropped: &AtomicU64) {
    let mut text = String::new();
    let mut dropped_said = 0;
    while let Ok(first) = items.recv() {
        let mut next = Some(first);
        let mut end = None;
        while let Some(item) = next.take() {
            match item {
                Item::Entry(entry) => line::format(&mut text, entry.at, &entry.event),
                Item::Abort(entry) => {
                    line::format(&mut text, entry.at, &entry.event);
                    end = Some(Finish::Abort);
                }
                Item::Close => end = Some(Finish::Close),
            }
            if end.is_none() && text.len() < JOINED {
                next = items.try_recv().ok();
            }
        }
        let lost = dropped.load(Ordering::Relaxed);
        if lost > dropped_said {
            let text_of_loss = format!(
                "{} lines were dropped: the log could not be written fast enough",
                lost - dropped_said
            );
            let event = Event { severity: Severity::Warn, room: "server/log", text: text_of_loss };
            let entry = Entry { at: crate::clock::wall(), event };
            line::format(&mut text, entry.at, &entry.event);
            dropped_said = lost;
        }
        // A reader who has gone away is no reason to stop: the broker lives on without its log.
        let _ = sink.write_all(text.as_bytes()).and_then(|()| sink.flush());
        text.clear();
        match end {
            None => {}
            Some(Finish::Close) => return,
            Some(Finish::Abort) => std::process::abort(),
        }
    }
}

/// Why the thread ends.
enum Finish {
    Close,
    Abort,
}
