//! The program as one starts it: its first lines, its last, and what it refuses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// A broker in a directory of its own, under guard.
struct Broker {
    child: Child,
    log: BufReader<ChildStdout>,
    said: String,
}

fn serve(directory: &Path, overrides: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aplomb"));
    command.current_dir(directory).arg("serve");
    let own = ["listeners=PLAINTEXT://127.0.0.1:0", "aplomb.guard=enforce", "aplomb.tail.bytes=8388608"];
    for setting in own.iter().chain(overrides) {
        command.args(["--override", setting]);
    }
    command
}

impl Broker {
    fn start(directory: &Path, overrides: &[&str]) -> Self {
        let mut child =
            serve(directory, overrides).stdout(Stdio::piped()).spawn().expect("the program starts");
        let log = BufReader::new(child.stdout.take().expect("it was asked for"));
        let mut broker = Self { child, log, said: String::new() };
        broker.until("ready at ");
        broker
    }

    /// Reads the log up to a line with `text`, and gives what follows it there.
    fn until(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            let count = self.log.read_line(&mut line).expect("the log is text");
            self.said.push_str(&line);
            assert!(count > 0, "the log ended without '{text}':\n{}", self.said);
            if let Some((_, rest)) = line.split_once(text) {
                return rest.trim_end().to_owned();
            }
        }
    }

    /// Where clients come in.
    fn address(&self) -> SocketAddr {
        let (_, rest) = self.said.split_once("ready at PLAINTEXT://").expect("it is ready");
        rest.split(':').take(2).collect::<Vec<_>>().join(":").parse().expect("an address")
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(id, signal).expect("it runs");
    }

    /// Waits for the end. Gives whether it ended well, and its last words.
    fn end(mut self) -> (bool, String) {
        self.log.read_to_string(&mut self.said).expect("the log is text");
        (self.child.wait().expect("our child").success(), self.said)
    }
}

/// ApiVersions 0, and the error code of the answer.
fn api_versions(address: SocketAddr) -> i16 {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
    let request = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff];
    stream.write_all(&request).expect("it reads");
    let mut head = [0; 10];
    stream.read_exact(&mut head).expect("it answers");
    assert_eq!(head[4..8], [0, 0, 0, 7], "the correlation id");
    i16::from_be_bytes([head[8], head[9]])
}

#[test]
fn a_broker_starts_serves_and_stops_and_its_directory_stays_its_own() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let broker = Broker::start(place.path(), &[]);
    assert_eq!(api_versions(broker.address()), 0);

    let second = serve(place.path(), &[]).output().expect("the program starts");
    assert_eq!(second.status.code(), Some(1));
    let refusal = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(refusal.trim_end().ends_with("aplomb-data is already in use by another broker"), "{refusal}");

    broker.signal(Signal::TERM);
    let (well, said) = broker.end();
    assert!(well && said.contains("stopped cleanly"), "{said}");

    let again = Broker::start(place.path(), &[]);
    assert!(again.said.contains(" after a clean stop in "), "{}", again.said);
    let other = serve(place.path(), &["node.id=2"]).output().expect("the program starts");
    assert_eq!(other.status.code(), Some(1));
    again.signal(Signal::INT);
    assert!(again.end().0);

    let other = serve(place.path(), &["node.id=2"]).output().expect("the program starts");
    let refusal = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(refusal.contains("aplomb-data belongs to node "), "{refusal}");
}

#[test]
fn a_tail_moves_with_the_settings_and_is_given_back_after_a_clean_stop() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let memory = tempfile::tempdir_in("/dev/shm").expect("Linux has /dev/shm");
    let tails = || std::fs::read_dir(memory.path()).expect("it is there").count();
    let here = format!("aplomb.tail.dir={}", memory.path().display());

    let killed = Broker::start(place.path(), &[&here]);
    assert_eq!(tails(), 1);
    killed.signal(Signal::KILL);
    killed.end();
    assert_eq!(tails(), 1, "a killed broker's tail stays");

    let elsewhere = Broker::start(place.path(), &["aplomb.tail.dir=memory"]);
    assert_eq!(tails(), 0, "it was written back and given up");
    elsewhere.signal(Signal::TERM);
    assert!(elsewhere.end().0);

    let larger = Broker::start(place.path(), &[&here, "aplomb.tail.bytes=16777216"]);
    assert!(larger.said.contains("the tail has 16777216 bytes in "), "{}", larger.said);
    larger.signal(Signal::TERM);
    assert!(larger.end().0);
    assert_eq!(tails(), 0);

    let on_a_disk = format!("aplomb.tail.dir={}", env!("CARGO_MANIFEST_DIR"));
    let refused = serve(place.path(), &[&on_a_disk]).output().expect("the program starts");
    let refusal = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refusal.contains("the tail needs a tmpfs"), "{refusal}");
}

#[test]
fn a_metadata_log_that_is_in_another_directory_is_not_begun_anew() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let memory = tempfile::tempdir_in("/dev/shm").expect("Linux has /dev/shm");
    let here = format!("aplomb.tail.dir={}", memory.path().display());
    let killed = Broker::start(place.path(), &[&here, "log.dirs=a,b"]);
    killed.signal(Signal::KILL);
    killed.end();
    let refused = serve(place.path(), &[&here, "log.dirs=b,a"]).output().expect("the program starts");
    let refusal = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{refusal}");
    assert!(refusal.contains(" and has none, but there is a metadata log in "), "{refusal}");
    assert!(refusal.contains("set metadata.log.dir="), "{refusal}");
    let right = Broker::start(place.path(), &[&here, "log.dirs=a,b"]);
    right.signal(Signal::TERM);
    assert!(right.end().0);
}

#[test]
fn a_copy_of_the_directories_has_a_tail_of_its_own() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let memory = tempfile::tempdir_in("/dev/shm").expect("Linux has /dev/shm");
    let tails = || std::fs::read_dir(memory.path()).expect("it is there").count();
    let here = format!("aplomb.tail.dir={}", memory.path().display());
    let original = Broker::start(place.path(), &[&here]);
    let of_the_original = |what: &str| {
        let copied = Command::new("cp").args(["-a", "aplomb-data", what]).current_dir(place.path()).status();
        assert!(copied.expect("cp is there").success());
    };

    of_the_original("while-it-runs");
    let copy = Broker::start(place.path(), &[&here, "log.dirs=while-it-runs"]);
    assert!(copy.said.contains("aplomb-data, which this directory is a copy of"), "{}", copy.said);
    assert_eq!(tails(), 2);
    copy.signal(Signal::KILL);
    copy.end();
    assert_eq!(api_versions(original.address()), 0);

    original.signal(Signal::KILL);
    original.end();
    of_the_original("after-it-was-killed");
    let copy = Broker::start(place.path(), &[&here, "log.dirs=after-it-was-killed"]);
    assert!(copy.said.contains("aplomb-data, which this directory is a copy of"), "{}", copy.said);
    assert_eq!(tails(), 3);
    copy.signal(Signal::TERM);
    assert!(copy.end().0);
    assert_eq!(tails(), 2, "the original's, and that of the copy that was killed");

    let original = Broker::start(place.path(), &[&here]);
    assert!(!original.said.contains("was not closed cleanly, and"), "{}", original.said);
    assert_eq!(tails(), 2);
    original.signal(Signal::TERM);
    assert!(original.end().0);
}

#[test]
fn a_start_says_so_when_the_tail_of_a_killed_broker_is_gone() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let memory = tempfile::tempdir_in("/dev/shm").expect("Linux has /dev/shm");
    let here = format!("aplomb.tail.dir={}", memory.path().display());
    let empty = || {
        for entry in std::fs::read_dir(memory.path()).expect("it is there") {
            std::fs::remove_file(entry.expect("an entry").path()).expect("a file");
        }
    };
    let killed = Broker::start(place.path(), &[&here]);
    killed.signal(Signal::KILL);
    killed.end();
    empty();
    let told = Broker::start(place.path(), &[&here]);
    assert!(told.said.contains(" is gone, though the machine was not started anew"), "{}", told.said);
    told.signal(Signal::TERM);
    assert!(told.end().0);
    let clean = Broker::start(place.path(), &[&here]);
    assert!(!clean.said.contains(" is gone"), "{}", clean.said);
    clean.signal(Signal::TERM);
    assert!(clean.end().0);
}

#[test]
fn the_numbers_of_disks_tail_and_guard_are_on_the_page() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let broker = Broker::start(place.path(), &["aplomb.metrics.listener=127.0.0.1:0"]);
    let (_, rest) = broker.said.split_once("numbers are at http://").expect("it says where");
    let address: SocketAddr = rest.split('/').next().and_then(|text| text.parse().ok()).expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("it answers");
    for name in [
        "aplomb_disk_age_seconds{directory=",
        "aplomb_tail_free_bytes{directory=",
        "aplomb_guard_violations_total 0\n",
    ] {
        assert!(page.contains(name), "{name} is missing:\n{page}");
    }
    broker.signal(Signal::TERM);
    assert!(broker.end().0);
}

#[test]
fn settings_that_are_wrong_are_refused_in_one_sentence() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let refused = serve(place.path(), &["num.partition=3"]).output().expect("the program starts");
    assert_eq!(refused.status.code(), Some(1));
    let refusal = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refusal.lines().count(), 1, "{refusal}");
    assert!(
        refusal.contains("--override num.partition: ") && refusal.contains("num.partitions?"),
        "{refusal}"
    );
    assert!(!place.path().join("aplomb-data").exists(), "nothing was touched");
}
