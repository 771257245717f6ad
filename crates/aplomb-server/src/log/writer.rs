//! The thread that writes log lines. It may wait for their reader; no thread waits for it.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use aplomb_broker::ports::{Event, Severity};

use super::flood::{Floods, WINDOW};
use super::{CAPACITY, Item, line};

/// Lines are joined up to this many bytes before they are written.
const JOINED: usize = 64 * 1024;

/// Writes until it is told to close.
pub(super) fn run(items: &Receiver<Item>, mut sink: Box<dyn Write + Send>, dropped: &AtomicU64) {
    let mut text = String::new();
    let mut dropped_said = 0;
    let mut floods = Floods::default();
    loop {
        // What was left out is told even if nothing else is.
        let mut next = if floods.has_left_out() {
            match items.recv_timeout(WINDOW) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        } else {
            let Ok(first) = items.recv() else { return };
            Some(first)
        };
        let (mut end, mut taken) = (None, 0);
        let now = crate::clock::wall();
        for event in floods.end(now) {
            line::format(&mut text, now, &event);
        }
        while let Some(item) = next.take() {
            match item {
                Item::Entry(entry) => {
                    if floods.admits(entry.at, &entry.event) {
                        line::format(&mut text, entry.at, &entry.event);
                    }
                }
                Item::Abort(entry) => {
                    line::format(&mut text, entry.at, &entry.event);
                    end = Some(Finish::Abort);
                }
                Item::Close => end = Some(Finish::Close),
            }
            taken += 1;
            if end.is_none() && text.len() < JOINED && taken < CAPACITY {
                next = items.try_recv().ok();
            }
        }
        if end.is_some() {
            for event in floods.end_all() {
                line::format(&mut text, now, &event);
            }
        }
        let lost = dropped.load(Ordering::Relaxed);
        if lost > dropped_said {
            let text_of_loss = format!(
                "{} lines were dropped: the log could not be written fast enough",
                lost - dropped_said
            );
            let event = Event { severity: Severity::Warn, room: "server/log", text: text_of_loss };
            line::format(&mut text, now, &event);
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
