//! References in values: `${provider:path:key}`, or `${provider:key}`, with whatever is around them
//! (`ConfigTransformer` of Apache Kafka).
//!
//! What always holds: what is put in is not looked through again, and a reference that nothing is
//! known for stays as it is written.

use std::collections::BTreeMap;

/// What a value refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    /// All of it, as it is written.
    pub(super) text: &'a str,
    /// The provider's name.
    pub(super) provider: &'a str,
    /// Where the provider is to look; may be empty.
    pub(super) path: &'a str,
    /// What it is to look for there.
    pub(super) key: &'a str,
}

/// The references in a value, and what stands before each and behind the last.
pub(super) fn split(value: &str) -> (Vec<(&str, Reference<'_>)>, &str) {
    let (mut found, mut begin, mut from) = (Vec::new(), 0, 0);
    while let Some(at) = value[from..].find("${").map(|at| from + at) {
        let Some(end) = value[at..].find('}').map(|end| at + end) else { break };
        from = end + 1;
        // One without a colon says nothing, and nothing inside of it does.
        let Some((provider, rest)) = value[at + 2..end].split_once(':') else { continue };
        let (path, key) = rest.split_once(':').unwrap_or(("", rest));
        let text = &value[at..=end];
        found.push((&value[begin..at], Reference { text, provider, path, key }));
        begin = from;
    }
    (found, &value[begin..])
}

/// What references stand for in settings that cannot be used, so that sentences about them name
/// these and not what was put in.
#[derive(Debug, Default)]
pub(super) struct Origins {
    /// Value and what is written for it, or for the whole that it is a part of.
    written: BTreeMap<String, String>,
}

impl Origins {
    /// `value` was made of `written`, or put in for it.
    pub(super) fn note(&mut self, value: &str, written: &str) {
        let lists = value
            .split([',', ';'])
            .flat_map(|item| item.split_once("://").map_or([item, item], <[_; 2]>::from));
        for part in std::iter::once(value).chain(lists).chain(value.split_whitespace()).map(str::trim) {
            // One or two letters are in every sentence, and give nothing away.
            if part.chars().count() > 2 {
                for part in [part.to_owned(), part.to_uppercase(), part.to_lowercase()] {
                    self.written.entry(part).or_insert_with(|| written.to_owned());
                }
            }
        }
    }

    /// A sentence with the references themselves in the place of what they stand for.
    pub(super) fn hide(&self, sentence: &str) -> String {
        let mut values: Vec<_> = self.written.iter().collect();
        values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        let mut hidden = String::with_capacity(sentence.len());
        let mut rest = sentence;
        while let Some(first) = rest.chars().next() {
            match values.iter().find(|(value, _)| rest.starts_with(value.as_str())) {
                Some((value, written)) => {
                    hidden.push_str(written);
                    rest = &rest[value.len()..];
                }
                None => {
                    hidden.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        hidden
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(value: &str) -> (Vec<[&str; 4]>, &str) {
        let (found, rest) = split(value);
        (found.into_iter().map(|(before, one)| [before, one.provider, one.path, one.key]).collect(), rest)
    }

    #[test]
    fn references_are_found_as_apache_kafka_finds_them() {
        assert_eq!(parts("plain"), (vec![], "plain"));
        assert_eq!(parts("a${env:X}b"), (vec![["a", "env", "", "X"]], "b"));
        assert_eq!(
            parts("${file:/a:b:c}-$${dir:/d:e}"),
            (vec![["", "file", "/a", "b:c"], ["-$", "dir", "/d", "e"]], "")
        );
        assert_eq!(parts("${z}${env:X}"), (vec![["${z}", "env", "", "X"]], ""));
        assert_eq!(parts("${a ${env:X}"), (vec![["", "a ${env", "", "X"]], ""));
        assert_eq!(parts("${env:X"), (vec![], "${env:X"));
        assert_eq!(parts("${:}ü"), (vec![["", "", "", ""]], "ü"));
    }

    #[test]
    fn a_sentence_names_the_reference_and_not_the_secret() {
        let mut origins = Origins::default();
        origins.note("hunter2,Many words", "${env:X}");
        origins.note("1", "${env:Y}");
        assert_eq!(
            origins.hide("Invalid value hunter2,Many words: [hunter2], HUNTER2, words, 1"),
            "Invalid value ${env:X}: [${env:X}], ${env:X}, ${env:X}, 1"
        );
    }
}
