//! A Java properties file that can be read, changed in one place, and written back without touching
//! the rest (`java.util.Properties.load`: ISO-8859-1, comments, escapes, continued lines).
//!
//! Holds: what was parsed and not changed is encoded byte for byte, comments and unknown keys
//! included. Next: `identity.rs`, which uses it.

/// `\u` in a properties file that is not followed by four hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed \\uxxxx escape in line {line}")]
pub struct MalformedEscape {
    /// Which line, counted from 1; the first of those that are continued.
    pub line: usize,
}

/// The text of a properties file, and what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertiesText {
    lines: Vec<PropertyLine>,
}

/// An entry, a comment or a blank line, with its line end and the lines that continue it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PropertyLine {
    raw: Vec<u8>,
    entry: Option<(String, String)>,
}

impl PropertiesText {
    /// Reads a file.
    ///
    /// # Errors
    /// [`MalformedEscape`], the only thing that is wrong in a properties file.
    pub fn parse(mut bytes: &[u8]) -> Result<Self, MalformedEscape> {
        let mut lines = Vec::new();
        let mut line = 1;
        while !bytes.is_empty() {
            let (raw, logical) = next_logical_line(bytes);
            bytes = &bytes[raw.len()..];
            let entry = logical.map(|logical| parse_entry(&logical)).transpose();
            let entry = entry.map_err(|BadEscape| MalformedEscape { line })?;
            lines.push(PropertyLine { raw: raw.to_vec(), entry });
            line += natural_lines(raw);
        }
        Ok(Self { lines })
    }

    /// A key's value. Where a key occurs twice, the later one holds.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries().filter(|(known, _)| *known == key).last().map(|(_, value)| value)
    }

    /// Keys and values in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().filter_map(|line| line.entry.as_ref()).map(|(key, value)| (&**key, &**value))
    }

    /// Sets a key's value: in the place where it holds now, or at the end. Nothing happens if it
    /// has that value already.
    pub fn set(&mut self, key: &str, value: &str) {
        let holds = |line: &&mut PropertyLine| line.entry.as_ref().is_some_and(|(known, _)| known == key);
        let changed = PropertyLine {
            raw: format!("{}={}\n", escaped(key, true), escaped(value, false)).into_bytes(),
            entry: Some((key.to_owned(), value.to_owned())),
        };
        match self.lines.iter_mut().rfind(holds) {
            Some(line) if line.entry == changed.entry => {}
            Some(line) => *line = changed,
            None => {
                self.end_last_line();
                self.lines.push(changed);
            }
        }
    }

    /// What to write into the file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| line.raw.iter().copied()).collect()
    }

    /// Makes sure that a line added now is one of its own.
    fn end_last_line(&mut self) {
        let Some(last) = self.lines.last_mut() else { return };
        let line_end = last.raw.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let content = last.raw.len() - line_end;
        if last.entry.is_some() && ends_in_backslash(&last.raw[..content]) {
            last.raw.truncate(content - 1); // it announces a line that never came
            last.raw.push(b'\n');
        } else if line_end == 0 {
            last.raw.push(b'\n');
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0c)
}

/// Whether an odd number of backslashes ends the line: the last one is not itself escaped.
fn ends_in_backslash(line: &[u8]) -> bool {
    line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Splits off one natural line: its content, and its length with the line end.
fn natural_line(bytes: &[u8]) -> (&[u8], usize) {
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len());
    let line_end = match bytes[end..] {
        [b'\r', b'\n', ..] => 2,
        [_, ..] => 1,
        [] => 0,
    };
    (&bytes[..end], end + line_end)
}

fn natural_lines(mut raw: &[u8]) -> usize {
    let mut count = 0;
    while !raw.is_empty() {
        raw = &raw[natural_line(raw).1..];
        count += 1;
    }
    count
}

/// Splits off one logical line: its bytes, and its content if it is an entry.
fn next_logical_line(bytes: &[u8]) -> (&[u8], Option<Vec<u8>>) {
    let (first, mut len) = natural_line(bytes);
    let content = first.trim_ascii_start_blank();
    if matches!(content, [] | [b'#' | b'!', ..]) {
        return (&bytes[..len], None);
    }
    let mut logical = content.to_vec();
    while ends_in_backslash(&logical) {
        logical.pop();
        let (next, next_len) = natural_line(&bytes[len..]);
        if next_len == 0 {
            break;
        }
        logical.extend_from_slice(next.trim_ascii_start_blank());
        len += next_len;
    }
    (&bytes[..len], Some(logical))
}

trait TrimBlank {
    fn trim_ascii_start_blank(&self) -> &[u8];
}

impl TrimBlank for [u8] {
    fn trim_ascii_start_blank(&self) -> &[u8] {
        let start = self.iter().position(|byte| !is_blank(*byte)).unwrap_or(self.len());
        &self[start..]
    }
}

fn parse_entry(logical: &[u8]) -> Result<(String, String), BadEscape> {
    let mut escaped = false;
    let key_end = logical.iter().position(|byte| {
        let ends = !escaped && (is_blank(*byte) || matches!(byte, b'=' | b':'));
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    let (key, rest) = logical.split_at(key_end.unwrap_or(logical.len()));
    let rest = rest.trim_ascii_start_blank();
    let value = rest.strip_prefix(b"=").or_else(|| rest.strip_prefix(b":")).unwrap_or(rest);
    Ok((unescape(key)?, unescape(value.trim_ascii_start_blank())?))
}

struct BadEscape;

/// Latin-1 with escapes, as text. Escapes are UTF-16; a lone surrogate, which is no character, is
/// replaced.
fn unescape(raw: &[u8]) -> Result<String, BadEscape> {
    let mut units: Vec<u16> = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            units.push(byte.into());
            continue;
        }
        match bytes.next() {
            Some(b'u') => {
                let hex: Vec<u8> = bytes.by_ref().take(4).collect();
                units.push(parse_hex(&hex).ok_or(BadEscape)?);
            }
            Some(b't') => units.push(0x09),
            Some(b'n') => units.push(0x0a),
            Some(b'f') => units.push(0x0c),
            Some(b'r') => units.push(0x0d),
            Some(other) => units.push(other.into()),
            None => {}
        }
    }
    Ok(String::from_utf16_lossy(&units))
}

fn parse_hex(digits: &[u8]) -> Option<u16> {
    let all_hex = digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
    u16::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| all_hex)?, 16).ok()
}

fn escaped(text: &str, key: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, unit) in text.encode_utf16().enumerate() {
        match u8::try_from(unit) {
            Ok(b' ') if key || index == 0 => out.push_str("\\ "),
            Ok(b'\t') => out.push_str("\\t"),
            Ok(b'\n') => out.push_str("\\n"),
            Ok(b'\r') => out.push_str("\\r"),
            Ok(0x0c) => out.push_str("\\f"),
            Ok(special @ (b'\\' | b'=' | b':' | b'#' | b'!')) => out.extend(['\\', char::from(special)]),
            Ok(plain @ b' '..=b'~') => out.push(char::from(plain)),
            Ok(_) | Err(_) => out.push_str(&format!("\\u{unit:04X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries(text: &str) -> Vec<(String, String)> {
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        PropertiesText::parse(text.as_bytes()).unwrap().entries().map(owned).collect()
    }

    fn one(text: &str) -> (String, String) {
        let mut entries = entries(text);
        assert_eq!(entries.len(), 1, "{text}");
        entries.remove(0)
    }

    #[test]
    fn keys_and_values_are_separated_as_in_java() {
        for text in
            ["node.id=7", "node.id:7", "node.id 7", "  node.id\t = 7", "node.id  :7", "node.id\\\n  =7"]
        {
            assert_eq!(one(text), ("node.id".to_owned(), "7".to_owned()), "{text}");
        }
        assert_eq!(one("a\\=b\\:c\\ d = e=f:g "), ("a=b:c d".to_owned(), "e=f:g ".to_owned()));
        assert_eq!(one("lonely"), ("lonely".to_owned(), String::new()));
        assert_eq!(one("k=a\\\r\n \tb\\\\"), ("k".to_owned(), "ab\\".to_owned()));
        assert_eq!(one("k=\\u00e9\\t\\q"), ("k".to_owned(), "é\tq".to_owned()));
        assert_eq!(one("k=a\\"), ("k".to_owned(), "a".to_owned()));
    }

    #[test]
    fn comments_and_blank_lines_say_nothing() {
        assert_eq!(entries("# a=b\n  ! c=d \\\n\n\t\x0c\r\n"), []);
        assert_eq!(one("# not continued \\\nk=v"), ("k".to_owned(), "v".to_owned()));
    }

    #[test]
    fn bytes_are_latin_1() {
        let text = PropertiesText::parse(b"k=\xe9").unwrap();
        assert_eq!(text.get("k"), Some("é"));
    }

    #[test]
    fn only_what_is_set_changes() {
        let before = "#\n#Wed Nov 04 10:11:12 UTC 2026\r\ncluster.id=x\n\nother.key : \\\n  kept\nnode.id=1";
        let mut text = PropertiesText::parse(before.as_bytes()).unwrap();
        text.set("cluster.id", "x");
        assert_eq!(text.encode(), before.as_bytes());
        text.set("directory.id", "a b");
        text.set("cluster.id", " y");
        let after = "#\n#Wed Nov 04 10:11:12 UTC 2026\r\ncluster.id=\\ y\n\nother.key : \\\n  kept\nnode.id=1\ndirectory.id=a b\n";
        assert_eq!(text.encode(), after.as_bytes());
    }

    #[test]
    fn an_announced_line_that_never_came_does_not_swallow_a_new_one() {
        for text in ["a=b\\", "a=b\\\n", "a=b\\\r\n"] {
            let mut text = PropertiesText::parse(text.as_bytes()).unwrap();
            text.set("c", "d");
            assert_eq!(text.encode(), b"a=b\nc=d\n");
        }
    }

    #[test]
    fn the_later_of_two_equal_keys_holds() {
        let mut text = PropertiesText::parse(b"k=1\nk=2\n").unwrap();
        assert_eq!(text.get("k"), Some("2"));
        text.set("k", "3");
        assert_eq!((text.get("k"), text.encode()), (Some("3"), b"k=1\nk=3\n".to_vec()));
    }

    #[test]
    fn a_malformed_escape_is_named_by_its_line() {
        let parse = |text: &[u8]| PropertiesText::parse(text).unwrap_err();
        assert_eq!(parse(b"a=b\\\n c\nk=\\u12g4\n"), MalformedEscape { line: 3 });
        assert_eq!(parse(b"k=\\u12"), MalformedEscape { line: 1 });
        assert_eq!(parse(b"k=\\u+123"), MalformedEscape { line: 1 });
    }

    proptest! {
        #[test]
        fn an_entry_reads_back_as_it_was_set(start in "([a-z]=[a-z\\\\]?\n?)?", key in "\\PC{1,9}", value in ".*") {
            let mut text = PropertiesText::parse(start.as_bytes()).unwrap();
            text.set(&key, &value);
            let read = PropertiesText::parse(&text.encode()).unwrap();
            prop_assert_eq!(read.get(&key), Some(&*value));
            prop_assert_eq!(read.entries().collect::<Vec<_>>(), text.entries().collect::<Vec<_>>());
        }

        #[test]
        fn what_is_not_changed_is_kept(bytes: Vec<u8>, text in "[ab=:#!\\\\ \t\r\nu0]{0,60}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                if let Ok(text) = PropertiesText::parse(bytes) {
                    prop_assert_eq!(text.encode(), bytes);
                }
            }
        }
    }
}
