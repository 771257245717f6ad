//! The topics that regular expressions stand for, while they are looked for: some names at a time.

use std::sync::Arc;

use aplomb_model::Timestamp;

use crate::group::expression::Expression;
use crate::group::world::World;

/// Names are compared with expressions so often in one turn.
const COMPARED: usize = 2048;

/// Topics that are looked for, which has not come to its end.
#[derive(Debug)]
pub(crate) struct Resolving {
    expressions: Vec<Matches>,
    /// Names up to this one have been looked at.
    after: Option<Arc<str>>,
    /// The metadata with which this began, and when.
    version: i64,
    since: Timestamp,
}

/// An expression, and the topics found until now.
#[derive(Debug)]
pub(crate) struct Matches {
    pub(crate) text: String,
    /// `None`: it is none, by the rules that hold now.
    expression: Option<Expression>,
    pub(crate) topics: Vec<String>,
}

impl Resolving {
    /// Begins to look for the topics of these expressions.
    pub(crate) fn new<'a>(
        expressions: impl Iterator<Item = &'a str>,
        world: &dyn World,
        since: Timestamp,
    ) -> Self {
        let found = |text: &str| Matches {
            text: text.to_owned(),
            expression: Expression::compile(text).ok(),
            topics: Vec::new(),
        };
        Self { expressions: expressions.map(found).collect(), after: None, version: world.version(), since }
    }

    /// Looks at the next names. Gives whether more are left.
    pub(crate) fn look(&mut self, world: &dyn World) -> bool {
        let most = (COMPARED / self.expressions.len().max(1)).max(1);
        let names = world.names_after(self.after.as_deref(), most);
        for name in &names {
            for found in &mut self.expressions {
                if found.expression.as_ref().is_some_and(|expression| expression.matches(name)) {
                    found.topics.push(name.to_string());
                }
            }
        }
        self.after = names.last().cloned();
        names.len() == most
    }

    /// The version of the metadata with which this began.
    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    pub(crate) fn since(&self) -> Timestamp {
        self.since
    }

    pub(crate) fn into_matches(self) -> Vec<Matches> {
        self.expressions
    }
}
