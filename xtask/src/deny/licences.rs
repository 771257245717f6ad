//! Licence expressions (SPDX): `(MIT OR Apache-2.0) AND Unicode-3.0`. `OR` binds less than `AND`;
//! old manifests write `/` for `OR`.

/// Whether the licences in `allowed` are enough for what `expression` demands.
pub(super) fn is_allowed(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, allowed };
    let result = parser.any();
    match (result, parser.words) {
        (Some(result), []) => Ok(result),
        _ => Err(format!("the licence '{expression}' is not understood")),
    }
}

struct Parser<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut result = self.all()?;
        while self.take("OR") {
            result |= self.all()?;
        }
        Some(result)
    }

    fn all(&mut self) -> Option<bool> {
        let mut result = self.one()?;
        while self.take("AND") {
            result &= self.one()?;
        }
        Some(result)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let result = self.any()?;
            return self.take(")").then_some(result);
        }
        let name = self.next().filter(|name| !["AND", "OR", "WITH", ")"].contains(name))?;
        let name = if self.take("WITH") { format!("{name} WITH {}", self.next()?) } else { name.to_owned() };
        Some(self.allowed.contains(&name))
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_what_is_offered_is_enough_and_all_of_what_is_demanded_are_needed() {
        let allowed = ["MIT".to_owned(), "Zlib".to_owned()];
        for (expression, is) in [
            ("MIT", true),
            ("GPL-2.0", false),
            ("GPL-2.0 OR MIT", true),
            ("GPL-2.0/MIT", true),
            ("GPL-2.0 AND MIT", false),
            ("GPL-2.0 OR MIT AND Zlib", true),
            ("(GPL-2.0 OR MIT) AND Zlib", true),
            ("(GPL-2.0 OR MIT) AND GPL-2.0", false),
            ("MIT WITH an-exception", false),
            ("MIT WITH an-exception OR Zlib", true),
        ] {
            assert_eq!(is_allowed(expression, &allowed), Ok(is), "{expression}");
        }
        for odd in ["", "MIT OR", "(MIT", "MIT Zlib", "OR MIT"] {
            assert!(is_allowed(odd, &allowed).is_err(), "{odd}");
        }
    }
}
