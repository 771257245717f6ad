//! What `jstack` and `jcmd PID Thread.print` print, of JDK 8 to 25: threads, where they are, and
//! who holds the monitor that another waits for.
//!
//! What always holds: a thread has the kernel's number of it, hexadecimal up to JDK 20 and decimal
//! later (in a container, the number in there); a monitor that a thread has let go while it waits
//! for a notification is not among those it holds.
//!
//! Asking a JVM for it stops all threads for a moment, and with `-l` for longer: it walks the heap.

use std::collections::HashMap;

/// The most frames of a thread that are kept: the innermost.
pub const MAX_FRAMES: usize = 64;

/// What a JVM says of its threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadDump {
    /// In the order of the text.
    pub threads: Vec<DumpedThread>,
}

/// A thread, as its JVM knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpedThread {
    /// The kernel's number of it.
    pub tid: u32,
    /// Its whole name; the kernel keeps fifteen bytes.
    pub name: String,
    /// What it does; `None` for the JVM's own threads, which run no Java code.
    pub state: Option<JavaState>,
    /// Methods with their classes, the innermost first: `java.lang.Thread.sleep`.
    pub frames: Vec<String>,
    /// Monitors that it holds, by their addresses. Locks of `java.util.concurrent` are not said.
    pub holds: Vec<String>,
    /// The monitor that it waits to enter, or the lock that it is parked for.
    pub waits_for: Option<String>,
}

/// What a thread does, by its JVM. One that waits in the kernel is `Runnable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JavaState {
    /// Not started.
    New,
    /// It runs, could run, or is in a call.
    Runnable,
    /// It waits to enter a monitor.
    Blocked,
    /// It waits for a notification, or is parked.
    Waiting,
    /// The same with a deadline, or asleep.
    TimedWaiting,
    /// Over.
    Terminated,
}

impl ThreadDump {
    /// Reads a dump; of several in one text, the last.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut dump = Self::default();
        let mut is_within = false;
        for line in text.lines() {
            if line.starts_with("Full thread dump") {
                dump.threads.clear();
            } else if line.starts_with('"') {
                let thread = DumpedThread::of(line);
                is_within = thread.is_some();
                dump.threads.extend(thread);
            } else if line.trim().is_empty() {
                is_within = false;
            } else if is_within && let Some(thread) = dump.threads.last_mut() {
                thread.detail(line.trim());
            }
        }
        dump
    }

    /// Names by the kernel's numbers.
    #[must_use]
    pub fn names(&self) -> HashMap<u32, String> {
        self.threads.iter().map(|thread| (thread.tid, thread.name.clone())).collect()
    }

    /// The thread that holds the monitor that another waits to enter.
    #[must_use]
    pub fn holder_of(&self, waiter: &DumpedThread) -> Option<&DumpedThread> {
        let monitor = waiter.waits_for.as_ref()?;
        self.threads.iter().find(|thread| thread.tid != waiter.tid && thread.holds.contains(monitor))
    }
}

impl DumpedThread {
    /// `"name" #12 [4711] daemon prio=5 … nid=0x1f3 waiting on condition …`
    fn of(line: &str) -> Option<Self> {
        // Names may have quotes, and what follows has none.
        let (name, rest) = line.strip_prefix('"')?.rsplit_once("\" ")?;
        let (_, number) = rest.split_once("nid=")?;
        let number = number.split(' ').next()?;
        let tid = match number.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        Some(Self { tid: tid.ok()?, name: name.to_owned(), ..Self::default() })
    }

    fn detail(&mut self, line: &str) {
        if let Some(frame) = line.strip_prefix("at ") {
            if self.frames.len() < MAX_FRAMES {
                self.frames.push(method(frame).to_owned());
            }
        } else if let Some(state) = line.strip_prefix("java.lang.Thread.State: ") {
            self.state = state.split(' ').next().and_then(JavaState::of);
        } else if let Some((what, rest)) = line.strip_prefix("- ").and_then(|line| line.split_once('<'))
            && let Some((monitor, _)) = rest.split_once('>')
        {
            self.monitor(what.trim_end(), monitor);
        }
    }

    fn monitor(&mut self, what: &str, monitor: &str) {
        let is_waited_for = self.waits_for.as_deref() == Some(monitor);
        match what {
            "waiting to lock" | "parking to wait for" | "waiting on" | "waiting to re-lock in wait()" => {
                self.waits_for = Some(monitor.to_owned());
            }
            // One that is waited in was entered further out, and has been let go.
            "locked" if !is_waited_for && !self.holds.iter().any(|held| held == monitor) => {
                self.holds.push(monitor.to_owned());
            }
            _ => {}
        }
    }
}

impl JavaState {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "NEW" => Self::New,
            "RUNNABLE" => Self::Runnable,
            "BLOCKED" => Self::Blocked,
            "WAITING" => Self::Waiting,
            "TIMED_WAITING" => Self::TimedWaiting,
            "TERMINATED" => Self::Terminated,
            _ => return None,
        })
    }
}

/// The method of `java.lang.Thread.sleep(java.base@17.0.15/Native Method)`, or of
/// `java.base@17.0.15/java.lang.Thread.sleep(Native Method)`.
fn method(frame: &str) -> &str {
    let (method, _) = frame.split_once('(').unwrap_or((frame, ""));
    match method.split_once('/') {
        // A hidden class: `LambdaForm$MH/0x0001.invoke`.
        Some((_, number)) if number.starts_with(|c: char| c.is_ascii_digit()) => method,
        Some((_, method)) => method.trim_start_matches('/'),
        None => method,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const JDK_17: &str = r#"4329:
2026-11-26 07:16:07
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):

Threads class SMR info:
_java_thread_list=0x00007f4370001f70, length=12, elements={
0x00007f43f40194a0, 0x00007f43f40968f0
}

"data-plane-kafka-request-handler-0" #12 daemon prio=5 os_prio=0 cpu=1.0ms tid=0x00007f43f4097cd0 nid=0x1f3 waiting for monitor entry  [0x00007f43f96d9000]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at org.apache.kafka.storage.internals.log.UnifiedLog.append(UnifiedLog.java:1000)
	- waiting to lock <0x00000000c0ffee00> (a java.lang.Object)
	at java.base@11.0.1/java.lang.Thread.run(Thread.java:833)

   Locked ownable synchronizers:
	- None

"handler "one" two" #13 prio=5 os_prio=0 tid=0x00007f43f4097cd0 nid=0x1f4 runnable  [0x00007f43f96d9000]
   java.lang.Thread.State: RUNNABLE
	at sun.nio.ch.FileDispatcherImpl.write0(java.base@17.0.15/Native Method)
	at java.lang.invoke.LambdaForm$MH/0x0000000088151400.invoke(java.base@17.0.15/LambdaForm$MH)
	- locked <0x00000000c0ffee00> (a java.lang.Object)
	- locked <0x00000000c0ffee00> (a java.lang.Object)
	- eliminated <owner is scalar replaced> (a java.lang.Object)

"Finalizer" #3 daemon prio=8 os_prio=0 tid=0x00007f43f4097cd0 nid=0x10f3 in Object.wait()  [0x00007f43f96d9000]
   java.lang.Thread.State: WAITING (on object monitor)
	at java.lang.Object.wait(java.base@17.0.15/Native Method)
	- waiting on <0x00000000c1000000> (a java.lang.ref.ReferenceQueue$Lock)
	at java.lang.ref.ReferenceQueue.remove(java.base@17.0.15/ReferenceQueue.java:155)
	- locked <0x00000000c1000000> (a java.lang.ref.ReferenceQueue$Lock)

"VM Thread" os_prio=0 cpu=73.30ms elapsed=6.36s tid=0x00007f43f4092770 nid=0x10f1 runnable

JNI global refs: 21, weak refs: 0
"#;

    #[test]
    fn a_monitor_leads_from_the_waiter_to_its_holder() {
        let dump = ThreadDump::read(JDK_17);
        let [waiter, holder, finalizer, vm] = &dump.threads[..] else { panic!("{:?}", dump.threads) };
        assert_eq!((waiter.tid, waiter.name.as_str()), (0x1f3, "data-plane-kafka-request-handler-0"));
        assert_eq!(waiter.state, Some(JavaState::Blocked));
        assert_eq!(
            waiter.frames,
            ["org.apache.kafka.storage.internals.log.UnifiedLog.append", "java.lang.Thread.run"]
        );
        assert_eq!(dump.holder_of(waiter), Some(holder));
        assert_eq!(
            (holder.name.as_str(), &holder.holds[..]),
            ("handler \"one\" two", &["0x00000000c0ffee00".into()][..])
        );
        assert_eq!(holder.frames[1], "java.lang.invoke.LambdaForm$MH/0x0000000088151400.invoke");
        assert_eq!(dump.holder_of(holder), None);
        assert_eq!((finalizer.state, finalizer.holds.len()), (Some(JavaState::Waiting), 0));
        assert_eq!(dump.holder_of(finalizer), None);
        assert_eq!((vm.tid, vm.state), (0x10f1, None));
        assert_eq!(dump.names()[&0x10f1], "VM Thread");
    }

    #[test]
    fn numbers_are_decimal_from_jdk_21_on_and_plain_in_jdk_8() {
        let dump = ThreadDump::read(
            "Full thread dump\n\"old\" #1 nid=1 runnable\nFull thread dump\n\
             \"main\" #3 [4729] prio=5 os_prio=0 cpu=665.35ms elapsed=5.84s tid=0x00007fc83002c2f0 nid=4729 waiting on condition  [0x00007fc836ffe000]\n\
             \x20  java.lang.Thread.State: TIMED_WAITING (sleeping)\n\
             \n\tat of.no.Thread(X.java:1)\n\
             \"VM Thread\" os_prio=0 tid=0x00007f nid=0x1f3 runnable \n\
             \"virtual\" #22 virtual\n\tat of.no.Thread(X.java:1)\n",
        );
        let told: Vec<_> = dump.threads.iter().map(|one| (one.tid, one.state, one.frames.len())).collect();
        assert_eq!(told, [(4729, Some(JavaState::TimedWaiting), 0), (0x1f3, None, 0)]);
    }

    #[test]
    fn methods_come_without_their_modules() {
        assert_eq!(method("app//a.B.run(B.java:1)"), "a.B.run");
        assert_eq!(method("java.base@17/a.B.run(B.java:1)"), "a.B.run");
        assert_eq!(method("a.B$$Lambda$1/1234.run(Unknown Source)"), "a.B$$Lambda$1/1234.run");
        assert_eq!(method("a.B.run"), "a.B.run");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(
            text: String,
            lines in proptest::collection::vec(
                "(\"[a-z\" ]{0,9} nid=(0x)?[0-9a-f]{0,9} .{0,9}|\tat .{0,20}|\t- (locked|waiting to lock) <.{0,9}>?)",
                0..20,
            ),
        ) {
            let _dump = ThreadDump::read(&text);
            let dump = ThreadDump::read(&lines.join("\n"));
            for thread in &dump.threads {
                let _holder = dump.holder_of(thread);
            }
        }
    }
}
