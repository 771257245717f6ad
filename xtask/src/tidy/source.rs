//! One file of Rust, cut into code and comments. Strings are left out of both: what they say is for
//! others.

/// A file, line by line.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) lines: Vec<SourceLine>,
}

/// A line, and what of it is code and what comment.
#[derive(Debug, Default)]
pub(super) struct SourceLine {
    /// Characters in all.
    pub(super) width: usize,
    pub(super) code: String,
    pub(super) comment: Option<Comment>,
}

/// The words of a comment, without its slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comment {
    pub(super) kind: CommentKind,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommentKind {
    /// Of the item below it.
    Doc,
    /// Of the file or block that it is in.
    Opening,
    /// For readers of the code.
    Plain,
}

/// What the next character belongs to.
enum State {
    Code,
    /// Inside of so many `/*`.
    Block(usize),
    /// A string; a raw one ends with so many `#`.
    Text {
        hashes: Option<usize>,
    },
}

impl Source {
    pub(super) fn of(text: &str) -> Self {
        let mut state = State::Code;
        let lines = text.lines().map(|line| {
            let mut cut = SourceLine { width: line.chars().count(), ..SourceLine::default() };
            state = cut.read(line, std::mem::replace(&mut state, State::Code));
            cut
        });
        Self { lines: lines.collect() }
    }
}

impl SourceLine {
    fn read(&mut self, line: &str, mut state: State) -> State {
        let mut rest = line;
        while !rest.is_empty() {
            (state, rest) = match state {
                State::Code => self.read_code(rest),
                State::Block(depth) => self.read_block(rest, depth),
                State::Text { hashes } => (read_text(rest, hashes), after_text(rest, hashes)),
            };
        }
        state
    }

    fn read_code<'a>(&mut self, rest: &'a str) -> (State, &'a str) {
        if let Some(comment) = rest.strip_prefix("//") {
            let (kind, text) = match comment.as_bytes() {
                [b'/', b'/', ..] => (CommentKind::Plain, comment),
                [b'/', ..] => (CommentKind::Doc, &comment[1..]),
                [b'!', ..] => (CommentKind::Opening, &comment[1..]),
                _ => (CommentKind::Plain, comment),
            };
            self.comment = Some(Comment { kind, text: text.trim().to_owned() });
            return (State::Code, "");
        }
        if let Some(block) = rest.strip_prefix("/*") {
            return (State::Block(1), block);
        }
        if let Some((hashes, text)) = string_start(rest, &self.code) {
            self.code.push('"');
            return (State::Text { hashes }, text);
        }
        let length = char_literal(rest).unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
        self.code.push_str(&rest[..length]);
        (State::Code, &rest[length..])
    }

    fn read_block<'a>(&mut self, rest: &'a str, depth: usize) -> (State, &'a str) {
        let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
        let inner = rest[..end].find("/*");
        let words = rest[..inner.unwrap_or(end)].trim_end_matches("*/").trim();
        let comment = self.comment.get_or_insert(Comment { kind: CommentKind::Plain, text: String::new() });
        comment.text.push_str(words);
        match inner {
            Some(at) => (State::Block(depth + 1), &rest[at + 2..]),
            None if !rest[..end].ends_with("*/") => (State::Block(depth), ""),
            None if depth == 1 => (State::Code, &rest[end..]),
            None => (State::Block(depth - 1), &rest[end..]),
        }
    }
}

/// If a string begins here: how many `#` its end has if it is raw, and what is behind its first
/// quote.
fn string_start<'a>(rest: &'a str, before: &str) -> Option<(Option<usize>, &'a str)> {
    if let Some(text) = rest.strip_prefix('"') {
        return Some((None, text));
    }
    let raw = rest.strip_prefix('r')?;
    // Not the last letter of a word; `br"` and `cr"` are strings too.
    let word = before.trim_end_matches(['b', 'c']);
    if word.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let text = raw.trim_start_matches('#');
    Some((Some(raw.len() - text.len()), text.strip_prefix('"')?))
}

/// How long the character or byte in quotes is that begins here; a lifetime has no second quote.
fn char_literal(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let length = match inner.chars().next()? {
        '\\' => 1 + inner[1..].chars().next()?.len_utf8() + inner.get(2..)?.find('\'')?,
        first => first.len_utf8(),
    };
    inner[length..].starts_with('\'').then_some(length + 2)
}

fn read_text(rest: &str, hashes: Option<usize>) -> State {
    if text_end(rest, hashes).is_some() { State::Code } else { State::Text { hashes } }
}

fn after_text(rest: &str, hashes: Option<usize>) -> &str {
    text_end(rest, hashes).map_or("", |end| &rest[end..])
}

/// Where a string ends, if in this line.
fn text_end(rest: &str, hashes: Option<usize>) -> Option<usize> {
    if let Some(hashes) = hashes {
        let end = format!("\"{}", "#".repeat(hashes));
        return rest.find(&end).map(|at| at + end.len());
    }
    let mut is_escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<(String, Option<(CommentKind, String)>)> {
        let lines = Source::of(text).lines.into_iter();
        lines.map(|line| (line.code, line.comment.map(|comment| (comment.kind, comment.text)))).collect()
    }

    #[test]
    fn slashes_in_a_string_are_no_comment() {
        let is = |code: &str, kind, text: &str| vec![(code.to_owned(), Some((kind, text.to_owned())))];
        assert_eq!(cut("f(\"http://x\"); // y"), is("f(\"); ", CommentKind::Plain, "y"));
        assert_eq!(cut(r##"f(br#"a " // b"#) /// y"##), is("f(b\") ", CommentKind::Doc, "y"));
        assert_eq!(cut(r"f('\'', '/', 'a') //! y"), is(r"f('\'', '/', 'a') ", CommentKind::Opening, "y"));
        assert_eq!(cut("f::<'a>() // 'b'"), is("f::<'a>() ", CommentKind::Plain, "'b'"));
    }

    #[test]
    fn strings_and_blocks_go_on_over_lines() {
        let plain = |text: &str| Some((CommentKind::Plain, text.to_owned()));
        assert_eq!(
            cut("let a = \"b \\\" // c\n // d\"; // e"),
            [("let a = \"".to_owned(), None), ("; ".to_owned(), plain("e"))]
        );
        assert_eq!(cut("a /* b\n c */ d"), [("a ".to_owned(), plain("b")), (" d".to_owned(), plain("c"))]);
    }
}
