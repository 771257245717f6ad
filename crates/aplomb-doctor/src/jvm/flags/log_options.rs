//! `-Xlog:WHAT:OUTPUT:DECORATIONS:OPTIONS`: which file gets which lines.
//!
//! What always holds: several options for one file are one [`JvmLogFile`]; what goes to the
//! standard streams has no place that could be read.

use super::log_file::JvmLogFile;

/// What a JVM's `-Xlog` and `-Xloggc` options ask for.
#[derive(Debug, Default)]
pub(super) struct LogOptions {
    pub(super) files: Vec<JvmLogFile>,
    /// `-Xlog:async`: no thread of the JVM waits for a line to be written.
    pub(super) is_async: bool,
}

impl LogOptions {
    /// Takes what follows `-Xlog`.
    pub(super) fn take(&mut self, option: &str) {
        let Some(option) = option.strip_prefix(':') else { return };
        let mut parts = parts(option).into_iter();
        let what = parts.next().unwrap_or_default();
        if what == "async" {
            self.is_async = true;
        }
        if matches!(what, "async" | "disable" | "help") {
            if what == "disable" {
                self.files.clear();
            }
            return;
        }
        let Some(name) = parts.next().and_then(file_name) else { return };
        let file = self.file(name);
        for selection in what.split(',') {
            select(file, selection);
        }
    }

    /// `-Xloggc:PATH`, which JDK 8 has alone and later ones still take.
    pub(super) fn take_gc_file(&mut self, name: &str) {
        self.file(name).has_pauses = true;
    }

    /// What `-XX:+Print…` of JDK 8 adds to the files.
    pub(super) fn add_jdk8(&mut self, has_safepoints: bool, has_phases: bool) {
        for file in &mut self.files {
            file.has_safepoints |= has_safepoints;
            file.has_phases |= has_phases;
        }
    }

    fn file(&mut self, name: &str) -> &mut JvmLogFile {
        let at = self.files.iter().position(|file| file.pattern == name).unwrap_or_else(|| {
            self.files.push(JvmLogFile { pattern: name.to_owned(), ..JvmLogFile::default() });
            self.files.len() - 1
        });
        &mut self.files[at]
    }
}

/// Parts between colons; a file's name may be in quotes, and have colons within.
fn parts(option: &str) -> Vec<&str> {
    let mut is_quoted = false;
    option
        .split(|c| {
            is_quoted ^= c == '"';
            c == ':' && !is_quoted
        })
        .collect()
}

/// The file that an output is; `None` for a standard stream.
fn file_name(output: &str) -> Option<&str> {
    let name = output.strip_prefix("file=").unwrap_or(output).trim_matches('"');
    (!matches!(name, "" | "stdout" | "stderr")).then_some(name)
}

/// `gc+phases=debug`, `safepoint*`; lines of interest are of level `info`.
fn select(file: &mut JvmLogFile, selection: &str) {
    let (tags, level) = selection.split_once('=').unwrap_or((selection, "info"));
    let is_told = !matches!(level, "off" | "error" | "warning");
    let (tags, is_open) = match tags.strip_suffix('*') {
        Some(tags) => (tags, true),
        None => (tags, matches!(tags, "" | "all")),
    };
    let tags: Vec<&str> = tags.split('+').filter(|tag| !matches!(*tag, "" | "all")).collect();
    let matches =
        |line: &[&str]| tags.iter().all(|tag| line.contains(tag)) && (is_open || tags.len() == line.len());
    for (has, line) in [
        (&mut file.has_pauses, &["gc"][..]),
        (&mut file.has_phases, &["gc", "phases"]),
        (&mut file.has_safepoints, &["safepoint"]),
    ] {
        if matches(line) {
            *has = is_told;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(options: &[&str]) -> Vec<(String, [bool; 3])> {
        let mut found = LogOptions::default();
        options.iter().for_each(|option| found.take(option));
        let told = |file: JvmLogFile| (file.pattern, [file.has_pauses, file.has_phases, file.has_safepoints]);
        found.files.into_iter().map(told).collect()
    }

    fn one(option: &str) -> (String, [bool; 3]) {
        files(&[option]).pop().expect("a file")
    }

    #[test]
    fn each_form_of_the_option_is_understood() {
        let kafka = ":gc*:file=/opt/kafka/logs/kafkaServer-gc.log:time,tags:filecount=10,filesize=100M";
        assert_eq!(one(kafka), ("/opt/kafka/logs/kafkaServer-gc.log".into(), [true, true, false]));
        assert_eq!(one(":gc:gc.log"), ("gc.log".into(), [true, false, false]));
        assert_eq!(one(":gc,safepoint=debug:file=x"), ("x".into(), [true, false, true]));
        assert_eq!(one("::file=x"), ("x".into(), [true, true, true]));
        assert_eq!(one(":all=warning:file=x"), ("x".into(), [false, false, false]));
        assert_eq!(
            one(":safepoint*:file=\"/a:b/%p.log\":timenanos"),
            ("/a:b/%p.log".into(), [false, false, true])
        );
        assert_eq!(one(":gc*,gc+phases=off:file=x"), ("x".into(), [true, false, false]));
        assert_eq!(one(":phases+gc=info:file=x"), ("x".into(), [false, true, false]));
        for nothing in ["", ":", ":gc*", ":gc*:stdout:time", ":gc*::time", ":help", ":gc:file="] {
            assert_eq!(files(&[nothing]), [], "{nothing}");
        }
    }

    #[test]
    fn options_for_one_file_add_up() {
        let found = files(&[":gc:file=a", ":async", ":safepoint:file=b", ":safepoint:file=a:time"]);
        assert_eq!(found, [("a".into(), [true, false, true]), ("b".into(), [false, false, true])]);
        assert_eq!(files(&[":gc:file=a", ":disable", ":gc:file=b"]), [("b".into(), [true, false, false])]);
    }
}
