//! What a JVM was started with, by its command line: where it logs to, and what a cause or a remedy
//! may turn on.
//!
//! What always holds: the last of two options that contradict each other counts, as in the JVM.
//! Options from the environment (`JAVA_TOOL_OPTIONS`, `JDK_JAVA_OPTIONS`) and from files are not on
//! the command line: [`JvmFlags::elsewhere`] names the files.

mod kafka;
mod log_file;
mod log_options;

pub use kafka::KafkaFlags;
pub use log_file::JvmLogFile;
use log_options::LogOptions;

use super::figures::size;

/// What a JVM was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JvmFlags {
    /// The class, the jar or the module that it runs.
    pub main: String,
    /// The files that it logs pauses and safepoints to.
    pub logs: Vec<JvmLogFile>,
    /// `-Xlog:async`: no thread waits for a line of a log to be written.
    pub is_log_async: bool,
    /// The JVM maps its counters into a file: neither `-XX:+PerfDisableSharedMem` nor
    /// `-XX:-UsePerfData` was given.
    pub has_perf_data: bool,
    /// The collector, `G1`, if an option names one; else the JVM chooses.
    pub collector: Option<String>,
    /// The heap's least size, in bytes.
    pub heap_min_bytes: Option<u64>,
    /// The heap's largest size, in bytes.
    pub heap_max_bytes: Option<u64>,
    /// Options as they were given: `-X…`, for people.
    pub given: Vec<String>,
    /// Options that name files with further options.
    pub elsewhere: Vec<String>,
    /// What is Apache Kafka's, if it is a broker of it.
    pub kafka: Option<KafkaFlags>,
}

/// Options that are followed by a word of their own.
const WITH_A_WORD: [&str; 14] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "--limit-modules",
    "--enable-native-access",
    "--source",
];

impl JvmFlags {
    /// Reads a command line, as `/proc/PID/cmdline` has it: each word ends with a zero.
    #[must_use]
    pub fn read(command_line: &[u8]) -> Self {
        let command_line = command_line.strip_suffix(b"\0").unwrap_or(command_line);
        let words = command_line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word));
        let mut words = words.skip(1);
        let mut flags = Self { has_perf_data: true, ..Self::default() };
        let mut log = LogOptions::default();
        let mut kafka = KafkaFlags::default();
        let (mut is_shared, mut is_counted) = (true, true);
        let (mut has_safepoints, mut has_phases) = (false, false);
        while let Some(word) = words.next() {
            let word = &*word;
            if word.starts_with("-X") {
                flags.given.push(word.to_owned());
            }
            if let Some(option) = word.strip_prefix("-Xloggc:") {
                log.take_gc_file(option);
            } else if let Some(option) = word.strip_prefix("-Xlog") {
                log.take(option);
            } else if let Some((name, is_on)) = switch(word) {
                match name {
                    "PerfDisableSharedMem" => is_shared = !is_on,
                    "UsePerfData" => is_counted = is_on,
                    "PrintGCApplicationStoppedTime" => has_safepoints = is_on,
                    "PrintGCDetails" => has_phases = is_on,
                    _ => flags.take_collector(name, is_on),
                }
            } else if word.starts_with('@')
                || word.starts_with("-XX:Flags=")
                || word.starts_with("-XX:VMOptionsFile=")
            {
                flags.elsewhere.push(word.to_owned());
            } else if let Some(property) = word.strip_prefix("-D") {
                kafka.take_property(property);
            } else if matches!(word, "-jar" | "-m" | "--module") {
                flags.main = words.next().unwrap_or_default().into_owned();
                break;
            } else if WITH_A_WORD.contains(&word) {
                words.next();
            } else if word.starts_with('-') {
                flags.take_heap(word);
            } else {
                word.clone_into(&mut flags.main);
                break;
            }
        }
        flags.has_perf_data = is_shared && is_counted;
        log.add_jdk8(has_safepoints, has_phases);
        flags.is_log_async = log.is_async;
        flags.logs = log.files;
        flags.kafka = kafka.of(&flags.main, words);
        flags
    }

    fn take_collector(&mut self, name: &str, is_on: bool) {
        let collector = match name {
            "UseG1GC" => "G1",
            "UseParallelGC" | "UseParallelOldGC" => "Parallel",
            "UseSerialGC" => "Serial",
            "UseConcMarkSweepGC" => "CMS",
            "UseZGC" => "Z",
            "UseShenandoahGC" => "Shenandoah",
            "UseEpsilonGC" => "Epsilon",
            _ => return,
        };
        if is_on {
            self.collector = Some(collector.to_owned());
        } else if self.collector.as_deref() == Some(collector) {
            self.collector = None;
        }
    }

    fn take_heap(&mut self, word: &str) {
        let size_of = |prefix: &str| Some(size(word.strip_prefix(prefix)?)?.0);
        if let Some(least) = size_of("-Xms").or_else(|| size_of("-XX:InitialHeapSize=")) {
            self.heap_min_bytes = Some(least);
        } else if let Some(most) = size_of("-Xmx").or_else(|| size_of("-XX:MaxHeapSize=")) {
            self.heap_max_bytes = Some(most);
        }
    }
}

/// `-XX:+Name` or `-XX:-Name`
fn switch(word: &str) -> Option<(&str, bool)> {
    let switch = word.strip_prefix("-XX:")?;
    let on = switch.strip_prefix('+').map(|name| (name, true));
    on.or_else(|| switch.strip_prefix('-').map(|name| (name, false)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> JvmFlags {
        JvmFlags::read(format!("{}\0", line.replace(' ', "\0")).as_bytes())
    }

    #[test]
    fn kafkas_own_script() {
        let flags = read(
            "java -Xmx1G -Xms1G -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:+ExplicitGCInvokesConcurrent \
             -Djava.awt.headless=true -Xlog:gc*:file=/k/logs/kafkaServer-gc.log:time,tags:filecount=10,filesize=100M \
             -Dkafka.logs.dir=/k/logs -Dlog4j2.configurationFile=/k/config/log4j2.yaml -cp /k/libs/*:x kafka.Kafka \
             /k/config/server.properties --override node.id=3",
        );
        assert_eq!(flags.main, "kafka.Kafka");
        assert_eq!(flags.collector.as_deref(), Some("G1"));
        assert_eq!((flags.heap_min_bytes, flags.heap_max_bytes), (Some(1 << 30), Some(1 << 30)));
        assert_eq!(flags.logs.len(), 1);
        assert!(flags.logs[0].has_phases && !flags.logs[0].has_safepoints);
        assert!(flags.has_perf_data && !flags.is_log_async);
        let kafka = flags.kafka.expect("a broker");
        assert_eq!(kafka.properties.as_deref(), Some("/k/config/server.properties"));
        assert_eq!(kafka.overrides, ["node.id=3"]);
        assert_eq!(kafka.logs_dir.as_deref(), Some("/k/logs"));
        assert_eq!(kafka.log4j.as_deref(), Some("/k/config/log4j2.yaml"));
        assert_eq!(flags.given.len(), 6);
    }

    #[test]
    fn jdk_8_and_several_files() {
        let flags = read(
            "java -Xloggc:gc.log -XX:+PrintGCDetails -XX:+PrintGCApplicationStoppedTime \
             -XX:+PerfDisableSharedMem -jar x.jar -Xlog:gc:file=no",
        );
        let only =
            JvmLogFile { pattern: "gc.log".into(), has_pauses: true, has_phases: true, has_safepoints: true };
        assert_eq!((flags.logs, flags.main.as_str()), (vec![only], "x.jar"));
        assert!(!flags.has_perf_data && flags.kafka.is_none());
        let flags = read("java -Xlog:gc:file=a -Xlog:safepoint:file=b -Xlog:async @more -m m/c");
        assert_eq!((flags.logs.len(), flags.is_log_async, flags.main.as_str()), (2, true, "m/c"));
        assert_eq!(flags.elsewhere, ["@more"]);
    }

    #[test]
    fn the_last_option_counts() {
        let flags = read(
            "java -XX:+UseZGC -XX:-UseZGC -XX:-UsePerfData -XX:+UsePerfData -Xmx1g -XX:MaxHeapSize=2g X",
        );
        assert_eq!((flags.collector, flags.heap_max_bytes, flags.has_perf_data), (None, Some(2 << 30), true));
        assert_eq!(read("").main, "");
        assert_eq!(read("java -jar").main, "");
    }

    proptest! {
        #[test]
        fn no_command_line_is_too_strange(
            bytes: Vec<u8>,
            words in proptest::collection::vec("(-Xlog|-Xloggc|-XX:[+-]|-Xmx|kafka.Kafka|-D)?[a-z0-9:=*+,\"%]{0,20}", 0..8),
        ) {
            let _flags = JvmFlags::read(&bytes);
            let _flags = JvmFlags::read(words.join("\0").as_bytes());
        }
    }
}
