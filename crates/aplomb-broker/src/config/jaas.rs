//! JAAS lines, as `sasl.jaas.config` has them: one login module, a flag, options, a semicolon.
//!
//! What always holds: a line means here what it means to Apache Kafka, whose `JaasConfig` reads it
//! with Java's `StreamTokenizer`; an error never quotes a value.

use std::collections::BTreeMap;

/// One login module with its options.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginModule {
    /// The class, as it is written.
    pub class: String,
    /// The options: names and values, which may be secrets.
    pub options: BTreeMap<String, String>,
}

impl std::fmt::Debug for LoginModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.options.keys().collect();
        f.debug_struct("LoginModule").field("class", &self.class).field("options", &names).finish()
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JaasError {
    /// Nothing is there.
    #[error("a login module, as in org.apache.kafka.common.security.plain.PlainLoginModule required;")]
    Empty,
    /// The flag is missing or another word.
    #[error("required, requisite, sufficient or optional behind the login module")]
    Flag,
    /// An option without a value: which one. Its name may be half of a password that is not in
    /// quotes, or has one in it.
    #[error("a value for each option, in quotes if it is more than a word: option {0} has none")]
    NoValue(usize),
    /// The end is missing.
    #[error("a line that ends with a semicolon")]
    NoSemicolon,
    /// More than one module.
    #[error("one login module only, as the mechanism in the key's name is one")]
    Several,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// A word, or what was in quotes.
    Text(String),
    /// A number, which is no word to Java.
    Number,
    /// Any other character.
    Sign(char),
}

/// Reads a line.
pub fn parse_jaas(line: &str) -> Result<LoginModule, JaasError> {
    let mut tokens = Tokens { rest: line }.peekable();
    let Some(first) = tokens.next() else { return Err(JaasError::Empty) };
    let Token::Text(class) = first else { return Err(JaasError::Empty) };
    let flags = ["required", "requisite", "sufficient", "optional"];
    match tokens.next() {
        Some(Token::Text(flag)) if flags.iter().any(|known| flag.eq_ignore_ascii_case(known)) => {}
        _ => return Err(JaasError::Flag),
    }
    let mut options = BTreeMap::new();
    loop {
        match tokens.next() {
            None => return Err(JaasError::NoSemicolon),
            Some(Token::Sign(';')) => break,
            Some(Token::Text(name)) => {
                let (sign, value) = (tokens.next(), tokens.next());
                match (sign, value) {
                    (Some(Token::Sign('=')), Some(Token::Text(value))) => options.insert(name, value),
                    _ => return Err(JaasError::NoValue(options.len() + 1)),
                };
            }
            Some(Token::Number | Token::Sign(_)) => return Err(JaasError::NoValue(options.len() + 1)),
        }
    }
    if tokens.peek().is_some() {
        return Err(JaasError::Several);
    }
    Ok(LoginModule { class, options })
}

struct Tokens<'a> {
    rest: &'a str,
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c <= ' ');
            let first = self.rest.chars().next()?;
            if first == '/' {
                self.skip_comment();
                continue;
            }
            return Some(match first {
                '"' | '\'' => self.quoted(first),
                '0'..='9' | '-' | '.' => self.number_or_word(),
                _ if is_letter(first) => self.word(),
                _ => {
                    self.rest = &self.rest[first.len_utf8()..];
                    Token::Sign(first)
                }
            });
        }
    }
}

impl Tokens<'_> {
    /// A single slash begins a comment too.
    fn skip_comment(&mut self) {
        let (behind, length) = match self.rest.strip_prefix("/*") {
            Some(comment) => (comment.find("*/").map(|at| at + 4), self.rest.len()),
            None => (self.rest.find(['\n', '\r']), self.rest.len()),
        };
        self.rest = &self.rest[behind.unwrap_or(length)..];
    }

    fn word(&mut self) -> Token {
        let end = self.rest.find(|c| !is_letter(c) && !is_digit(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Token::Text(word.to_owned())
    }

    /// A dash that no digit follows is one of a word, as it was made a letter.
    fn number_or_word(&mut self) -> Token {
        let digits = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        if !digits[..end].contains(|c: char| c.is_ascii_digit()) && self.rest.starts_with('-') {
            return self.word();
        }
        if end == 0 || digits[..end].chars().all(|c| c == '.') {
            self.rest = &self.rest[1..];
            return Token::Sign('.');
        }
        self.rest = &digits[end..];
        Token::Number
    }

    /// Ends at its quote, at the end of the line, or of the text.
    fn quoted(&mut self, quote: char) -> Token {
        let mut text = String::new();
        let mut chars = self.rest[1..].char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            if c == quote || c == '\n' || c == '\r' {
                end = at + 1 + usize::from(c == quote);
                break;
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            let Some((_, escaped)) = chars.next() else { break };
            text.push(match escaped {
                '0'..='7' => {
                    let mut code = escaped.to_digit(8).unwrap_or(0);
                    // Three digits, if the first leaves room for them in a byte.
                    let most = if escaped <= '3' { 2 } else { 1 };
                    for _ in 0..most {
                        let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(8)) else { break };
                        code = code * 8 + digit;
                        chars.next();
                    }
                    char::from_u32(code).unwrap_or('\u{fffd}')
                }
                'a' => '\x07',
                'b' => '\x08',
                'f' => '\x0c',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\x0b',
                other => other,
            });
        }
        self.rest = &self.rest[end..];
        Token::Text(text)
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '-' | '_' | '$') || c >= '\u{a0}'
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Vec<(String, String)> {
        parse_jaas(line).expect(line).options.into_iter().collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_line_as_the_documentation_has_it_is_understood() {
        let line = "org.apache.kafka.common.security.plain.PlainLoginModule required \\\n username=\"admin\"";
        let line = line.replace("\\\n", "") + " password='admin-secret' user_alice=\"a\\\"b\" user_bob=bob;";
        let module = parse_jaas(&line).expect("a line");
        assert_eq!(module.class, "org.apache.kafka.common.security.plain.PlainLoginModule");
        assert_eq!(
            module.options.into_iter().collect::<Vec<_>>(),
            [
                pair("password", "admin-secret"),
                pair("user_alice", "a\"b"),
                pair("user_bob", "bob"),
                pair("username", "admin")
            ]
        );
    }

    #[test]
    fn what_java_would_not_take_is_refused_without_a_value_in_the_words() {
        let refused = |line| parse_jaas(line).expect_err(line);
        assert_eq!(refused(""), JaasError::Empty);
        assert_eq!(refused("Module"), JaasError::Flag);
        assert_eq!(refused("Module needed;"), JaasError::Flag);
        assert_eq!(refused("Module required a=b"), JaasError::NoSemicolon);
        assert_eq!(refused("Module required a=12;"), JaasError::NoValue(1));
        assert_eq!(refused("Module required a;"), JaasError::NoValue(1));
        assert_eq!(refused("M required; N required;"), JaasError::Several);
        for line in [
            "M required user_a=\"secret\" user_b;",
            "M required user_a=\"a\"secret\";",
            "M required user_a=\"a\" secret b;",
        ] {
            let words = refused(line).to_string();
            assert!(!words.contains("secret"), "{words}");
        }
    }

    #[test]
    fn comments_escapes_and_odd_words_are_as_javas() {
        assert_eq!(options("M /* x */ REQUIRED // y\n a='b' ;"), [pair("a", "b")]);
        assert_eq!(
            options("M optional a='\\101\\0619\\n' b=x-1.y;"),
            [pair("a", "A19\n"), pair("b", "x-1.y")]
        );
        assert_eq!(options("M optional é=ü_$ ;"), [pair("é", "ü_$")]);
        assert_eq!(options("M optional a='';"), [pair("a", "")]);
    }
}
