//! How the brokers of a run, or of many, are called and coloured.
//!
//! What always holds: a broker has the same colour in every picture of a page, Aplomb the same on
//! all pages; two brokers of one name are told apart by their versions, and one with settings of
//! its own has a star. Colours are classes (`b0`, `b1` ...) that the style sheet fills in, from a
//! palette that most colour-blind people can tell apart (Okabe and Ito); no picture relies on
//! colour alone.

use crate::record::Broker;

/// A broker's name and colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Who {
    /// The name with the version, `Apache Kafka 4.4.0`.
    pub(super) name: String,
    /// A name for tight places, `Kafka`.
    pub(super) short: String,
    /// The class that gives the colour.
    pub(super) class: &'static str,
}

/// Aplomb's colour is `b0`; others take the rest by turns.
const OTHERS: &[&str] = &["b1", "b2", "b3", "b4"];

/// Names and colours for brokers, each once, in this order.
pub(super) fn all(brokers: &[&Broker]) -> Vec<Who> {
    let mut others = OTHERS.iter().cycle();
    let mut taken = false;
    brokers
        .iter()
        .map(|broker| {
            let shared = brokers.iter().filter(|other| other.name == broker.name).count() > 1;
            let short = match broker.kind.as_str() {
                "kafka" => "Kafka".to_owned(),
                _ => shortened(&broker.name, 12),
            };
            let class = if broker.kind == "aplomb" && !taken {
                taken = true;
                "b0"
            } else {
                others.next().unwrap_or(&"b1")
            };
            let mark = if broker.overrides.is_empty() { "" } else { "*" };
            let short = if shared { format!("{short} {}", shortened(&broker.version, 8)) } else { short };
            Who { name: full_name(broker), short: format!("{short}{mark}"), class }
        })
        .collect()
}

/// The name with the version, and with what it was given to have otherwise.
pub(super) fn full_name(broker: &Broker) -> String {
    let name = format!("{} {}", broker.name, broker.version).trim_end().to_owned();
    if broker.overrides.is_empty() { name } else { format!("{name} ({})", broker.overrides.join(", ")) }
}

/// The beginning of a text that is too long.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// The beginning and the end of a text that is too long: threads of a pool differ at their names'
/// ends.
pub(super) fn without_middle(text: &str, most: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= most {
        return text.to_owned();
    }
    let end = most / 3;
    all[..most - 1 - end].iter().chain(['…'].iter()).chain(&all[all.len() - end..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(kind: &str, name: &str, version: &str) -> Broker {
        Broker {
            kind: kind.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            command: vec![],
            jvm_flags: vec![],
            java: None,
            overrides: vec![],
        }
    }

    #[test]
    fn brokers_of_one_name_are_told_apart_by_version_and_all_by_colour() {
        let old = broker("kafka", "Apache Kafka", "3.6.2");
        let new = broker("kafka", "Apache Kafka", "4.4.0");
        let ours = broker("aplomb", "Aplomb", "0.1.0");
        let external = broker("external", "Somebody's own broker", "");
        let who = all(&[&old, &new, &ours, &external]);
        let shorts: Vec<_> = who.iter().map(|who| who.short.as_str()).collect();
        assert_eq!(shorts, ["Kafka 3.6.2", "Kafka 4.4.0", "Aplomb", "Somebody's …"]);
        let classes: Vec<_> = who.iter().map(|who| who.class).collect();
        assert_eq!(classes, ["b1", "b2", "b0", "b3"]);
        assert_eq!(who[3].name, "Somebody's own broker");
        let set = Broker { overrides: vec!["a=1".to_owned(), "b=2".to_owned()], ..ours.clone() };
        let who = all(&[&ours, &set]);
        assert_eq!(
            (who[1].name.as_str(), who[1].short.as_str()),
            ("Aplomb 0.1.0 (a=1, b=2)", "Aplomb 0.1.0*")
        );
    }

    #[test]
    fn a_threads_name_keeps_its_number() {
        assert_eq!(
            without_middle("data-plane-kafka-network-thread-1-PLAINTEXT-17", 21),
            "data-plane-ka…TEXT-17"
        );
        assert_eq!(without_middle("short", 5), "short");
    }
}
