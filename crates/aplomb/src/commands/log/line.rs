//! One line of a dump: named values, as text (`name: value name: value`, the form and the names of
//! `kafka-dump-log`) or as JSON.

use std::io::{self, Write};

use serde_json::{Map, Value};

/// Named values in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    indent: bool,
    values: Vec<(&'static str, Value)>,
}

impl Line {
    /// An empty line.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// An empty line that belongs to the one above it.
    pub(super) fn below() -> Self {
        Self { indent: true, values: Vec::new() }
    }

    /// Adds a value.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.values.push((name, value.into()));
        self
    }

    /// Adds bytes: as text where they are some, otherwise in hexadecimal digits behind `0x`.
    /// Nothing where there are none.
    pub(super) fn with_bytes(self, name: &'static str, bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => self.with(name, shown(bytes)),
            None => self,
        }
    }

    pub(super) fn write(&self, json: bool, file: &str, out: &mut impl Write) -> io::Result<()> {
        if json {
            let mut map: Map<String, Value> =
                self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            map.insert("file".to_owned(), file.into());
            return writeln!(out, "{}", Value::Object(map));
        }
        let mut before = if self.indent { "| " } else { "" };
        for (name, value) in &self.values {
            match value {
                Value::String(text) => write!(out, "{before}{name}: {text}")?,
                other => write!(out, "{before}{name}: {other}")?,
            }
            before = " ";
        }
        writeln!(out)
    }
}

fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_text_or_json() {
        let line = Line::below()
            .with("offset", 7)
            .with_bytes("key", Some(b"k"))
            .with_bytes("payload", Some(&[1, 0xff]));
        let written = |json| {
            let mut out = Vec::new();
            line.write(json, "f", &mut out).expect("memory takes everything");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(written(false), "| offset: 7 key: k payload: 0x01ff\n");
        assert_eq!(written(true), "{\"file\":\"f\",\"key\":\"k\",\"offset\":7,\"payload\":\"0x01ff\"}\n");
    }
}
