//! A panic ends the process: a broker whose shard is gone must not limp on.
//!
//! What always holds: the thread that panicked touches no file to say so (a backtrace would). It
//! hands its message to the log, whose thread writes it and aborts.

use std::any::Any;
use std::panic::PanicHookInfo;
use std::time::Duration;

use aplomb_broker::ports::{Event, Severity};

use super::Log;

/// How long the log may take to say why the process ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// From now on a panic of any thread is logged to `log` and aborts the process.
pub fn abort_on_panic(log: Log) {
    std::panic::set_hook(Box::new(move |info| {
        let event = Event { severity: Severity::Error, room: "server/panic", text: describe(info) };
        if log.abort_after(crate::clock::wall(), event) {
            std::thread::park_timeout(LAST_WORDS);
        }
        std::process::abort();
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("without a name");
    let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
    format!("thread {name} panicked{place}: {}; the process is aborted", message(info.payload()))
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
