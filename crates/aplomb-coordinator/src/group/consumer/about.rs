//! What a member says of itself, and what is new of it.

use aplomb_protocol::messages as m;

use crate::group::Caller;
use crate::group::state::consumer::{About, ConsumerMember};

/// What a member has said that was otherwise before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// It names other topics.
    pub(super) names: bool,
    /// It has another regular expression: the old and the new one, either of which may be empty.
    pub(super) expression: Option<(String, String)>,
}

impl News {
    /// What is new in `about`, which has its names in order.
    pub(super) fn of(before: Option<&ConsumerMember>, about: &About) -> Self {
        let old = before.and_then(ConsumerMember::about);
        let expression_of = |about: &About| about.subscribed_topic_regex.clone();
        let old_expression = old.map_or_else(|| Some(String::new()), expression_of);
        let new_expression = expression_of(about);
        Self {
            names: before.map_or(&[][..], ConsumerMember::names) != about.subscribed_topic_names,
            expression: (old_expression != new_expression)
                .then(|| (old_expression.unwrap_or_default(), new_expression.unwrap_or_default())),
        }
    }
}

/// What a member says by a heartbeat; `None`: nothing new. What it leaves out is as it was.
pub(super) fn of_heartbeat(
    before: Option<&ConsumerMember>,
    caller: &Caller,
    request: &m::ConsumerGroupHeartbeatRequest,
) -> Option<About> {
    let names = request.subscribed_topic_names.as_deref().map(in_order);
    let old = before.and_then(ConsumerMember::about);
    let is_new = old.is_none_or(|old| {
        let differs = |new: &Option<String>, old: &Option<String>| new.is_some() && new != old;
        differs(&request.instance_id, &old.instance_id)
            || differs(&request.rack_id, &old.rack_id)
            || differs(&request.server_assignor, &old.server_assignor)
            || differs(&request.subscribed_topic_regex, &old.subscribed_topic_regex)
            || request.rebalance_timeout_ms != -1 && request.rebalance_timeout_ms != old.rebalance_timeout_ms
            || names.as_ref().is_some_and(|names| !names.iter().copied().eq(&old.subscribed_topic_names))
            || *caller.client_id != *old.client_id
            || *caller.host != *old.client_host
            || old.classic_member_metadata.is_some()
    });
    if !is_new {
        return None;
    }
    let mut about = old.cloned().unwrap_or_else(of_nobody);
    let say = |new: &Option<String>, about: &mut Option<String>| {
        if new.is_some() {
            about.clone_from(new);
        }
    };
    say(&request.instance_id, &mut about.instance_id);
    say(&request.rack_id, &mut about.rack_id);
    say(&request.server_assignor, &mut about.server_assignor);
    say(&request.subscribed_topic_regex, &mut about.subscribed_topic_regex);
    if request.rebalance_timeout_ms != -1 {
        about.rebalance_timeout_ms = request.rebalance_timeout_ms;
    }
    if let Some(names) = names {
        about.subscribed_topic_names = names.into_iter().cloned().collect();
    }
    about.client_id = caller.client_id.to_string();
    about.client_host = caller.host.to_string();
    about.classic_member_metadata = None;
    Some(about)
}

/// Of a member that has said nothing yet.
pub(super) fn of_nobody() -> About {
    About {
        instance_id: None,
        rack_id: None,
        client_id: String::new(),
        client_host: String::new(),
        subscribed_topic_names: Vec::new(),
        subscribed_topic_regex: Some(String::new()),
        rebalance_timeout_ms: -1,
        server_assignor: None,
        classic_member_metadata: None,
    }
}

/// Names in their order, each once.
pub(super) fn in_order(names: &[String]) -> Vec<&String> {
    let mut names: Vec<&String> = names.iter().collect();
    names.sort_unstable();
    names.dedup();
    names
}
