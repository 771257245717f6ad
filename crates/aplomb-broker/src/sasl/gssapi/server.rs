//! A connection's side of an exchange: it asks by the queue, and comes again for the answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::queue::{GssAnswer, GssQueue, GssSlot};
use crate::ports::ConnectionId;
use crate::sasl::said::{Denied, Said};

/// A longer token is looked at by none: tickets have 64 KiB at most (Active Directory's
/// `MaxTokenSize`, the largest of them, is 65,535).
const LONGEST_TOKEN: usize = 64 << 10;

/// An answer is told of; so late it is looked for where that was in vain.
const LOOK: Duration = Duration::from_millis(50);

/// When it comes again for the first time where there was no room, and how often that is doubled.
const SOON: Duration = Duration::from_millis(1);
const MOST_DOUBLINGS: u32 = 5;

/// After so long it is given up: the keytab's disk does not answer, or too many want to get in.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server's side.
#[derive(Debug, Default)]
pub(in crate::sasl) struct GssServer {
    slot: Option<Arc<GssSlot>>,
    /// An answer is to come.
    is_asked: bool,
    tries: u32,
    waited: Duration,
}

impl GssServer {
    /// Takes what the client says on a connection, or said when it was to be taken later.
    pub(in crate::sasl) fn on_message(
        &mut self,
        token: &[u8],
        (queue, connection): (&GssQueue, ConnectionId),
    ) -> Result<Said, Denied> {
        if !self.is_asked {
            if token.len() > LONGEST_TOKEN {
                return Err(Denied::Unsaid("its token is longer than tickets are"));
            }
            let is_first = self.slot.is_none();
            let slot = self.slot.take().unwrap_or_else(|| queue.slot(connection));
            self.is_asked = queue.ask(&slot, token, is_first);
            // Until it has been asked, the exchange has not begun.
            self.slot = (self.is_asked || !is_first).then_some(slot);
            return self.later();
        }
        let Some(answer) = self.slot.as_ref().and_then(|slot| slot.take()) else { return self.later() };
        (self.is_asked, self.tries, self.waited) = (false, 0, Duration::ZERO);
        match answer {
            GssAnswer::More(token) => Ok(Said::More(token)),
            GssAnswer::Proved(user) => {
                // A ticket's end does not end a session, as in Apache Kafka, whose mechanism does
                // not say when that is.
                Ok(Said::Proved { user, answer: Bytes::new(), ends: None, by_token: false })
            }
            GssAnswer::Failed(fault) => {
                Err(Denied::Kerberos { why: fault.why, is_passing: fault.is_passing })
            }
        }
    }

    fn later(&mut self) -> Result<Said, Denied> {
        if self.waited >= PATIENCE {
            return Err(Denied::Silent("its ticket could not be looked at within 10 s"));
        }
        let after = if self.is_asked { LOOK } else { SOON * (1 << self.tries) };
        self.tries = (self.tries + 1).min(MOST_DOUBLINGS);
        self.waited += after;
        Ok(Said::Later(after))
    }
}
