//! Topics, as their administrators were told: what is certain, and what is in doubt because an
//! answer is missing.
//!
//! Each topic name has one administrator, who asks for one thing at a time. An unanswered request
//! may have been carried out or not; once the process that had it is gone, the next look settles
//! it.

use std::collections::BTreeMap;

use aplomb_model::{Instant, Uuid};

use super::Checked;
use crate::scenario::TopicPlan;

/// What is known of a topic that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) id: Uuid,
    pub(crate) partitions: i32,
    pub(crate) configs: BTreeMap<String, String>,
}

/// A topic as a broker shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: Uuid,
    pub(crate) partitions: i32,
}

/// What an administrator asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Create(TopicPlan),
    Delete,
    Partitions(i32),
    /// `None` takes the setting away.
    Config(String, Option<String>),
}

/// What is known about one name.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) facts: Option<Facts>,
    /// What was asked for last and not answered, and by which process.
    doubt: Option<(Change, u64)>,
    /// When the certain part changed, or a doubt began.
    changed: Instant,
}

/// All topics, by name.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    names: BTreeMap<String, Named>,
    /// Topics that are deleted, or about to be: nothing is expected of their logs any more.
    pub(crate) gone: Vec<Uuid>,
}

impl Cluster {
    /// The topics that exist and are not to be deleted.
    pub(crate) fn living(&self) -> impl Iterator<Item = (&str, &Facts)> {
        self.names.iter().filter_map(|(name, named)| {
            let leaving = matches!(named.doubt, Some((Change::Delete, _)));
            named.facts.as_ref().filter(|_| !leaving).map(|facts| (name.as_str(), facts))
        })
    }

    /// Whether an administrator was ever told that a topic exists.
    pub(crate) fn has_had_topics(&self) -> bool {
        !self.gone.is_empty() || self.names.values().any(|named| named.facts.is_some())
    }

    /// The name of a topic that exists, or did a moment ago.
    pub(crate) fn name_of(&self, id: Uuid) -> Option<&str> {
        let named = |(_, named): &(&String, &Named)| named.facts.as_ref().is_some_and(|facts| facts.id == id);
        self.names.iter().find(named).map(|(name, _)| name.as_str())
    }

    /// Whether a topic is compacted, or nothing is known of it.
    pub(crate) fn may_compact(&self, id: Uuid) -> bool {
        let facts = self.living().find(|(_, facts)| facts.id == id);
        facts.is_none_or(|(_, facts)| {
            facts.configs.get("cleanup.policy").is_some_and(|policy| policy.contains("compact"))
        })
    }

    /// Whether a topic may be refused because it is gone, or about to go.
    pub(crate) fn may_be_gone(&self, id: Uuid) -> bool {
        !self.living().any(|(_, facts)| facts.id == id)
    }

    pub(crate) fn facts(&self, name: &str) -> Option<&Facts> {
        self.names.get(name)?.facts.as_ref()
    }

    /// Whether a request for this name has not been answered.
    pub(crate) fn is_in_doubt(&self, name: &str) -> bool {
        self.names.get(name).is_some_and(|named| named.doubt.is_some())
    }

    /// The partitions that a topic has, and those that it may have because an answer is missing.
    pub(crate) fn most_partitions(&self, name: &str) -> i32 {
        let Some(named) = self.names.get(name) else { return 0 };
        let asked = match named.doubt {
            Some((Change::Partitions(count), _)) => count,
            _ => 0,
        };
        named.facts.as_ref().map_or(0, |facts| facts.partitions.max(asked))
    }

    /// A change is asked for.
    pub(crate) fn ask(&mut self, name: &str, change: Change, process: u64, now: Instant) {
        let nobody = Named { facts: None, doubt: None, changed: now };
        let named = self.names.entry(name.to_owned()).or_insert(nobody);
        assert!(named.doubt.is_none(), "{name}: one thing at a time");
        (named.doubt, named.changed) = (Some((change, process)), now);
    }

    /// The change was made. `id`: of the topic that was created.
    pub(crate) fn done(&mut self, name: &str, id: Option<Uuid>, now: Instant) {
        let named = self.names.get_mut(name).expect("it was asked for");
        let (change, _) = named.doubt.take().expect("it was asked for");
        named.changed = now;
        self.gone.extend(named.take(change, id));
    }

    /// The change was refused, for good.
    pub(crate) fn refused(&mut self, name: &str, now: Instant) {
        let named = self.names.get_mut(name).expect("it was asked for");
        (named.doubt, named.changed) = (None, now);
    }

    /// A broker of `process` showed all topics, in answer to a request sent at `asked`.
    pub(crate) fn observe(
        &mut self,
        shown: &BTreeMap<String, Seen>,
        process: u64,
        asked: Instant,
        now: Instant,
    ) -> Checked {
        if let Some(name) = shown.keys().find(|name| !self.names.contains_key(*name)) {
            return Err(format!("there is a topic {name}, which nobody has asked for"));
        }
        for (name, named) in &mut self.names {
            if named.changed >= asked {
                continue;
            }
            let seen = shown.get(name);
            let gone = named.observe(seen, process).map_err(|words| format!("topic {name}: {words}"))?;
            if gone.1 {
                named.changed = now;
            }
            self.gone.extend(gone.0);
        }
        Ok(())
    }

    /// A broker of `process` showed a topic's own settings, in answer to a request sent at `asked`.
    pub(crate) fn observe_configs(
        &mut self,
        name: &str,
        shown: &BTreeMap<String, String>,
        process: u64,
        asked: Instant,
    ) -> Checked {
        let Some(named) = self.names.get_mut(name).filter(|named| named.changed < asked) else {
            return Ok(());
        };
        let Some(facts) = &mut named.facts else { return Ok(()) };
        if let Some((Change::Config(key, value), of)) = &named.doubt {
            let mut after = facts.configs.clone();
            match value {
                Some(value) => after.insert(key.clone(), value.clone()),
                None => after.remove(key),
            };
            let is_over = *of != process;
            if *shown == after {
                facts.configs = after;
                named.doubt = None;
                return Ok(());
            }
            if is_over {
                named.doubt = None;
            }
        }
        if *shown == facts.configs {
            return Ok(());
        }
        Err(format!("topic {name} has the settings {shown:?}, and was told to have {:?}", facts.configs))
    }
}

impl Named {
    /// Makes a change certain. Returns the topic that is gone with it.
    fn take(&mut self, change: Change, id: Option<Uuid>) -> Option<Uuid> {
        match (change, &mut self.facts) {
            (Change::Create(plan), facts) => {
                let id = id.expect("a topic that was created has an id");
                let configs = plan.configs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
                *facts = Some(Facts { id, partitions: plan.partitions, configs });
            }
            (Change::Delete, facts) => return facts.take().map(|facts| facts.id),
            (Change::Partitions(count), Some(facts)) => facts.partitions = count,
            (Change::Config(key, Some(value)), Some(facts)) => drop(facts.configs.insert(key, value)),
            (Change::Config(key, None), Some(facts)) => drop(facts.configs.remove(&key)),
            (_, None) => {}
        }
        None
    }

    /// Holds what was seen against what is known. Returns a topic that is gone, and whether a doubt
    /// is over.
    fn observe(&mut self, seen: Option<&Seen>, process: u64) -> Result<(Option<Uuid>, bool), String> {
        let fits = |facts: Option<&Facts>| match (facts, seen) {
            (None, None) => true,
            (Some(facts), Some(seen)) => (facts.id, facts.partitions) == (seen.id, seen.partitions),
            (None, Some(_)) | (Some(_), None) => false,
        };
        let is_before = fits(self.facts.as_ref());
        if let Some((change, of)) = self.doubt.clone() {
            let settled = of != process;
            match (&change, seen) {
                // Settings show in another answer.
                (Change::Config(..), _) if is_before => return Ok((None, false)),
                (Change::Config(..), _) => {}
                (_, _) if is_before => {
                    if settled {
                        self.doubt = None;
                    }
                    return Ok((None, settled));
                }
                (Change::Create(plan), Some(seen)) if seen.partitions == plan.partitions => {
                    self.doubt = None;
                    self.take(change, Some(seen.id));
                    return Ok((None, true));
                }
                (Change::Delete, None) => {
                    self.doubt = None;
                    return Ok((self.take(change, None), true));
                }
                (Change::Partitions(count), Some(seen)) if seen.partitions == *count => {
                    self.doubt = None;
                    self.take(change, None);
                    return Ok((None, true));
                }
                (_, _) => {}
            }
        }
        if is_before {
            return Ok((None, false));
        }
        Err(format!("{seen:?} is there, where {:?} was to be (in doubt: {:?})", self.facts, self.doubt))
    }
}
