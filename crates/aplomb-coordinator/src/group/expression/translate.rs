//! RE2/J's syntax (1.8, as Apache Kafka 4.4 has it), translated piece by piece, with its own words
//! for what is wrong.
//!
//! Groups need no number and repetition no greed, since only whole names are matched, and names
//! have no line breaks. Case and the like is resolved here: what comes out has no flags.

use std::collections::HashSet;

use super::set::Set;

const BAD_RANGE: &str = "invalid character class range";
const BAD_ESCAPE: &str = "invalid escape sequence";
const BAD_NAME: &str = "invalid named capture";
const SAME_NAME: &str = "duplicate capture group name";
const BAD_FLAGS: &str = "invalid or unsupported Perl syntax";
const REPEATED_TWICE: &str = "invalid nested repetition operator";
const BAD_COUNT: &str = "invalid repeat count";
const NOTHING_TO_REPEAT: &str = "missing argument to repetition operator";
const NO_BRACKET: &str = "missing closing ]";
const NO_PAREN: &str = "missing closing )";
const LONE_BACKSLASH: &str = "trailing backslash at end of expression";
/// What RE2/J says of a `)` that closes nothing.
const LONE_PAREN: &str = "regexp/syntax: internal error";
/// Not one of RE2/J's.
const TOO_DEEP: &str = "expression nests too deeply";

/// The highest count of a repetition.
const MOST: u32 = 1000;

/// How deep groups may lie in each other. The `regex` crate refuses 250.
const DEEPEST: usize = 200;

/// What is wrong with a pattern.
type Wrong = &'static str;

/// The pattern in the syntax of the `regex` crate.
pub(super) fn translate(pattern: &str) -> Result<String, Wrong> {
    let mut translator = Translator {
        rest: pattern,
        out: String::with_capacity(pattern.len()),
        flags: Flags::default(),
        groups: Vec::new(),
        element: None,
        names: HashSet::new(),
        wraps: 0,
    };
    translator.run()?;
    Ok(translator.out)
}

#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    /// Case does not count.
    fold: bool,
    /// `.` matches a line break too.
    dot_all: bool,
}

/// A group that is open.
struct OpenGroup {
    /// Where it begins in what comes out.
    start: usize,
    /// The flags before it.
    flags: Flags,
}

/// What the next repetition repeats.
struct Element {
    /// Where it begins in what comes out.
    start: usize,
    is_repeated: bool,
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    flags: Flags,
    groups: Vec<OpenGroup>,
    element: Option<Element>,
    names: HashSet<&'a str>,
    wraps: usize,
}

impl<'a> Translator<'a> {
    fn run(&mut self) -> Result<(), Wrong> {
        let mut after_repetition = false;
        while let Some(c) = self.next() {
            let mut is_repetition = false;
            match c {
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    self.out.push('|');
                    self.element = None;
                }
                '^' => self.push(r"(?:\A)"),
                '$' => self.push(r"(?:\z)"),
                '.' if self.flags.dot_all => self.push_set(Set::ALL),
                '.' => self.push_set(Set::ALL.without(Set::of('\n'))),
                '[' => {
                    let set = self.class()?;
                    self.push_set(set);
                }
                '*' | '+' | '?' => {
                    is_repetition = true;
                    self.repeat(c.encode_utf8(&mut [0; 1]), after_repetition)?;
                }
                '{' => match self.count()? {
                    Some(count) => {
                        is_repetition = true;
                        self.repeat(&count, after_repetition)?;
                    }
                    None => self.literal('{'),
                },
                '\\' => self.escape()?,
                c => self.literal(c),
            }
            after_repetition = is_repetition;
        }
        if self.groups.is_empty() { Ok(()) } else { Err(NO_PAREN) }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next();
        self.rest = chars.as_str();
        c
    }

    /// Takes this, if it comes next.
    fn take(&mut self, text: &str) -> bool {
        self.rest.strip_prefix(text).inspect(|rest| self.rest = rest).is_some()
    }

    /// Puts out what can be repeated as it is.
    fn push(&mut self, translated: &str) {
        self.element = Some(Element { start: self.out.len(), is_repeated: false });
        self.out.push_str(translated);
    }

    fn push_set(&mut self, set: Set) {
        let translated = set.to_string();
        self.push(&translated);
    }

    fn literal(&mut self, c: char) {
        self.literal_of(c as u32);
    }

    /// Behind `(`.
    fn open(&mut self) -> Result<(), Wrong> {
        let before = self.flags;
        if self.take("?") {
            if self.rest.starts_with("P<") || self.rest.starts_with('<') {
                self.name()?;
            } else if !self.flags()? {
                return Ok(());
            }
        }
        if self.groups.len() >= DEEPEST {
            return Err(TOO_DEEP);
        }
        self.groups.push(OpenGroup { start: self.out.len(), flags: before });
        self.out.push_str("(?:");
        self.element = None;
        Ok(())
    }

    fn close(&mut self) -> Result<(), Wrong> {
        let group = self.groups.pop().ok_or(LONE_PAREN)?;
        self.out.push(')');
        self.flags = group.flags;
        self.element = Some(Element { start: group.start, is_repeated: false });
        Ok(())
    }

    /// A group's name: it counts for nothing, but must be one.
    fn name(&mut self) -> Result<(), Wrong> {
        let named = self.rest.trim_start_matches('P');
        let (name, rest) = named[1..].split_once('>').ok_or(BAD_NAME)?;
        if name.is_empty() || !name.bytes().all(|c| c == b'_' || c.is_ascii_alphanumeric()) {
            return Err(BAD_NAME);
        }
        if !self.names.insert(name) {
            return Err(SAME_NAME);
        }
        self.rest = rest;
        Ok(())
    }

    /// Flags behind `(?`. Whether a group follows that they hold in.
    fn flags(&mut self) -> Result<bool, Wrong> {
        let mut flags = self.flags;
        let mut is_on = true;
        let mut seen = false;
        loop {
            match self.next() {
                Some('i') => flags.fold = is_on,
                Some('s') => flags.dot_all = is_on,
                Some('m' | 'U') => {} // where lines end, and greed
                Some('-') if is_on => {
                    (is_on, seen) = (false, false);
                    continue;
                }
                Some(end @ (':' | ')')) if is_on || seen => {
                    self.flags = flags;
                    return Ok(end == ':');
                }
                _ => return Err(BAD_FLAGS),
            }
            seen = true;
        }
    }

    /// Repeats the last element so often.
    fn repeat(&mut self, count: &str, after_repetition: bool) -> Result<(), Wrong> {
        self.take("?");
        if after_repetition {
            return Err(REPEATED_TWICE);
        }
        let element = self.element.as_mut().ok_or(NOTHING_TO_REPEAT)?;
        // Flags stood between two repetitions.
        if element.is_repeated {
            self.wraps += 1;
            if self.wraps > DEEPEST {
                return Err(TOO_DEEP);
            }
            self.out.insert_str(element.start, "(?:");
            self.out.push(')');
        }
        element.is_repeated = true;
        self.out.push_str(count);
        Ok(())
    }

    /// What is behind `{`, if it is a count; otherwise the `{` stands for itself.
    fn count(&mut self) -> Result<Option<String>, Wrong> {
        let Some((inside, rest)) = self.rest.split_once('}') else { return Ok(None) };
        let (min, max) = match inside.split_once(',') {
            None => (inside, None),
            Some((min, max)) => (min, Some(max)),
        };
        let Some(least) = number(min) else { return Ok(None) };
        let most = match max {
            None => Some(least),
            Some("") => None,
            Some(max) => {
                let Some(most) = number(max) else { return Ok(None) };
                Some(most)
            }
        };
        if least > MOST || most.is_some_and(|most| most > MOST || most < least) {
            return Err(BAD_COUNT);
        }
        self.rest = rest;
        Ok(Some(format!("{{{inside}}}")))
    }

    /// Behind a backslash that is in no class.
    fn escape(&mut self) -> Result<(), Wrong> {
        match self.peek() {
            Some('A') => self.assertion(r"(?:\A)"),
            Some('z') => self.assertion(r"(?:\z)"),
            Some('b') => self.assertion(r"(?:\b)"),
            Some('B') => self.assertion(r"(?:\B)"),
            Some('Q') => {
                let quoted = &self.rest[1..];
                let (quoted, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                self.rest = rest;
                quoted.chars().for_each(|c| self.literal(c));
            }
            _ => {
                if let Some(set) = self.named_set()? {
                    self.push_set(set);
                } else {
                    let c = self.character()?;
                    self.literal_of(c);
                }
            }
        }
        Ok(())
    }

    fn assertion(&mut self, translated: &str) {
        self.next();
        self.push(translated);
    }

    fn range(&self, low: u32, high: u32) -> Set {
        if self.flags.fold { Set::folded_range(low, high) } else { Set::range(low, high) }
    }

    fn folded(&self, set: Set) -> Set {
        if self.flags.fold { set.folded() } else { set }
    }

    fn literal_of(&mut self, point: u32) {
        self.push_set(self.range(point, point));
    }

    /// Behind a backslash: `\pL`, `\p{Greek}`, `\d` and their like.
    fn named_set(&mut self) -> Result<Option<Set>, Wrong> {
        let c = self.peek();
        if let Some('p' | 'P') = c {
            self.next();
            let is_negated = c == Some('P');
            let name = if self.take("{") {
                let (name, rest) = self.rest.split_once('}').ok_or(BAD_RANGE)?;
                self.rest = rest;
                name
            } else {
                let width = self.peek().ok_or(BAD_RANGE)?.len_utf8();
                let (name, rest) = self.rest.split_at(width);
                self.rest = rest;
                name
            };
            let (name, is_turned) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
            let set = Set::of_unicode(name, self.flags.fold).ok_or(BAD_RANGE)?;
            return Ok(Some(set.negated_if(is_negated != is_turned)));
        }
        let Some(set) = c.and_then(|c| Set::of_perl(c.to_ascii_lowercase())) else { return Ok(None) };
        self.next();
        let is_negated = c.is_some_and(|c| c.is_ascii_uppercase());
        Ok(Some(self.folded(set).negated_if(is_negated)))
    }

    /// Behind a backslash: a single character's code point.
    fn character(&mut self) -> Result<u32, Wrong> {
        let c = self.next().ok_or(LONE_BACKSLASH)?;
        match c {
            // A digit alone would be a reference to a group.
            '0' => Ok(self.octal(0)),
            '1'..='7' if matches!(self.peek(), Some('0'..='7')) => Ok(self.octal(c as u32 - '0' as u32)),
            'x' => self.hexadecimal().ok_or(BAD_ESCAPE),
            'a' => Ok(7),
            'f' => Ok(12),
            'n' => Ok(10),
            'r' => Ok(13),
            't' => Ok(9),
            'v' => Ok(11),
            c if c.is_ascii_alphanumeric() => Err(BAD_ESCAPE),
            c => Ok(c as u32),
        }
    }

    /// Up to two more octal digits.
    fn octal(&mut self, first: u32) -> u32 {
        let mut point = first;
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            point = point * 8 + digit;
            self.next();
        }
        point
    }

    /// Behind `\x`: two digits, or any in braces.
    fn hexadecimal(&mut self) -> Option<u32> {
        if !self.take("{") {
            return Some(self.next()?.to_digit(16)? * 16 + self.next()?.to_digit(16)?);
        }
        let (digits, rest) = self.rest.split_once('}')?;
        self.rest = rest;
        let mut point = 0;
        for digit in digits.chars() {
            point = point * 16 + digit.to_digit(16)?;
            if point > char::MAX as u32 {
                return None;
            }
        }
        (!digits.is_empty()).then_some(point)
    }

    /// Behind `[`: a class, until its `]`.
    fn class(&mut self) -> Result<Set, Wrong> {
        let is_negated = self.take("^");
        let mut set = Set::EMPTY;
        let mut is_first = true; // a `]` there stands for itself
        while is_first || !self.take("]") {
            is_first = false;
            if self.rest.starts_with("[:")
                && let Some(end) = self.rest.find(":]")
            {
                let (name, rest) = self.rest.split_at(end + 2);
                self.rest = rest;
                set = set.with(self.posix(name)?);
                continue;
            }
            if self.rest.starts_with('\\') {
                let whole = self.rest;
                self.next();
                if let Some(named) = self.named_set()? {
                    set = set.with(named);
                    continue;
                }
                self.rest = whole;
            }
            let low = self.class_character()?;
            let mut high = low;
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.next();
                high = self.class_character()?;
                if high < low {
                    return Err(BAD_RANGE);
                }
            }
            set = set.with(self.range(low, high));
        }
        Ok(set.negated_if(is_negated))
    }

    fn class_character(&mut self) -> Result<u32, Wrong> {
        match self.next().ok_or(NO_BRACKET)? {
            '\\' => self.character(),
            c => Ok(c as u32),
        }
    }

    /// `[:alpha:]`, `[:^alpha:]` and their like.
    fn posix(&self, bracketed: &str) -> Result<Set, Wrong> {
        let name = bracketed.strip_prefix("[:").and_then(|name| name.strip_suffix(":]")).ok_or(BAD_RANGE)?;
        let (name, is_negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
        let set = Set::of_posix(name).ok_or(BAD_RANGE)?;
        Ok(self.folded(set).negated_if(is_negated))
    }
}

/// Digits as RE2/J takes them for a number: without leading zeros; too many are a number that is
/// too large.
fn number(digits: &str) -> Option<u32> {
    let is_number = digits.bytes().all(|c| c.is_ascii_digit()) && !digits.is_empty();
    let has_zeros = digits.len() > 1 && digits.starts_with('0');
    (is_number && !has_zeros).then(|| digits.parse().unwrap_or(u32::MAX))
}
