//! Regular expressions that consumers subscribe to (`SubscribedTopicRegex`).
//!
//! Apache Kafka has RE2/J compile them, and matches whole names. Here a pattern is translated into
//! one that means the same to the `regex` crate, which guarantees linear time just so. Names of
//! topics are ASCII, so only ASCII is looked at.
//!
//! - [`translate`]: RE2/J's syntax, with what it refuses;
//! - [`set`]: sets of ASCII characters, and the classes that have names.

mod set;
mod translate;

use regex::bytes::{Regex, RegexBuilder};

/// The longest pattern, in bytes. Apache Kafka knows no such limit.
const LONGEST: usize = 256 << 10;

/// The most bytes that a compiled pattern may take: to find out that one does not fit takes two or
/// three milliseconds, in a turn in which others wait. RE2/J takes more.
const LARGEST: usize = 1 << 20;

/// A long pattern may take more, so many bytes for each of its own: text that stands for itself
/// takes half of that.
const FOR_EACH_BYTE: usize = 64;

/// But no more than this.
const LARGEST_OF_LONG: usize = 4 << 20;

/// Up to how many bytes a compiled pattern takes, and with how many names it is compared at once: a
/// comparison may go through all of it for each character.
const SIZES: [(usize, usize); 3] = [(16 << 10, 256), (128 << 10, 32), (LARGEST, 4)];

/// Patterns that are longer than this part of a size are not tried for it.
const DENSITY: usize = 4;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Expression {
    regex: Regex,
    names_at_once: usize,
}

impl Expression {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// When it is none, with Apache Kafka's message (INVALID_REGULAR_EXPRESSION), or when it is too
    /// large.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        compile(pattern).map_err(|error| {
            format!("SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}.")
        })
    }

    /// Whether all of the name matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name.as_bytes())
    }

    /// With so many names it may be compared in one turn: fewer, the larger it is.
    #[must_use]
    pub fn names_at_once(&self) -> usize {
        self.names_at_once
    }
}

fn compile(pattern: &str) -> Result<Expression, &'static str> {
    const TOO_LARGE: &str = "expression is too large";
    if pattern.len() > LONGEST {
        return Err(TOO_LARGE);
    }
    let translated = format!(r"\A(?:{})\z", translate::translate(pattern)?);
    let mut builder = RegexBuilder::new(&translated);
    builder.unicode(false);
    let of_long = (pattern.len() * FOR_EACH_BYTE).min(LARGEST_OF_LONG);
    for (size, names_at_once) in SIZES.into_iter().chain((of_long > LARGEST).then_some((of_long, 1))) {
        if size < LARGEST && pattern.len() > size / DENSITY {
            continue;
        }
        // What is translated is well formed: only its size can be refused.
        if let Ok(regex) = builder.size_limit(size).build() {
            return Ok(Expression { regex, names_at_once });
        }
    }
    Err(TOO_LARGE)
}

#[cfg(test)]
mod tests;
