//! How connections end: when they are done, when they break the rules, and when they hold what others need.
//!
//! What always holds: the core hears of every end, once, and may then drop what is parked for the connection.

use std::time::Duration;

use aplomb_broker::ports::{CloseReason, Event, Now, Severity};
use aplomb_model::Instant;

use super::{Core, Reactor};
use crate::net::connection::{Connection, End};

/// How often idle connections are looked for.
const SWEEP: Duration = Duration::from_secs(1);

/// How long half a frame, or a reply, may stay as it is while memory is short.
const STUCK: Duration = Duration::from_secs(10);

impl<C: Core> Reactor<C> {
    /// Closes a connection, and says why if the reason is not an everyday one.
    pub(super) fn close(&mut self, number: u64, end: &End, now: Now) {
        let Some(connection) = self.connections.remove(number) else { return };
        connection.muted_until().map(|at| self.muted.remove(&(at, number)));
        let why = match end {
            End::ByClient | End::Broken | End::Idle => None,
            End::Malformed(why) | End::ByBroker(CloseReason::Malformed(why)) => Some(why.clone()),
            End::ByBroker(CloseReason::Unsupported { api_key, version }) => {
                Some(format!("version {version} of API {api_key} is not offered here"))
            }
            End::ByBroker(CloseReason::ProduceFailed) => {
                Some("a produce request failed that wants no acknowledgement".to_owned())
            }
        };
        if let Some(why) = why {
            let text = format!("closed a connection of {}: {why}", connection.peer());
            self.parts.log.event(now.wall, Event { severity: Severity::Info, room: "server/net", text });
        }
        self.parts.core.on_connection_closed(connection.id(), now, &mut self.outputs);
        // The socket closes here; what is left in its send buffer still goes out.
        drop(connection);
        self.route(now);
    }

    /// Closes connections that have been idle for too long; and, while memory is short, those that have been holding some for a while
    /// without doing anything with it.
    pub(super) fn sweep(&mut self, now: Now) {
        if now.instant < self.next_sweep {
            return;
        }
        self.next_sweep = now.instant + SWEEP;
        let unwritten: usize = self.connections.iter().map(Connection::unwritten).sum();
        self.parts.stats.set_unwritten(unwritten as u64);
        let budget = &self.parts.budget;
        let stuck_since = before(now.instant, STUCK);
        let sending = stuck_since.filter(|_| budget.is_short());
        let taking = stuck_since
            .filter(|_| unwritten >= budget.limit_of_shard() || self.parts.core.is_short_of_memory());
        let idle = self.parts.net.max_idle.and_then(|idle| before(now.instant, idle));
        let is_late = |connection: &&Connection| {
            idle.is_some_and(|at| connection.is_idle_since(at))
                || sending.is_some_and(|at| connection.sends_nothing_since(at))
                || taking.is_some_and(|at| connection.takes_nothing_since(at))
        };
        let late: Vec<u64> =
            self.connections.iter().filter(is_late).map(|connection| connection.id().number).collect();
        for number in late {
            self.close(number, &End::Idle, now);
        }
    }
}

/// The moment that lies `ago` before `now`, if the clock had started then.
fn before(now: Instant, ago: Duration) -> Option<Instant> {
    let ago = u64::try_from(ago.as_nanos()).ok()?;
    now.as_nanos().checked_sub(ago).map(Instant::from_nanos)
}
