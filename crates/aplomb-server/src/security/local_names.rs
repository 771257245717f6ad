//! The short name of a Kerberos principal, by `sasl.kerberos.principal.to.local.rules` (Apache
//! Kafka 4.4.0: `KerberosName`, `KerberosShortNamer`, `KerberosRule`).
//!
//! What always holds: rules that could fail for one principal and not for another (a component or a
//! group that there is not) are found when they are read; matching takes time in proportion to the
//! name.

use std::fmt;

use regex::{Regex, RegexBuilder};

/// How large a pattern may be when it is compiled.
const LARGEST_PATTERN: usize = 1 << 20;

/// The rules, in order.
#[derive(Clone, Debug)]
pub struct LocalNames {
    rules: Vec<LocalRule>,
    realm: String,
}

#[derive(Clone, Debug)]
enum LocalRule {
    /// Who is of the realm is its first component.
    Default,
    Rewrite(Box<Rewrite>),
}

/// `RULE:[components:format](pattern)s/from/to/g/L`
#[derive(Clone, Debug)]
struct Rewrite {
    components: usize,
    format: Vec<Piece>,
    pattern: Option<Regex>,
    substitution: Option<Substitution>,
    case: LocalCase,
    /// As it is written.
    text: String,
}

#[derive(Clone, Debug)]
struct Substitution {
    from: Regex,
    to: Vec<Piece>,
    is_global: bool,
}

/// What a name is put together from: text, and components or groups by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Number(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalCase {
    Same,
    Lower,
    Upper,
}

/// What is wrong with a rule. The first two are Apache Kafka's sentences.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocalRuleError {
    /// It does not begin as one.
    #[error("Invalid rule: {0}")]
    Form(String),
    /// It begins as one, and something is behind its end.
    #[error("Invalid rule: `{rule}`, unmatched substring: `{rest}`")]
    Rest {
        /// As it stands in the settings.
        rule: String,
        /// What is too much.
        rest: String,
    },
    /// The format names a component that it has not.
    #[error("Invalid rule: {0}: its format names a component that there is not ($0 is the realm)")]
    Component(String),
    /// A pattern that cannot be used.
    #[error("Invalid rule: {0}: a pattern looks around or refers to groups, or is none")]
    Pattern(String),
    /// The substitution names a group that its pattern has not.
    #[error("Invalid rule: {0}: its substitution names a group that its pattern has not")]
    Group(String),
}

/// Why a principal has no short name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// More than two components, or something that has to be escaped.
    #[error("Malformed Kerberos name: {0}")]
    Malformed(String),
    /// No rule applies.
    #[error("No rules apply to {0}")]
    NoRule(String),
    /// A rule makes a name of it that is none.
    #[error("Non-simple name {name} after auth_to_local rule {rule}")]
    NotSimple {
        /// What came of it.
        name: String,
        /// The rule that has made it.
        rule: String,
    },
}

impl LocalNames {
    /// Reads the rules. `DEFAULT` is about principals of `realm`.
    ///
    /// # Errors
    /// If a rule is none.
    pub fn parse(rules: &[String], realm: &str) -> Result<Self, LocalRuleError> {
        let rules = rules.iter().map(|rule| LocalRule::parse(rule)).collect::<Result<_, _>>()?;
        Ok(Self { rules, realm: realm.to_owned() })
    }

    /// The short name, by the first rule that is for the principal.
    ///
    /// # Errors
    /// If there is none.
    pub fn short_name(&self, principal: &str) -> Result<String, NameFault> {
        let Some((name, realm)) = principal.split_once('@') else { return Ok(principal.to_owned()) };
        let mut parts = vec![realm];
        parts.extend(name.split('/'));
        // Behind a backslash is what would be a separator otherwise.
        if parts.len() > 3 || realm.contains(['@', '/']) || principal.contains('\\') {
            return Err(NameFault::Malformed(principal.to_owned()));
        }
        for rule in &self.rules {
            if let Some(short) = rule.apply(&parts, &self.realm) {
                if short.contains(['/', '@']) {
                    return Err(NameFault::NotSimple { name: short, rule: rule.to_string() });
                }
                return Ok(rule.case().apply(short));
            }
        }
        Err(NameFault::NoRule(principal.to_owned()))
    }
}

impl LocalRule {
    fn parse(rule: &str) -> Result<Self, LocalRuleError> {
        let error = |kind: fn(String) -> LocalRuleError| kind(rule.to_owned());
        if let Some(rest) = rule.strip_prefix("DEFAULT") {
            return if rest.is_empty() { Ok(Self::Default) } else { Err(too_much(rule, rest)) };
        }
        let written = WrittenRule::read(rule).ok_or_else(|| error(LocalRuleError::Form))?;
        if !written.rest.is_empty() {
            return Err(too_much(rule, written.rest));
        }
        let components = written.components.parse().map_err(|_| error(LocalRuleError::Form))?;
        // A principal has two components at most: a rule for three is for none, whatever it says.
        let format = pieces_of_format(written.format, components);
        let format = format.ok_or_else(|| error(LocalRuleError::Component))?;
        let compile = |pattern: &str| {
            let built = RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).build();
            built.map_err(|_| error(LocalRuleError::Pattern))
        };
        let pattern = written.pattern.map(|pattern| compile(&format!("^(?:{pattern})$"))).transpose()?;
        let substitution = match written.substitution {
            None => None,
            Some((from, to, is_global)) => {
                let from = compile(from)?;
                let to = pieces_of_replacement(to, &from).ok_or_else(|| error(LocalRuleError::Group))?;
                Some(Substitution { from, to, is_global })
            }
        };
        let (case, text) = (written.case, rule.to_owned());
        Ok(Self::Rewrite(Box::new(Rewrite { components, format, pattern, substitution, case, text })))
    }

    /// `parts`: the realm, then the components.
    fn apply(&self, parts: &[&str], realm: &str) -> Option<String> {
        match self {
            Self::Default => (parts[0] == realm).then(|| parts[1].to_owned()),
            Self::Rewrite(rewrite) => {
                if parts.len() - 1 != rewrite.components {
                    return None;
                }
                let base = filled(&rewrite.format, |number| parts.get(number).copied().unwrap_or_default());
                if rewrite.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(&base)) {
                    return None;
                }
                Some(match &rewrite.substitution {
                    Some(substitution) => substitution.apply(&base),
                    None => base,
                })
            }
        }
    }

    fn case(&self) -> LocalCase {
        match self {
            Self::Default => LocalCase::Same,
            Self::Rewrite(rewrite) => rewrite.case,
        }
    }
}

impl fmt::Display for LocalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "DEFAULT",
            Self::Rewrite(rewrite) => &rewrite.text,
        })
    }
}

impl LocalCase {
    fn apply(self, name: String) -> String {
        match self {
            Self::Same => name,
            Self::Lower => name.to_lowercase(),
            Self::Upper => name.to_uppercase(),
        }
    }
}

impl Substitution {
    /// As Java's `Matcher` replaces: behind what matched, nothing at all may match once more.
    fn apply(&self, base: &str) -> String {
        let (mut short, mut done, mut from) = (String::new(), 0, 0);
        while from <= base.len()
            && let Some(groups) = self.from.captures_at(base, from)
            && let Some(whole) = groups.get(0)
        {
            short.push_str(&base[done..whole.start()]);
            short += &filled(&self.to, |number| groups.get(number).map_or("", |group| group.as_str()));
            done = whole.end();
            let next = base[done..].chars().next().map_or(1, char::len_utf8);
            from = if whole.is_empty() { done + next } else { done };
            if !self.is_global {
                break;
            }
        }
        short + &base[done..]
    }
}

/// A rule's parts, as they are written.
struct WrittenRule<'a> {
    components: &'a str,
    format: &'a str,
    pattern: Option<&'a str>,
    substitution: Option<(&'a str, &'a str, bool)>,
    case: LocalCase,
    rest: &'a str,
}

impl<'a> WrittenRule<'a> {
    fn read(rule: &'a str) -> Option<Self> {
        let (components, rest) = rule.strip_prefix("RULE:[")?.split_once(':')?;
        if !components.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (format, mut rest) = rest.split_once(']')?;
        let mut pattern = None;
        if let Some((inside, behind)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            (pattern, rest) = (Some(inside), behind);
        }
        let mut substitution = None;
        if let Some((from, behind)) = rest.strip_prefix("s/").and_then(|rest| rest.split_once('/'))
            && let Some((to, behind)) = behind.split_once('/')
        {
            let global = behind.strip_prefix('g');
            (substitution, rest) = (Some((from, to, global.is_some())), global.unwrap_or(behind));
        }
        rest = rest.strip_prefix('/').unwrap_or(rest);
        let (case, rest) = match (rest.strip_prefix('L'), rest.strip_prefix('U')) {
            (Some(behind), _) => (LocalCase::Lower, behind),
            (None, Some(behind)) => (LocalCase::Upper, behind),
            (None, None) => (LocalCase::Same, rest),
        };
        Some(Self { components, format, pattern, substitution, case, rest })
    }
}

fn too_much(rule: &str, rest: &str) -> LocalRuleError {
    LocalRuleError::Rest { rule: rule.to_owned(), rest: rest.to_owned() }
}

fn filled<'n>(pieces: &'n [Piece], number: impl Fn(usize) -> &'n str) -> String {
    let written = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.as_str(),
        Piece::Number(at) => number(*at),
    });
    written.collect()
}

/// `$0` is the realm; a number has all digits that follow.
fn pieces_of_format(format: &str, components: usize) -> Option<Vec<Piece>> {
    let mut parts = format.split('$');
    let mut pieces = vec![Piece::Text(parts.next()?.to_owned())];
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number = part[..digits].parse().ok().filter(|number| *number <= components)?;
        pieces.extend([Piece::Number(number), Piece::Text(part[digits..].to_owned())]);
    }
    Some(pieces)
}

/// As Java's `Matcher#appendReplacement` reads it: a number has as many digits as name a group, a
/// backslash takes its meaning from what follows.
fn pieces_of_replacement(text: &str, from: &Regex) -> Option<Vec<Piece>> {
    let (mut pieces, mut plain) = (Vec::new(), String::new());
    let groups = from.captures_len();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == '\\' {
            let escaped = rest.chars().next()?;
            plain.push(escaped);
            rest = &rest[escaped.len_utf8()..];
        } else if c == '$' {
            let number = if let Some(named) = rest.strip_prefix('{') {
                let (name, behind) = named.split_once('}')?;
                rest = behind;
                from.capture_names().position(|known| known == Some(name))?
            } else {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let named = |length: &usize| rest[..*length].parse().is_ok_and(|n: usize| n < groups);
                let length = (1..=digits).take_while(named).last()?;
                let number = rest[..length].parse().ok()?;
                rest = &rest[length..];
                number
            };
            pieces.extend([Piece::Text(std::mem::take(&mut plain)), Piece::Number(number)]);
        } else {
            plain.push(c);
        }
    }
    pieces.push(Piece::Text(plain));
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rules: &str) -> Result<LocalNames, LocalRuleError> {
        let rules: Vec<String> = rules.split(',').map(|rule| rule.trim().to_owned()).collect();
        LocalNames::parse(&rules, "EXAMPLE.COM")
    }

    fn short(rules: &str, principal: &str) -> Result<String, String> {
        names(rules).expect(rules).short_name(principal).map_err(|fault| fault.to_string())
    }

    #[test]
    fn rules_make_short_names() {
        for (rules, principal, expected) in [
            ("DEFAULT", "alice@EXAMPLE.COM", "alice"),
            ("DEFAULT", "kafka/host@EXAMPLE.COM", "kafka"),
            ("RULE:[1:$1](App\\..*)s/App\\.(.*)/$1/g", "App.service-name@REALM.COM", "service-name"),
            (
                "RULE:[2:$1](App\\..*)s/App\\.(.*)/$1/g,DEFAULT",
                "App.service-name/example@REALM",
                "service-name",
            ),
            ("RULE:[1:$1@$0](.*@OTHER)s/@.*//", "bob@OTHER", "bob"),
            ("RULE:[2:$1-$2]/U", "a/b@X", "A-B"),
            ("RULE:[1:$1]L", "Alice@X", "alice"),
            ("RULE:[1:$1]s/b*/-/g", "abc@X", "-a--c-"),
            ("RULE:[1:$1]s/(?<x>b)/${x}$1\\$/", "abcb@X", "abb$cb"),
            ("RULE:[1:$1]s/(a)(z)?/$1$12$2/", "ab@X", "aa2b"),
            ("DEFAULT", "alice", "alice"),
        ] {
            assert_eq!(short(rules, principal).as_deref(), Ok(expected), "{rules} of {principal}");
        }
    }

    #[test]
    fn what_no_rule_makes_a_name_of_is_said() {
        let fault = |rules, principal| short(rules, principal).expect_err(principal);
        assert_eq!(fault("DEFAULT", "bob@OTHER"), "No rules apply to bob@OTHER");
        assert_eq!(fault("RULE:[2:$1]", "bob@OTHER"), "No rules apply to bob@OTHER");
        assert_eq!(fault("RULE:[1:$1](x)", "bob@OTHER"), "No rules apply to bob@OTHER");
        let first = "Non-simple name bob@OTHER after auth_to_local rule RULE:[1:$1@$0]";
        assert_eq!(fault("RULE:[1:$1@$0],DEFAULT", "bob@OTHER"), first);
        for name in ["a/b/c@X", "a@b@X", "a\\/b@X", "a@X/y"] {
            assert_eq!(fault("DEFAULT,RULE:[1:$1]", name), format!("Malformed Kerberos name: {name}"));
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_in_apache_kafkas_words() {
        let refused = |rule| names(rule).expect_err(rule).to_string();
        assert_eq!(refused("default"), "Invalid rule: default");
        assert_eq!(refused("RULE:[x:$1]"), "Invalid rule: RULE:[x:$1]");
        assert_eq!(refused("DEFAULT/g"), "Invalid rule: `DEFAULT/g`, unmatched substring: `/g`");
        let rest = "Invalid rule: `RULE:[1:$1]s/a/b`, unmatched substring: `s/a/b`";
        assert_eq!(refused("RULE:[1:$1]s/a/b"), rest);
        let both = "Invalid rule: `RULE:[1:$1]/LU`, unmatched substring: `U`";
        assert_eq!(refused("RULE:[1:$1]/LU"), both);
        for (rule, why) in [
            ("RULE:[1:$2]", "names a component"),
            ("RULE:[1:$]", "names a component"),
            ("RULE:[1:$1](?=a)", "looks around"),
            ("RULE:[1:$1]((?=a)", "looks around"),
            ("RULE:[1:$1]s/(?!a)/b/", "looks around"),
            ("RULE:[1:$1]s/a/$1/", "names a group"),
            ("RULE:[1:$1]s/a/\\/", "names a group"),
            ("RULE:[1:$1]s/a/$x/", "names a group"),
        ] {
            assert!(refused(rule).contains(why), "{rule}: {}", refused(rule));
        }
    }
}
