//! The topics that regular expressions stand for, while they are looked for: one expression after
//! the other, some names at a time.
//!
//! What always holds: one expression at a time is compiled. A group may have thousands, each of
//! which may take megabytes then.

use std::collections::VecDeque;
use std::sync::Arc;

use aplomb_model::Timestamp;

use crate::group::Sight;
use crate::group::expression::Expression;
use crate::group::world::World;

/// Topics that are looked for, which has not come to its end.
#[derive(Debug)]
pub(crate) struct Resolving {
    waiting: VecDeque<String>,
    current: Option<Looking>,
    found: Vec<Matches>,
    /// The metadata with which this began, and when.
    version: i64,
    since: Timestamp,
    /// The topics that the member is shown which caused this.
    sight: Sight,
}

/// The expression whose topics are looked for now.
#[derive(Debug)]
struct Looking {
    expression: Expression,
    /// Names up to this one have been looked at.
    after: Option<Arc<str>>,
    matches: Matches,
}

/// An expression, and the topics found until now.
#[derive(Debug)]
pub(crate) struct Matches {
    pub(crate) text: String,
    pub(crate) topics: Vec<String>,
}

impl Resolving {
    /// Begins to look for the topics of these expressions.
    pub(crate) fn new<'a>(
        expressions: impl Iterator<Item = &'a str>,
        sight: Sight,
        world: &dyn World,
        since: Timestamp,
    ) -> Self {
        let waiting = expressions.map(str::to_owned).collect();
        Self { waiting, current: None, found: Vec::new(), version: world.version(), since, sight }
    }

    /// Compiles the next expression, if it is its turn, and looks at the next names. Gives whether
    /// more are left.
    pub(crate) fn look(&mut self, world: &dyn World) -> bool {
        let next = self.current.take().or_else(|| self.next_expression());
        let Some(mut looking) = next else { return !self.waiting.is_empty() };
        let most = looking.expression.names_at_once();
        let names = world.names_after(looking.after.as_deref(), most);
        for name in names.iter().filter(|name| looking.expression.matches(name) && self.sight.has(name)) {
            looking.matches.topics.push(name.to_string());
        }
        if names.len() == most {
            looking.after = names.last().cloned();
            self.current = Some(looking);
            return true;
        }
        self.found.push(looking.matches);
        !self.waiting.is_empty()
    }

    /// One that is none, by the rules that hold now, stands for no topic.
    fn next_expression(&mut self) -> Option<Looking> {
        let text = self.waiting.pop_front()?;
        let compiled = Expression::compile(&text);
        let matches = Matches { text, topics: Vec::new() };
        match compiled {
            Ok(expression) => Some(Looking { expression, after: None, matches }),
            Err(_) => {
                self.found.push(matches);
                None
            }
        }
    }

    /// The version of the metadata with which this began.
    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    pub(crate) fn into_matches(self) -> Vec<Matches> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::TopicId;

    use super::*;
    use crate::group::settings::{GroupSettings, Overrides};
    use crate::group::world::Topic;

    /// Topics of these names, and nothing else.
    struct Names(Vec<Arc<str>>);

    impl World for Names {
        fn settings(&self) -> &GroupSettings {
            panic!("settings say nothing of names")
        }

        fn has_room(&self) -> bool {
            true
        }

        fn overrides(&self, _: &str) -> Overrides {
            Overrides::default()
        }

        fn topic(&self, _: &str) -> Option<Topic> {
            None
        }

        fn topic_by_id(&self, _: TopicId) -> Option<Topic> {
            None
        }

        fn racks(&self, _: TopicId, _: i32) -> Vec<String> {
            Vec::new()
        }

        fn names_after(&self, after: Option<&str>, most: usize) -> Vec<Arc<str>> {
            let behind = self.0.iter().filter(|name| after.is_none_or(|after| ***name > *after));
            behind.take(most).cloned().collect()
        }

        fn version(&self) -> i64 {
            7
        }
    }

    #[test]
    fn one_expression_after_the_other_is_compared_with_few_names_a_turn_the_fewer_the_larger_it_is() {
        let world = Names((0..1000).map(|n| format!("many-{n:03}").into()).collect());
        let large = "(many-.*|x){1,200}";
        let expressions = [".*-00[1-3]", "(", large, "none", "many-999"];
        let mut resolving = Resolving::new(expressions.into_iter(), Sight::default(), &world, Timestamp(1));
        let (mut turns, mut most_at_once) = (1, 0);
        loop {
            let more = resolving.look(&world);
            let compiled = resolving.current.as_ref().map(|looking| looking.expression.names_at_once());
            most_at_once = most_at_once.max(compiled.unwrap_or(0));
            if !more {
                break;
            }
            turns += 1;
        }
        assert_eq!(most_at_once, 256, "of a thousand names");
        assert!(turns > 3 * 4 + 1000 / 32, "{turns}: the large one takes its time");
        let found = resolving.into_matches();
        let counts: Vec<(&str, usize)> =
            found.iter().map(|matches| (matches.text.as_str(), matches.topics.len())).collect();
        assert_eq!(counts, [(".*-00[1-3]", 3), ("(", 0), (large, 1000), ("none", 0), ("many-999", 1)]);

        let odd = Sight::of(|name| name.ends_with(['1', '3', '5', '7', '9']));
        let mut resolving = Resolving::new(expressions.into_iter(), odd, &world, Timestamp(1));
        while resolving.look(&world) {}
        let counts = resolving.into_matches().into_iter().map(|matches| matches.topics.len());
        assert_eq!(counts.collect::<Vec<_>>(), [2, 0, 500, 0, 1], "of those that the member is shown");
    }
}
