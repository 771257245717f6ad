//! What a client asks for in JoinGroup.

use std::sync::Arc;

use aplomb_protocol::messages as m;

use crate::group::Caller;
use crate::group::state::classic::{ClassicMember, Protocols, Waiting};

/// From this version on the rebalance timeout is a number of its own.
const REBALANCE_TIMEOUT: i16 = 1;

/// A JoinGroup, understood.
#[derive(Debug)]
pub(super) struct Join {
    pub(super) waiting: Waiting,
    pub(super) member: String,
    pub(super) instance: Option<Arc<str>>,
    pub(super) protocol_type: String,
    pub(super) protocols: Protocols,
    pub(super) rebalance_ms: i32,
    pub(super) session_ms: i32,
    pub(super) client_id: Arc<str>,
    pub(super) client_host: Arc<str>,
    reason: Option<String>,
}

impl Join {
    pub(super) fn new(waiting: Waiting, caller: &Caller, request: m::JoinGroupRequest) -> Self {
        let has_timeout = caller.version >= REBALANCE_TIMEOUT;
        Self {
            waiting,
            member: request.member_id,
            instance: request.group_instance_id.map(Arc::from),
            protocol_type: request.protocol_type,
            protocols: Protocols::of_request(request.protocols),
            rebalance_ms: if has_timeout { request.rebalance_timeout_ms } else { request.session_timeout_ms },
            session_ms: request.session_timeout_ms,
            client_id: caller.client_id.clone(),
            client_host: caller.host.clone(),
            reason: request.reason,
        }
    }

    /// Why the group rebalances, with what the client says of it.
    pub(super) fn reason(&self, what: &str) -> String {
        format!("{what}; client reason: {}", self.reason.as_deref().unwrap_or("not provided"))
    }

    /// A member as it is new: it waits for the end of the phase.
    pub(super) fn into_member(self) -> ClassicMember {
        let mut member = ClassicMember::new(
            self.instance,
            self.client_id,
            self.client_host,
            self.rebalance_ms,
            self.session_ms,
            self.protocols,
        );
        member.join = Some(self.waiting);
        member.is_new = true;
        member
    }
}
