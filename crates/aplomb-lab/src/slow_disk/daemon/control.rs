//! Who asks the daemon for something: one connection after the other, each with one line.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::super::protocol::{self, Answer, Request};
use super::{Ending, RunningDaemon};

/// How long a line may take; meanwhile others wait.
const PATIENCE: Duration = Duration::from_secs(2);

/// Takes connections. Ends only with the process.
pub(super) fn serve(listener: &UnixListener, running: &RunningDaemon, endings: &Sender<Ending>) {
    for stream in listener.incoming() {
        // One that went away before we took it, or one more than there are file descriptors: the
        // next may be better.
        let Ok(stream) = stream else { continue };
        if let Err(why) = answer(stream, running, endings) {
            eprintln!("a command was not understood or not answered: {why}");
        }
    }
}

fn answer(mut stream: UnixStream, running: &RunningDaemon, endings: &Sender<Ending>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let answer = match protocol::hear(&mut stream) {
        Ok(Request::Change(change)) => {
            running.shared.with(|behaviour, now| behaviour.change(change, now));
            Answer::Done
        }
        Ok(Request::Schedule(schedule)) => {
            running.shared.with(|behaviour, now| behaviour.plan(schedule, now));
            Answer::Done
        }
        Ok(Request::Status) => Answer::Status(Box::new(running.status())),
        Ok(Request::Destroy) => {
            // It is answered when it is done, by the main thread.
            return endings.send(Ending::Destroyed(stream)).map_err(io::Error::other);
        }
        Err(why) => Answer::Failed(why.to_string()),
    };
    protocol::say(&mut stream, &answer)
}
