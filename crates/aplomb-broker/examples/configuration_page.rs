//! Writes docs/configuration.md to the standard output: every key, from the tables that the broker
//! itself reads. `cargo xtask docs` keeps the page as this program has it.

#![expect(clippy::disallowed_macros, reason = "a program for the command line, not a part of the broker")]

use std::fmt::Write as _;

use aplomb_broker::config::{
    ConfigKey, ConfigType, Meaning, Update, Valid, broker_keys, client_metrics_keys, not_at_once, topic_keys,
};

const BEGINNING: &str = "\
# Every configuration key

<!-- Written by `cargo xtask docs` from crates/aplomb-broker/src/config/keys: change the tables there, not this page. -->

The keys of Apache Kafka 4.4 and our own, with their defaults. How they are given, and which of them matter, is in
[operating/configuration.md](operating/configuration.md).

What a key does here is one of three things. *Used*: what Apache Kafka documents. *No effect*: it is accepted with a warning, for the
reason given. *Refused*: any other value than the default keeps the broker from starting, since ignoring it would be worse.

Under *changed*, *restart* means that a key is read at start only; *broker* that it can be changed at run time for this broker, *all* for
this broker and for all brokers (`kafka-configs.sh --entity-type brokers`). Such a change counts at once unless the last column says
otherwise.
";

fn main() {
    let mut page = BEGINNING.to_owned();
    let (mut own, mut kafkas): (Vec<&ConfigKey>, Vec<_>) =
        broker_keys().partition(|key| key.name.starts_with("aplomb."));
    own.sort_unstable_by_key(|key| key.name);
    kafkas.sort_unstable_by_key(|key| key.name);
    table(&mut page, "Our own", true, own.into_iter());
    table(&mut page, "Apache Kafka's, of brokers", true, kafkas.into_iter());
    table(&mut page, "Of topics", false, topic_keys().iter().map(|topic| &topic.key));
    page.push_str(
        "\nA topic that does not set a key has the broker's:\n\n| topic | broker |\n| --- | --- |\n",
    );
    for topic in topic_keys().iter().filter(|topic| !topic.broker_keys.is_empty()) {
        let names: Vec<String> = topic.broker_keys.iter().map(|name| format!("`{name}`")).collect();
        line(&mut page, &[format!("`{}`", topic.key.name), names.join(", else ")]);
    }
    table(&mut page, "Of subscriptions to clients' metrics", false, client_metrics_keys().iter());
    print!("{page}");
}

fn table<'a>(page: &mut String, title: &str, with_update: bool, keys: impl Iterator<Item = &'a ConfigKey>) {
    let mut head = vec!["key", "type", "default", "values"];
    head.extend(with_update.then_some("changed"));
    head.extend(["what it is", "here"]);
    writeln!(page, "\n## {title}\n").expect("text can be written");
    line(page, &head);
    line(page, &vec!["---"; head.len()]);
    for key in keys {
        let mut cells =
            vec![format!("`{}`", key.name), kind(key.kind).to_owned(), default(key), valid(key.valid)];
        cells.extend(with_update.then(|| update(key.update).to_owned()));
        cells.extend([key.documentation.to_owned(), meaning(key)]);
        line(page, &cells);
    }
}

fn line<T: AsRef<str>>(page: &mut String, cells: &[T]) {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    writeln!(page, "| {} |", cells.join(" | ")).expect("text can be written");
}

fn kind(kind: ConfigType) -> &'static str {
    match kind {
        ConfigType::Boolean => "boolean",
        ConfigType::Text => "string",
        ConfigType::Int => "int",
        ConfigType::Short => "short",
        ConfigType::Long => "long",
        ConfigType::Double => "double",
        ConfigType::List => "list",
        ConfigType::Class => "class",
        ConfigType::Password => "password",
    }
}

fn default(key: &ConfigKey) -> String {
    match key.default {
        None => "unset".to_owned(),
        Some("") => "empty".to_owned(),
        Some(text) => format!("`{text}`"),
    }
}

fn valid(valid: Valid) -> String {
    let words = |words: &[&str]| words.join(", ");
    match valid {
        Valid::Any => String::new(),
        Valid::AtLeast(min) => format!("from {min}"),
        Valid::Between(min, max) => format!("{min} to {max}"),
        Valid::BetweenDouble(min, max) => format!("{min} to {max}"),
        Valid::OneOf(texts) => words(texts),
        Valid::OneOfIgnoringCase(texts) => format!("{}, in any case", words(texts)),
        Valid::ListOf(texts) => format!("some of {}", words(texts)),
        Valid::Distinct => "nothing twice".to_owned(),
        Valid::NonEmpty => "not empty".to_owned(),
        Valid::GzipLevel => "1 to 9, or -1".to_owned(),
        Valid::ThrottledReplicas => "partition:broker, or *".to_owned(),
        Valid::ResetStrategy => "earliest, latest, or by_duration: and an ISO 8601 duration".to_owned(),
    }
}

fn update(update: Update) -> &'static str {
    match update {
        Update::ReadOnly => "restart",
        Update::PerBroker => "broker",
        Update::ClusterWide => "all",
    }
}

fn meaning(key: &ConfigKey) -> String {
    match key.meaning {
        Meaning::Used(_) => match not_at_once(key) {
            Some(why) => format!("used; {why}"),
            None => "used".to_owned(),
        },
        Meaning::Unused(why) => format!("no effect: {why}"),
        Meaning::Refused(why) => format!("refused: {why}"),
    }
}
