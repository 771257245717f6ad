//! What tidy looks for in one file. Each rule finds lines; how many of them a crate may still have,
//! the ratchet says.

use super::source::{Comment, CommentKind, Source, SourceLine};

/// A rule, by the name that it has in `xtask/tidy.toml`.
pub(super) struct Rule {
    pub(super) name: &'static str,
    /// What a fault is, and what to do about it.
    pub(super) says: &'static str,
    /// The lines that break it, counted from 1.
    pub(super) find: fn(&Source) -> Vec<usize>,
}

/// For files of Rust, one by one.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "long-comments",
        says: "comments end at column 100: say it shorter, or in two lines",
        find: |source| lines(source, is_long_comment),
    },
    Rule {
        name: "empty-docs",
        says: "a doc of three words that repeats the name: say what the name does not, or (where it is private) nothing",
        find: empty_docs,
    },
    Rule {
        name: "vague-words",
        says: "say who or what it is, instead of somebody, nobody, whoever, what there is",
        find: |source| lines(source, |line| comment_has(line, VAGUE)),
    },
    Rule {
        name: "old-names",
        says: "docs/words.md has a better name for it",
        find: |source| lines(source, has_old_name),
    },
    Rule {
        name: "allows",
        says: "#[expect(..., reason = ...)] says why, and notices when it is no longer so",
        find: |source| lines(source, |line| line.code.contains("[allow(")),
    },
    Rule {
        name: "unfinished",
        says: "finish it, or leave it out",
        find: |source| lines(source, |line| comment_has(line, &["todo", "fixme", "xxx", "hack"])),
    },
];

/// The most lines of a file that one writes by hand.
pub(super) const MAX_LINES: usize = 500;

/// The types that a file defines, tests aside, and where.
pub(super) fn types(source: &Source) -> Vec<(String, usize)> {
    let is_test = |line: &SourceLine| line.code.starts_with("mod tests {");
    let numbered = source.lines.iter().zip(1..).take_while(|(line, _)| !is_test(line));
    let named = numbered.filter_map(|(line, number)| {
        let code = line.code.strip_prefix("pub").map_or(line.code.as_str(), |rest| {
            rest.strip_prefix('(').and_then(|scope| scope.split_once(')')).map_or(rest, |(_, rest)| rest)
        });
        let mut words = code.split_whitespace();
        let is_nested = line.code.starts_with(char::is_whitespace);
        let is_type = matches!(words.next()?, "struct" | "enum" | "trait" | "type" | "union");
        let name = words.next()?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        (is_type && !is_nested).then(|| (name.to_owned(), number))
    });
    named.collect()
}

const MAX_WIDTH: usize = 100;

const VAGUE: &[&str] = &[
    "somebody",
    "someone",
    "nobody",
    "anybody",
    "anyone",
    "everybody",
    "everyone",
    "whoever",
    "whomever",
    "somebody's",
    "nobody's",
    "everybody's",
    "what there is",
    "what there was",
    "whatever there is",
    "such as there are",
];

/// Names that were given up for Kafka's or plainer ones, in lower case, as words of identifiers.
const OLD_NAMES: &[&str] = &[
    "controller room",
    "keeper",
    "upkeep",
    "doom",
    "farewell",
    "goodbye",
    "undertaker",
    "bury",
    "mortal",
    "fetch wish",
    "startup disk",
    "read memory",
];

/// Words that say nothing that the item's name does not.
const FILLERS: &[&str] = &[
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "for", "from", "has", "have", "here",
    "how", "in", "is", "it", "its", "no", "of", "on", "one", "or", "so", "that", "the", "their", "them",
    "there", "they", "this", "to", "was", "what", "when", "where", "whether", "which", "who", "whom",
    "whose", "why", "with",
];

fn lines(source: &Source, breaks: impl Fn(&SourceLine) -> bool) -> Vec<usize> {
    let numbered = source.lines.iter().zip(1..);
    numbered.filter(|(line, _)| breaks(line)).map(|(_, number)| number).collect()
}

/// Tables and lines of one long word cannot be broken.
fn is_long_comment(line: &SourceLine) -> bool {
    let Some(Comment { text, .. }) = &line.comment else { return false };
    let longest = text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
    line.width > MAX_WIDTH && !text.starts_with('|') && longest <= MAX_WIDTH / 2
}

fn comment_has(line: &SourceLine, phrases: &[&str]) -> bool {
    line.comment.as_ref().is_some_and(|comment| has(&comment.text, phrases))
}

fn has_old_name(line: &SourceLine) -> bool {
    has(&line.code, OLD_NAMES) || comment_has(line, OLD_NAMES)
}

fn has(text: &str, phrases: &[&str]) -> bool {
    let words = format!(" {} ", words(text).join(" "));
    phrases.iter().any(|phrase| words.contains(&format!(" {phrase} ")))
}

/// The words of a text in lower case; `DiskQueue` and `disk_queue` are two.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in text.chars() {
        if (c.is_uppercase() && was_lower) || !(c.is_alphanumeric() || c == '\'') {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if c.is_alphanumeric() || c == '\'' {
            let last = words.len() - 1;
            words[last].extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Docs of one line and at most three words, of which none says more than the line of code below.
fn empty_docs(source: &Source) -> Vec<usize> {
    let doc = |at: usize| match &source.lines.get(at)?.comment {
        Some(Comment { kind: CommentKind::Doc, text }) => Some(text),
        _ => None,
    };
    let alone = (0..source.lines.len())
        .filter(|at| doc(at + 1).is_none() && at.checked_sub(1).is_none_or(|before| doc(before).is_none()));
    let empty = alone.filter(|at| {
        let Some(text) = doc(*at) else { return false };
        let item = source.lines[at + 1..].iter().find(|line| {
            let code = line.code.trim();
            !code.is_empty() && !code.starts_with("#[")
        });
        let Some(item) = item else { return false };
        let item = words(&item.code);
        let says = words(text);
        // The name of a setting says where the field comes from.
        !text.contains('`')
            && text.split_whitespace().count() <= 3
            && says.iter().all(|word| {
                FILLERS.contains(&word.as_str()) || item.iter().any(|known| is_same_word(word, known))
            })
    });
    empty.map(|at| at + 1).collect()
}

/// Whether two words have a stem in common: offsets and offset, reads and reading.
fn is_same_word(one: &str, other: &str) -> bool {
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let shorter = one.chars().count().min(other.chars().count());
    common == shorter && shorter >= 3 || common >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: &str, text: &str) -> Vec<usize> {
        let rule = RULES.iter().find(|each| each.name == rule).expect("a rule of this name");
        (rule.find)(&Source::of(text))
    }

    #[test]
    fn comments_end_at_column_100() {
        let words = "word ".repeat(25);
        assert_eq!(found("long-comments", &format!("/// {words}\nlet a = 1; // {words}\n// short")), [1, 2]);
        assert_eq!(found("long-comments", &format!("let a = \"// {words}\";\n//! | {words}|")), [0; 0]);
        assert_eq!(
            found("long-comments", &format!("// see https://example.org/{}", "x".repeat(100))),
            [0; 0]
        );
    }

    #[test]
    fn a_doc_that_says_what_the_name_says_is_empty() {
        assert_eq!(found("empty-docs", "/// Its name.\nname: String,\n/// Why.\nreason: String,"), [1, 3]);
        assert_eq!(found("empty-docs", "/// Plans.\n#[must_use]\nfn plan() {}"), [1]);
        assert_eq!(found("empty-docs", "/// `segment.ms`\nsegment_ms: i64,"), [0; 0]);
        assert_eq!(found("empty-docs", "/// Milliseconds since 1970.\ntime: i64,"), [0; 0]);
        assert_eq!(found("empty-docs", "/// Plans.\n///\n/// # Errors\n/// Never.\nfn plan() {}"), [0; 0]);
    }

    #[test]
    fn types_are_found_and_those_of_tests_are_not() {
        let text = "struct A;\npub(super) enum B<T> {\n    type C = u8;\n}\npub trait D: E {}\nmod tests {\nstruct F;\n}";
        let named: Vec<String> = types(&Source::of(text)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(named, ["A", "B", "D"]);
    }

    #[test]
    fn words_are_found_in_comments_and_old_names_in_code_too() {
        assert_eq!(found("vague-words", "// Nobody waits.\nlet nobody = 1;\n// all there is"), [1]);
        assert_eq!(
            found("old-names", "struct FetchWish;\nfn fetch_wish() {}\nfetch(wish);\nlet keepers = 1;"),
            [1, 2, 3]
        );
        assert_eq!(found("allows", "#![allow(dead_code)]\n    #[allow(unused)]\n// #[allow(x)]"), [1, 2]);
        assert_eq!(found("unfinished", "// TODO: later\n// to do"), [1]);
    }
}
