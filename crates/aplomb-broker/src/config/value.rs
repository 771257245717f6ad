//! Values of configuration keys: read as Apache Kafka reads them (`ConfigDef#parseType` and its
//! validators), shown as it shows them, and refused in the terms that its tools print.

use std::fmt;

use super::key::{ConfigKey, ConfigType, Valid};

/// A value, read.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`ConfigType::Boolean`].
    Boolean(bool),
    /// Of the number types.
    Number(i64),
    /// Of [`ConfigType::Double`].
    Double(f64),
    /// Of the text types.
    Text(String),
    /// Of [`ConfigType::List`].
    List(Vec<String>),
}

/// A value that a key does not take. The sentences are Apache Kafka's forms, which people search
/// for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// It cannot be read, or is out of bounds.
    #[error("Invalid value {value} for configuration {name}: {accepted}")]
    Invalid {
        /// The key.
        name: String,
        /// The value as it was given.
        value: String,
        /// What would be accepted.
        accepted: String,
    },
    /// A list with nothing between two commas.
    #[error("Configuration '{name}' values must not be empty.")]
    EmptyItem {
        /// The key.
        name: String,
    },
    /// A list that names something twice.
    #[error("Configuration '{name}' values must not be duplicated.")]
    RepeatedItem {
        /// The key.
        name: String,
    },
}

impl ValueError {
    /// What would be accepted.
    pub(super) fn accepted(&self) -> String {
        match self {
            Self::Invalid { accepted, .. } => accepted.clone(),
            Self::EmptyItem { .. } => "a list without empty values".to_owned(),
            Self::RepeatedItem { .. } => "a list that names nothing twice".to_owned(),
        }
    }

    /// The key.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Invalid { name, .. } | Self::EmptyItem { name } | Self::RepeatedItem { name } => name,
        }
    }
}

impl ConfigKey {
    /// Reads a value.
    ///
    /// # Errors
    /// When the value is not of the key's type or not among those accepted.
    pub fn parse(&self, text: &str) -> Result<Value, ValueError> {
        let invalid = |accepted: String| self.invalid(text.to_owned(), accepted);
        let trimmed = text.trim();
        let not_a_number = |kind: &str| invalid(format!("Not a number of type {kind}"));
        let value = match self.kind {
            ConfigType::Boolean if trimmed.eq_ignore_ascii_case("true") => Value::Boolean(true),
            ConfigType::Boolean if trimmed.eq_ignore_ascii_case("false") => Value::Boolean(false),
            ConfigType::Boolean => {
                return Err(invalid("Expected value to be either true or false".to_owned()));
            }
            ConfigType::Int => Value::Number(trimmed.parse::<i32>().map_err(|_| not_a_number("INT"))?.into()),
            ConfigType::Short => {
                Value::Number(trimmed.parse::<i16>().map_err(|_| not_a_number("SHORT"))?.into())
            }
            ConfigType::Long => Value::Number(trimmed.parse().map_err(|_| not_a_number("LONG"))?),
            ConfigType::Double => match trimmed.parse::<f64>() {
                Ok(number) if !number.is_nan() => Value::Double(number),
                _ => return Err(not_a_number("DOUBLE")),
            },
            ConfigType::List => Value::List(self.split_list(trimmed)),
            ConfigType::Text | ConfigType::Class | ConfigType::Password => Value::Text(trimmed.to_owned()),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Apache Kafka keeps the first of what a list of choices names twice, without complaint.
    fn split_list(&self, trimmed: &str) -> Vec<String> {
        let mut items = Vec::new();
        for item in trimmed.split(',').filter(|_| !trimmed.is_empty()).map(str::trim) {
            if !(matches!(self.valid, Valid::ListOf(_)) && items.iter().any(|known| known == item)) {
                items.push(item.to_owned());
            }
        }
        items
    }

    fn invalid(&self, value: String, accepted: String) -> ValueError {
        ValueError::Invalid { name: self.name.to_owned(), value, accepted }
    }

    fn check(&self, value: &Value) -> Result<(), ValueError> {
        let invalid = |accepted: String| {
            let shown = match value {
                Value::List(items) => format!("[{}]", items.join(", ")),
                other => other.to_string(),
            };
            self.invalid(shown, accepted)
        };
        match (self.valid, value) {
            (Valid::AtLeast(min), Value::Number(n)) if *n < min => {
                Err(invalid(format!("Value must be at least {min}")))
            }
            (Valid::AtLeast(min), Value::Double(n)) if *n < min as f64 => {
                Err(invalid(format!("Value must be at least {min}")))
            }
            (Valid::Between(min, max), Value::Number(n)) => in_bounds(&min, &max, n).map_err(invalid),
            (Valid::BetweenDouble(min, max), Value::Double(n)) => in_bounds(&min, &max, n).map_err(invalid),
            (Valid::GzipLevel, Value::Number(n)) if !(*n == -1 || (1..=9).contains(n)) => {
                Err(invalid("Value must be between 1 and 9 or equal to -1".to_owned()))
            }
            (Valid::OneOf(accepted), Value::Text(text)) if !accepted.contains(&text.as_str()) => {
                Err(invalid(format!("String must be one of: {}", accepted.join(", "))))
            }
            (Valid::OneOfIgnoringCase(accepted), Value::Text(text))
                if !accepted.iter().any(|a| a.eq_ignore_ascii_case(text)) =>
            {
                Err(invalid(format!("String must be one of (case insensitive): {}", accepted.join(", "))))
            }
            (Valid::NonEmpty, Value::Text(text)) if text.is_empty() => {
                Err(invalid("String must be non-empty".to_owned()))
            }
            (Valid::ListOf(accepted), Value::List(items)) => self.check_list(accepted, items),
            (Valid::Distinct, Value::List(items)) => self.check_distinct(items),
            (Valid::ThrottledReplicas, Value::List(items)) if !throttled_replicas(items) => {
                Err(invalid(format!(
                    "{} must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
                    self.name
                )))
            }
            (Valid::ResetStrategy, Value::Text(text)) if !is_reset_strategy(text) => Err(invalid(format!(
                "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'. (configuration {})",
                self.name
            ))),
            _ => Ok(()),
        }
    }

    fn check_distinct(&self, items: &[String]) -> Result<(), ValueError> {
        let name = || self.name.to_owned();
        if items.iter().enumerate().any(|(at, item)| items[..at].contains(item)) {
            return Err(ValueError::RepeatedItem { name: name() });
        }
        if items.iter().any(String::is_empty) { Err(ValueError::EmptyItem { name: name() }) } else { Ok(()) }
    }

    fn check_list(&self, accepted: &[&str], items: &[String]) -> Result<(), ValueError> {
        if items.iter().any(String::is_empty) {
            return Err(ValueError::EmptyItem { name: self.name.to_owned() });
        }
        match items.iter().find(|item| !accepted.contains(&item.as_str())) {
            None => Ok(()),
            Some(item) => {
                Err(self.invalid(item.clone(), format!("String must be one of: {}", accepted.join(", "))))
            }
        }
    }
}

impl fmt::Display for Value {
    /// As Apache Kafka shows a value (`ConfigDef#convertToString`): what DescribeConfigs answers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Double(value) => f.write_str(&java_double(*value)),
            Self::Text(value) => f.write_str(value),
            Self::List(items) => f.write_str(&items.join(",")),
        }
    }
}

/// Java's `Double.toString`: plain between 10^-3 and 10^7, else with an exponent, always with a
/// fraction.
fn java_double(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
        return format!("{value:?}");
    }
    let scientific = format!("{value:E}");
    match scientific.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => scientific,
    }
}

fn in_bounds<N: PartialOrd + fmt::Display>(min: &N, max: &N, value: &N) -> Result<(), String> {
    if value < min {
        Err(format!("Value must be at least {min}"))
    } else if value > max {
        Err(format!("Value must be no more than {max}"))
    } else {
        Ok(())
    }
}

/// `AutoOffsetResetStrategy`, of a share group.
fn is_reset_strategy(text: &str) -> bool {
    match text.split_once(':') {
        None => matches!(text, "earliest" | "latest"),
        Some((kind, duration)) => kind == "by_duration" && is_duration(duration),
    }
}

/// Whether a text is a duration as `java.time.Duration#parse` reads them, and not negative:
/// `PnDTnHnMn.nS`, in any case, with any of the four.
fn is_duration(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    let Some(rest) = text.strip_prefix('P') else { return false };
    let (days, time) = rest.split_once('T').map_or((rest, None), |(days, time)| (days, Some(time)));
    let reads = |mut part: &str, units: &str| {
        let mut units = units.chars();
        while !part.is_empty() {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let fraction = part[digits..]
                .strip_prefix('.')
                .map_or(0, |rest| 1 + rest.bytes().take_while(u8::is_ascii_digit).count());
            let (number, rest) = part.split_at(digits + fraction);
            let Some(unit) = rest.chars().next() else { return false };
            let fits = units.any(|known| known == unit) && (fraction == 0 || unit == 'S');
            if number.is_empty() || number.starts_with('.') || number.len() > 18 || !fits {
                return false;
            }
            part = &rest[1..];
        }
        true
    };
    let is_something = !days.is_empty() || time.is_some();
    is_something && reads(days, "D") && time.is_none_or(|time| !time.is_empty() && reads(time, "HMS"))
}

fn throttled_replicas(items: &[String]) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let pair = |item: &String| match item.split_once(':') {
        Some((partition, broker)) => digits(partition) && digits(broker),
        None => item.is_empty(),
    };
    items.iter().all(pair) || items.concat() == "*"
}

#[cfg(test)]
mod tests {
    use super::super::key::{Importance, Meaning, Update};
    use super::*;

    const LEVEL: ConfigKey = ConfigKey {
        name: "level",
        kind: ConfigType::Int,
        default: Some("3"),
        valid: Valid::Between(1, 9),
        importance: Importance::Low,
        update: Update::ReadOnly,
        meaning: Meaning::Used("rack"),
        documentation: "",
    };

    fn refusal(key: &ConfigKey, text: &str) -> String {
        key.parse(text).expect_err("refused").to_string()
    }

    #[test]
    fn a_number_is_read_with_the_spaces_around_it() {
        assert_eq!(LEVEL.parse(" 7 "), Ok(Value::Number(7)));
    }

    #[test]
    fn what_is_wrong_with_a_value_is_said_in_kafkas_words() {
        assert_eq!(refusal(&LEVEL, "x"), "Invalid value x for configuration level: Not a number of type INT");
        assert_eq!(refusal(&LEVEL, "0"), "Invalid value 0 for configuration level: Value must be at least 1");
        assert_eq!(
            refusal(&LEVEL, "10"),
            "Invalid value 10 for configuration level: Value must be no more than 9"
        );
        assert_eq!(
            refusal(&LEVEL, "4294967296"),
            "Invalid value 4294967296 for configuration level: Not a number of type INT"
        );
    }

    #[test]
    fn a_duration_is_one_of_javas() {
        for right in ["PT1S", "P1D", "P1DT2H3M4.5S", "pt0.5s", "PT15M"] {
            assert!(is_duration(right), "{right}");
        }
        for wrong in ["", "P", "PT", "1S", "P1S", "PT1D", "PT1.5M", "PT.5S", "PT1M1H", "P-1D", "PT1é"] {
            assert!(!is_duration(wrong), "{wrong}");
        }
        assert!(is_reset_strategy("earliest") && is_reset_strategy("by_duration:PT1H"));
        assert!(!is_reset_strategy("none") && !is_reset_strategy("by_duration") && !is_reset_strategy(""));
    }

    #[test]
    fn a_list_of_choices_takes_each_of_them_once() {
        let policy =
            ConfigKey { kind: ConfigType::List, valid: Valid::ListOf(&["compact", "delete"]), ..LEVEL };
        assert_eq!(policy.parse(""), Ok(Value::List(vec![])));
        assert_eq!(
            policy.parse("compact , delete"),
            Ok(Value::List(vec!["compact".to_owned(), "delete".to_owned()]))
        );
        assert_eq!(policy.parse("delete,delete"), Ok(Value::List(vec!["delete".to_owned()])));
        assert_eq!(refusal(&policy, "delete,"), "Configuration 'level' values must not be empty.");
        assert_eq!(
            refusal(&policy, "burn"),
            "Invalid value burn for configuration level: String must be one of: compact, delete"
        );
    }

    #[test]
    fn throttled_replicas_are_pairs_or_a_star() {
        let key = ConfigKey { kind: ConfigType::List, valid: Valid::ThrottledReplicas, ..LEVEL };
        for good in ["", "*", "0:1", "0:1,5:12"] {
            assert!(key.parse(good).is_ok(), "{good}");
        }
        for bad in ["0", "0:", ":1", "a:b", "*,0:1"] {
            assert!(key.parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn fractions_are_shown_as_java_shows_them() {
        for (value, shown) in [
            (0.5, "0.5"),
            (1.0, "1.0"),
            (f64::MAX, "1.7976931348623157E308"),
            (1e-4, "1.0E-4"),
            (2.5e7, "2.5E7"),
        ] {
            assert_eq!(Value::Double(value).to_string(), shown);
        }
    }
}
