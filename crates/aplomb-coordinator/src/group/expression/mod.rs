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

/// The most bytes that a compiled pattern may take. RE2/J takes more.
const LARGEST: usize = 8 << 20;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Expression(Regex);

impl Expression {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// When it is none, with Apache Kafka's message (INVALID_REGULAR_EXPRESSION), or when it is too
    /// large.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        compile(pattern).map(Self).map_err(|error| {
            format!("SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}.")
        })
    }

    /// Whether all of the name matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name.as_bytes())
    }
}

fn compile(pattern: &str) -> Result<Regex, &'static str> {
    const TOO_LARGE: &str = "expression is too large";
    if pattern.len() > LONGEST {
        return Err(TOO_LARGE);
    }
    let translated = format!(r"\A(?:{})\z", translate::translate(pattern)?);
    // What is translated is well formed: only its size can be refused.
    RegexBuilder::new(&translated).unicode(false).size_limit(LARGEST).build().map_err(|_| TOO_LARGE)
}

#[cfg(test)]
mod tests;
