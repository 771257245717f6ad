//! The lock on a log directory, against other processes: one of ours, and a JVM as Apache Kafka
//! would use it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use aplomb_disk::{DirectoryLock, LockError, MappedFile, MemoryError};

const DIRECTORY: &str = "APLOMB_TEST_LOCKED_DIRECTORY";

/// Not a test by itself: the body of the other process, which another test starts with the
/// directory to lock.
#[test]
fn another_process() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let _lock = DirectoryLock::acquire(Path::new(&directory)).expect("nobody has it");
    println!("\nheld");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("the parent closes it");
}

/// Starts a process and reads its output up to a line that is one of these.
fn start(command: &mut Command, answers: &[&str]) -> Option<(Child, String)> {
    let mut child = match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("skipped: {:?} cannot be started: {error}", command.get_program());
            return None;
        }
    };
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let answer = output.by_ref().lines().map_while(Result::ok).find(|line| answers.contains(&line.as_str()));
    // Closed only with the process, which may have more to say.
    child.stdout = Some(output.into_inner());
    Some((child, answer.expect("the process answers")))
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().expect("it was started");
}

fn java(directory: &Path) -> Option<(Child, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Lock.java");
    start(Command::new("java").arg(source).arg(directory), &["held", "refused"])
}

#[test]
fn another_process_that_holds_the_lock_keeps_us_out_until_it_ends() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let this = std::env::current_exe().expect("a test has a file");
    let mut command = Command::new(this);
    command.args(["--exact", "another_process", "--nocapture"]).env(DIRECTORY, directory.path());
    let (child, _) = start(&mut command, &["held"]).expect("our own file can be started");
    let refused = DirectoryLock::acquire(directory.path());
    assert!(matches!(refused, Err(LockError::InUse { .. })), "{refused:?}");
    end(child);
    DirectoryLock::acquire(directory.path()).expect("the other process has ended");
}

#[test]
fn apache_kafka_and_we_exclude_each_other() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let Some((child, answer)) = java(directory.path()) else { return };
    assert_eq!(answer, "held");
    let refused = DirectoryLock::acquire(directory.path());
    assert!(matches!(refused, Err(LockError::InUse { .. })), "{refused:?}");
    end(child);

    let lock = DirectoryLock::acquire(directory.path()).expect("the JVM has ended");
    let (child, answer) = java(directory.path()).expect("it was there before");
    assert_eq!(answer, "refused");
    end(child);
    drop(lock);
    let (child, answer) = java(directory.path()).expect("it was there before");
    assert_eq!(answer, "held");
    end(child);
}

#[test]
fn the_tails_file_is_ours_alone_even_within_one_process() {
    let directory = tempfile::tempdir_in("/dev/shm").expect("Linux has /dev/shm");
    let path = directory.path().join("tail");
    let mapped = MappedFile::open(&path, 1 << 16).expect("there is room");
    assert!(matches!(MappedFile::open(&path, 1 << 16), Err(MemoryError::InUse { .. })));
    // A new file under the same name is another file.
    mapped.unlink().expect("it is there");
    let other = MappedFile::open(&path, 1 << 16).expect("the name is free");
    assert!(!other.existing());
}
