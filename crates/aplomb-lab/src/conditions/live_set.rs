//! Much that is alive in a JVM's heap: a small program, loaded into the JVM as an agent, keeps half
//! of the heap full of objects that live for some seconds. The collector has to copy them in its
//! pauses; nothing of it reaches a disk.
//!
//! What always holds: the program goes on for as long as a file of ours is there, which goes when
//! this is dropped or the lab has ended. What is compiled is compiled before anything is measured.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use aplomb_doctor::attach::command;

use super::{ConditionError, Undo};

const PROGRAM: &str = include_str!("LiveSet.java");
/// The Java that it is compiled for; Apache Kafka 4 runs on this one and later ones.
const RELEASE: &str = "17";
/// What makes an agent of it.
const MANIFEST: &str = "Agent-Class: LiveSet\n";
/// Where its files are: in memory, since no disk is to have a part in this.
const PLACE: &str = "/dev/shm";
/// Of these the agent is made.
const SOURCE: &str = "LiveSet.java";
const MANIFEST_FILE: &str = "manifest";
const AGENT: &str = "live-set.jar";
/// What a JVM says when it has loaded an agent.
const LOADED: &str = "return code: 0";
/// As long as it is there, objects are held.
const HELD: &str = "held";

/// An agent that can be loaded, and goes when this is dropped.
#[derive(Debug)]
pub(crate) struct LiveSet {
    pid: u32,
    folder: PathBuf,
    _undo: Undo,
}

impl LiveSet {
    /// Compiles it with the tools that lie beside the `java` of process `pid`. Nothing is loaded
    /// yet.
    ///
    /// # Errors
    /// When the process is no JVM, or its Java is without a compiler.
    pub(crate) fn compile(pid: u32) -> Result<Self, ConditionError> {
        let what = "the program that the JVM of process";
        let java = std::fs::read_link(format!("/proc/{pid}/exe"))
            .map_err(ConditionError::new(format!("{what} {pid} runs")))?;
        let folder = Path::new(PLACE).join(format!("aplomb-lab-{}-{pid}-live-set", std::process::id()));
        let undo = Undo::by("rm -rf -- \"$1\"", &[&folder.display().to_string()])?;
        let made = Self { pid, folder, _undo: undo };
        std::fs::create_dir(&made.folder).map_err(made.failed("making"))?;
        for (name, text) in [(SOURCE, PROGRAM), (MANIFEST_FILE, MANIFEST)] {
            std::fs::write(made.folder.join(name), text).map_err(made.failed("writing to"))?;
        }
        made.run(&java, "javac", &["--release", RELEASE, "-d", "classes", SOURCE])?;
        made.run(
            &java,
            "jar",
            &["--create", "--file", AGENT, "--manifest", MANIFEST_FILE, "-C", "classes", "."],
        )?;
        Ok(made)
    }

    /// Has the JVM load it: from now on half of the heap fills.
    ///
    /// # Errors
    /// When the JVM lets no process attach.
    pub(crate) fn load(&self) -> Result<(), ConditionError> {
        let (agent, held) = (self.folder.join(AGENT), self.folder.join(HELD));
        File::create(&held).map_err(self.failed("writing to"))?;
        let words = format!("JVMTI.agent_load {} {}", agent.display(), held.display());
        let failed = ConditionError::new(format!("jcmd {} {words}", self.pid));
        match command(self.pid, &words) {
            Ok(said) if said.trim() == LOADED => Ok(()),
            Ok(said) => Err(failed(std::io::Error::other(said.trim().to_owned()))),
            Err(error) => Err(failed(std::io::Error::other(error))),
        }
    }

    /// Tells it to let go of everything, without waiting.
    pub(crate) fn tell(&self) {
        // One that was not loaded has no such file.
        let _ = std::fs::remove_file(self.folder.join(HELD));
    }

    fn run(&self, java: &Path, tool: &str, words: &[&str]) -> Result<(), ConditionError> {
        let what = format!("{} {}", java.with_file_name(tool).display(), words.join(" "));
        let done = Command::new(java.with_file_name(tool)).args(words).current_dir(&self.folder).output();
        let done = done.map_err(ConditionError::new(what.clone()))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr).trim().replace('\n', " ");
        Err(ConditionError::new(what)(std::io::Error::other(said)))
    }

    fn failed(&self, what: &str) -> impl FnOnce(std::io::Error) -> ConditionError {
        ConditionError::new(format!("{what} {}", self.folder.display()))
    }
}

impl Drop for LiveSet {
    fn drop(&mut self) {
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_what_its_manifest_names() {
        assert!(PROGRAM.contains("class LiveSet {") && PROGRAM.contains("void agentmain(String"));
        assert!(MANIFEST.ends_with("LiveSet\n"), "a manifest's last line has an end");
    }

    #[test]
    fn what_is_no_jvm_gets_none() {
        let error = LiveSet::compile(std::process::id()).expect_err("no Java beside this program");
        assert!(error.to_string().contains("javac"), "{error}");
        let mine = format!("aplomb-lab-{}-", std::process::id());
        let left = std::fs::read_dir(PLACE).expect("it is there").flatten();
        assert!(!left.into_iter().any(|one| one.file_name().to_string_lossy().starts_with(&mine)));
    }
}
