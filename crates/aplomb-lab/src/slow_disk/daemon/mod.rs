//! The process that serves one disk: puts its layers up, answers the kernel and commands, and takes
//! everything away again.
//!
//! What always holds: its threads wait for nothing that they serve themselves (see `layers`); it
//! ends when it is told to, when its owner is gone, and at a signal, and before it ends it lets go
//! of everything it held back. What it leaves when it is killed, the next command finds.

mod bandwidth;
mod control;
mod device;
mod image;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::mm::MlockAllFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::layers;
use super::place::Place;
use super::protocol::{self, Answer, Status};
use super::settings::DiskSettings;
use device::DeviceState;

/// Priority over programs that compute: a real disk does not stand in line for a processor.
const NICENESS: i32 = -10;

/// Why the daemon ends.
enum Ending {
    /// Somebody has asked for it, and wants to know when it is done.
    Destroyed(UnixStream),
    OwnerGone,
    Signal,
}

/// A disk that is there.
struct RunningDaemon {
    place: Place,
    settings: DiskSettings,
    device: PathBuf,
    shared: Arc<DeviceState>,
}

/// Serves the disk of this name until it is to end: the body of `aplomb lab disk daemon`. Its
/// directory and settings are there, its standard input is its lock, and its standard output leads
/// to who has started it, who is told how that went.
pub fn serve(name: &str) -> ExitCode {
    let Some(place) = Place::of(name) else {
        eprintln!("{name} is not the name of a disk");
        return ExitCode::FAILURE;
    };
    prepare();
    let (endings, ending) = channel();
    let shared = DeviceState::new();
    let started = start(&place, &shared, &endings);
    let asked = match &started {
        // A starter that is gone does not want the disk any more.
        Ok(status) => match protocol::say(&mut io::stdout(), &Answer::Status(Box::new(status.clone()))) {
            Ok(()) => ending.recv().ok(),
            Err(_) => None,
        },
        Err(_) => None,
    };
    shared.let_go();
    let gone = match layers::clear(&place) {
        Ok(in_use) => Answer::Destroyed { in_use },
        Err(why) => Answer::Failed(why.to_string()),
    };
    let told = match (started, asked) {
        (Err(why), _) => protocol::say(&mut io::stdout(), &Answer::Failed(why)),
        (Ok(_), Some(Ending::Destroyed(mut stream))) => protocol::say(&mut stream, &gone),
        (Ok(_), Some(Ending::OwnerGone | Ending::Signal) | None) => Ok(()),
    };
    match (gone, told) {
        (Answer::Destroyed { .. }, Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Makes the process one that the kernel can rely on when memory is short. Without these rights the
/// disk works, but not under all conditions.
fn prepare() {
    let say = |what: &str, why: io::Error| eprintln!("{what}: {why}");
    // Inherited by every thread: while it allocates, the kernel does not wait for filesystems, ours
    // among them; and writing to the image is not throttled with those whose dirty pages it makes
    // clean.
    if let Err(why) = rustix::process::configure_io_flusher_behavior(true) {
        say("the daemon may stand in its own way when memory is short", why.into());
    }
    let locked = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    if let Err(why) = rustix::mm::mlockall(locked) {
        say("memory is not locked", why.into());
    }
    if let Err(why) = fs::write("/proc/self/oom_score_adj", "-1000") {
        say("the daemon may be killed when memory runs out", why);
    }
    if let Err(why) = rustix::process::nice(NICENESS) {
        say("no priority", why.into());
    }
}

/// Puts the layers up and starts the threads. When it fails, what there is has to be cleared.
fn start(place: &Place, shared: &Arc<DeviceState>, endings: &Sender<Ending>) -> Result<Status, String> {
    // From here on a signal is an orderly end.
    let signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(in_words("signals"))?;
    let settings = DiskSettings::read(place).map_err(in_words("the settings"))?;
    let image =
        image::open(&settings.backing, settings.size_bytes).map_err(in_words("no place for the bytes"))?;
    let session = device::mount(place, image, &settings, Arc::clone(shared))
        .map_err(in_words("the FUSE file cannot be mounted"))?;
    spawn("fuse", move || {
        if let Err(why) = session.run() {
            eprintln!("no more requests: {why}");
        }
    })?;
    let answering = Arc::clone(shared);
    spawn("answers", move || answering.answer_in_time())?;

    let device = layers::attach(&place.device()).map_err(|why| why.to_string())?;
    layers::set_cache(&device, settings.cache).map_err(|why| why.to_string())?;
    layers::set_read_ahead(&device).map_err(|why| why.to_string())?;
    layers::make(settings.filesystem, &device).map_err(|why| why.to_string())?;
    layers::mount(&device, &settings.mount).map_err(|why| why.to_string())?;

    watch(signals, settings.owner, endings)?;
    let listener = UnixListener::bind(place.socket()).map_err(in_words("the control socket"))?;
    let running = RunningDaemon { place: place.clone(), settings, device, shared: Arc::clone(shared) };
    let status = running.status();
    let endings = endings.clone();
    spawn("control", move || control::serve(&listener, &running, &endings))?;
    Ok(status)
}

/// Notices signals, and the owner's end.
fn watch(mut signals: Signals, owner: Option<u32>, endings: &Sender<Ending>) -> Result<(), String> {
    let ending = endings.clone();
    spawn("signals", move || {
        for _ in signals.forever() {
            if ending.send(Ending::Signal).is_err() {
                return;
            }
        }
    })?;
    let Some(owner) = owner else { return Ok(()) };
    let ending = endings.clone();
    spawn("owner", move || {
        await_end_of(owner);
        // Nobody hears it only when the daemon is ending anyway.
        drop(ending.send(Ending::OwnerGone));
    })
}

/// Returns when there is no such process, which may be at once.
fn await_end_of(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let Some(Ok(process)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        await_end(&process);
    }
}

/// Returns when this process has ended, all its threads with it.
pub(super) fn await_end(process: &OwnedFd) {
    while let Err(rustix::io::Errno::INTR) = poll(&mut [PollFd::new(process, PollFlags::IN)], None) {}
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), String> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map(drop).map_err(in_words("no thread"))
}

fn in_words(what: &'static str) -> impl Fn(io::Error) -> String {
    move |why| format!("{what}: {why}")
}

impl RunningDaemon {
    fn status(&self) -> Status {
        let settings = self.settings.clone();
        self.shared.with(|behaviour, now| Status {
            name: self.place.name().to_owned(),
            size_bytes: settings.size_bytes,
            filesystem: settings.filesystem,
            mount: settings.mount,
            device: self.device.clone(),
            backing: settings.backing,
            cache: settings.cache,
            bandwidth: settings.bandwidth,
            owner: settings.owner,
            daemon: std::process::id(),
            delays: behaviour.delays(),
            frozen_ms: behaviour
                .frozen_for(now)
                .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            failing: behaviour.failing(),
            to_come: behaviour.to_come(now),
            at_once: behaviour.at_once(),
            service_times: behaviour.times(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_has_ended_or_never_was_is_not_waited_for() {
        let mut child = Command::new("true").spawn().expect("there is a program that does nothing");
        await_end_of(child.id());
        child.wait().expect("it has ended");
        await_end_of(u32::MAX);
    }
}
