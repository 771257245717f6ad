//! Who a certificate says that its owner is: its distinguished name as Java writes it (RFC 2253),
//! and the rules that make a short name of it (`ssl.principal.mapping.rules`).

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};

use super::der::{Broken, Der, EXPLICIT_0, OID, SEQUENCE, SET};

/// Keywords that RFC 2253 has for kinds of names; all others are written as numbers.
const KEYWORDS: [(&[u8], &str); 9] = [
    (&[0x55, 4, 3], "CN"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "STREET"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1], "UID"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], "DC"),
];

/// The names of who signed a certificate and of whom it is, as they are in it.
pub(super) fn issuer_and_subject(certificate: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let read = || {
        let mut parts = Der::new(certificate).inside(SEQUENCE)?.inside(SEQUENCE)?;
        parts.optional(EXPLICIT_0)?; // version
        parts.value()?; // serial number
        parts.value()?; // algorithm
        let issuer = parts.expect(SEQUENCE)?.to_vec();
        parts.value()?; // validity
        Ok::<_, Broken>((issuer, parts.expect(SEQUENCE)?.to_vec()))
    };
    read().ok()
}

/// The name of a certificate's owner: `CN=alice,OU=People,O=Example`.
pub(super) fn distinguished_name(certificate: &[u8]) -> Option<String> {
    let (_, subject) = issuer_and_subject(certificate)?;
    in_words(&subject).ok()
}

/// The most particular part comes first.
fn in_words(name: &[u8]) -> Result<String, Broken> {
    let mut parts = Vec::new();
    let mut sets = Der::new(name);
    while !sets.is_empty() {
        let mut set = sets.inside(SET)?;
        let mut values = Vec::new();
        while !set.is_empty() {
            let mut pair = set.inside(SEQUENCE)?;
            let kind = pair.expect(OID)?;
            let (tag, content, whole) = pair.value()?;
            values.push(pair_in_words(kind, tag, content, whole));
        }
        parts.push(values.join("+"));
    }
    parts.reverse();
    Ok(parts.join(","))
}

fn pair_in_words(kind: &[u8], tag: u8, content: &[u8], whole: &[u8]) -> String {
    let keyword = KEYWORDS.iter().find(|(known, _)| *known == kind).map(|(_, keyword)| *keyword);
    match (keyword, text(tag, content)) {
        (Some(keyword), Some(text)) => format!("{keyword}={}", escaped(&text)),
        (keyword, _) => {
            let mut words = format!("{}=#", keyword.map_or_else(|| dotted(kind), str::to_owned));
            for byte in whole {
                // Writing into a string cannot fail.
                let _ = write!(words, "{byte:02x}");
            }
            words
        }
    }
}

/// The strings of ASN.1.
fn text(tag: u8, content: &[u8]) -> Option<String> {
    const UTF8: u8 = 0x0c;
    const PRINTABLE: u8 = 0x13;
    const TELETEX: u8 = 0x14;
    const IA5: u8 = 0x16;
    const BMP: u8 = 0x1e;
    match tag {
        UTF8 => String::from_utf8(content.to_vec()).ok(),
        PRINTABLE | IA5 if content.is_ascii() => String::from_utf8(content.to_vec()).ok(),
        TELETEX => Some(content.iter().map(|byte| char::from(*byte)).collect()),
        BMP if content.len().is_multiple_of(2) => {
            let units: Vec<u16> =
                content.chunks(2).map(|unit| u16::from_be_bytes([unit[0], unit[1]])).collect();
            String::from_utf16(&units).ok()
        }
        _ => None,
    }
}

fn escaped(text: &str) -> String {
    let inner = text.trim_matches(' ');
    let leading = text.len() - text.trim_start_matches(' ').len();
    let trailing = text.len() - leading - inner.len();
    let blanks = |count: usize| "\\ ".repeat(count);
    let mut words = blanks(leading);
    for c in inner.chars() {
        if ",=+<>#;\"\\".contains(c) {
            words.push('\\');
        }
        words.push(c);
    }
    if inner.is_empty() { words } else { words + &blanks(trailing) }
}

fn dotted(kind: &[u8]) -> String {
    let mut numbers: Vec<u128> = Vec::new();
    let mut number = 0_u128;
    for byte in kind {
        number = number << 7 | u128::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    if let Some(first) = numbers.first().copied() {
        let top = (first / 40).min(2);
        numbers.splice(..1, [top, first - 40 * top]);
    }
    numbers.iter().map(u128::to_string).collect::<Vec<_>>().join(".")
}

/// The rules, in order.
#[derive(Clone, Debug)]
pub struct PrincipalRules {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
enum Rule {
    /// The name as it is.
    Default,
    Replace {
        pattern: Regex,
        replacement: String,
        case: Case,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Same,
    Lower,
    Upper,
}

/// What is wrong with the rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Not of the form.
    #[error("DEFAULT, or RULE:pattern/replacement/ with L, U or nothing behind it; not {0}")]
    Form(String),
    /// A pattern that cannot be used.
    #[error("a pattern without looking around and references to groups, not {0}")]
    Pattern(String),
}

/// How large a pattern may be when it is compiled.
const LARGEST_PATTERN: usize = 1 << 20;

impl PrincipalRules {
    /// Reads `ssl.principal.mapping.rules`.
    ///
    /// # Errors
    /// With what would be accepted, if a rule is none.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let mut rules = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let form = || RuleError::Form(rest.to_owned());
            let (rule, behind) = match (rest.strip_prefix("DEFAULT"), rest.strip_prefix("RULE:")) {
                (Some(behind), _) => (Rule::Default, behind),
                (None, Some(rule)) => {
                    let (pattern, behind) = up_to_slash(rule).ok_or_else(form)?;
                    let (replacement, behind) = up_to_slash(behind).ok_or_else(form)?;
                    let (case, behind) = match behind.strip_prefix('L') {
                        Some(behind) => (Case::Lower, behind),
                        None => match behind.strip_prefix('U') {
                            Some(behind) => (Case::Upper, behind),
                            None => (Case::Same, behind),
                        },
                    };
                    let compiled = RegexBuilder::new(&format!("^(?:{pattern})$"))
                        .size_limit(LARGEST_PATTERN)
                        .build()
                        .map_err(|_| RuleError::Pattern(pattern.to_owned()))?;
                    (Rule::Replace { pattern: compiled, replacement: replacement.to_owned(), case }, behind)
                }
                (None, None) => return Err(form()),
            };
            let behind = behind.trim_start();
            rest = match behind.strip_prefix(',') {
                Some(more) => more.trim_start(),
                None if behind.is_empty() => behind,
                None => return Err(form()),
            };
            rules.push(rule);
        }
        if rules.is_empty() { Err(RuleError::Form(text.to_owned())) } else { Ok(Self { rules }) }
    }

    /// The short name, by the first rule that matches.
    #[must_use]
    pub fn apply(&self, name: &str) -> Option<String> {
        self.rules.iter().find_map(|rule| match rule {
            Rule::Default => Some(name.to_owned()),
            Rule::Replace { pattern, replacement, case } => {
                let groups = pattern.captures(name)?;
                let group = |number: usize| groups.get(number).map_or("", |group| group.as_str());
                let short = fill(replacement, pattern.captures_len(), group);
                Some(match case {
                    Case::Same => short,
                    Case::Lower => short.to_lowercase(),
                    Case::Upper => short.to_uppercase(),
                })
            }
        })
    }
}

/// What stands before the first slash that no backslash is before, and what behind it.
fn up_to_slash(text: &str) -> Option<(&str, &str)> {
    let mut escapes = false;
    for (at, c) in text.char_indices() {
        match c {
            '/' if !escapes => return Some((&text[..at], &text[at + 1..])),
            '\\' => escapes = !escapes,
            _ => escapes = false,
        }
    }
    None
}

/// Puts groups where `$1` is, as Java does: as many digits as name a group; one that there is not
/// stays as it is written.
fn fill<'g>(replacement: &str, groups: usize, group: impl Fn(usize) -> &'g str) -> String {
    let mut filled = String::new();
    let mut rest = replacement;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        match c {
            '\\' => {
                filled.extend(rest.chars().next());
                rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
            }
            '$' if digits > 0 => {
                let longest = (1..=digits.min(4)).rev().find_map(|length| {
                    let number = rest[..length].parse().ok().filter(|number: &usize| *number < groups)?;
                    Some((length, number))
                });
                match longest {
                    Some((length, number)) => {
                        filled.push_str(group(number));
                        rest = &rest[length..];
                    }
                    None => filled.push('$'),
                }
            }
            other => filled.push(other),
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::super::der::wrap;
    use super::*;

    fn short(rules: &str, name: &str) -> Option<String> {
        PrincipalRules::parse(rules).expect(rules).apply(name)
    }

    #[test]
    fn rules_make_short_names_as_in_apache_kafkas_documentation() {
        let rules = "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, \
                     RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U, RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L, DEFAULT";
        for (name, expected) in [
            ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke"),
            ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
            ("cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME"),
            ("O=x,CN=Kafka.Broker", "kafka.broker"),
            ("O=x", "O=x"),
        ] {
            assert_eq!(short(rules, name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(short("RULE:^CN=x$/y/", "CN=z"), None);
        assert_eq!(short("RULE:^CN=(\\w+)\\/(\\w+)$/$2\\/$1$7/", "CN=a/b").as_deref(), Some("b/a$7"));
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for wrong in [
            "",
            "rule:^CN=x$/y/",
            "RULE:^CN=x$/y",
            "RULE:^CN=x$",
            "RULE:a/b/LU",
            "RULE:a/b/L/U",
            "DEFAULT DEFAULT",
            "DEFAULTX",
            "RULE:a/b/,x",
            "RULE:(?=a)/b/",
            "RULE:(/b/",
        ] {
            assert!(PrincipalRules::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_is_written_as_java_writes_it() {
        let pair =
            |kind: &[u8], tag: u8, text: &[u8]| wrap(SEQUENCE, &[wrap(OID, kind), wrap(tag, text)].concat());
        let set = |pairs: &[Vec<u8>]| wrap(SET, &pairs.concat());
        let email = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1];
        let name = [
            set(&[pair(&[0x55, 4, 10], 0x13, b"A, Inc")]),
            set(&[pair(&[0x55, 4, 11], 0x0c, "é ".as_bytes()), pair(&[0x55, 4, 6], 0x13, b"DE")]),
            set(&[pair(&email, 0x16, b"a@b")]),
            set(&[pair(&[0x55, 4, 3], 0x0c, b"#x=1;")]),
        ];
        let expected = "CN=\\#x\\=1\\;,1.2.840.113549.1.9.1=#1603614062,OU=é\\ +C=DE,O=A\\, Inc";
        assert_eq!(in_words(&name.concat()).as_deref(), Ok(expected));
    }
}
