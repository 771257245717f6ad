//! Goes through the exchanges of a listener, on a thread that may take its time.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use super::dialogue::{Dialogue, DialogueStep};
use super::port::{GssAcceptor, GssFault};
use super::queue::{AskedToken, GssAnswer, GssQueue, GssSlot};

/// Exchanges that are remembered at a time. A client that shows a ticket and does not go on can
/// have as many begun as it makes connections: the oldest are given up for newer ones, and honest
/// ones take milliseconds.
const MOST_BEGUN: usize = 1024;

/// What the first token of an exchange begins with (RFC 2743, section 3.1) behind its length: the
/// mechanism's number, which is that of Kerberos 5.
const KERBEROS: [u8; 11] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02];

/// The exchanges that are under way.
pub struct GssWorker<A: GssAcceptor> {
    acceptor: A,
    /// By their number: the oldest is the first.
    begun: BTreeMap<u64, BegunExchange<A::Context>>,
}

struct BegunExchange<C> {
    slot: Weak<GssSlot>,
    dialogue: Dialogue<C>,
}

impl<A: GssAcceptor> GssWorker<A> {
    /// One that has nothing to do yet.
    pub const fn new(acceptor: A) -> Self {
        Self { acceptor, begun: BTreeMap::new() }
    }

    /// Answers what was left in the queue first. Whether anything was.
    pub fn serve_next(&mut self, queue: &GssQueue) -> bool {
        let Some(asked) = queue.take() else { return false };
        // What a client said that has gone needs no answer.
        if Arc::strong_count(&asked.slot) > 1 {
            let answer = self.answer(&asked).unwrap_or_else(GssAnswer::Failed);
            queue.answer(&asked.slot, answer);
        }
        true
    }

    /// Forgets the exchanges of connections that have gone.
    pub fn forget_gone(&mut self) {
        self.begun.retain(|_, begun| begun.slot.strong_count() > 0);
    }

    /// Exchanges that are remembered.
    #[must_use]
    pub fn begun(&self) -> usize {
        self.begun.len()
    }

    fn answer(&mut self, asked: &AskedToken) -> Result<GssAnswer, GssFault> {
        let AskedToken { slot, token, is_first } = asked;
        let mut dialogue = match self.begun.remove(&slot.number) {
            Some(begun) => begun.dialogue,
            // Whatever is no ticket costs no look at a file.
            None if *is_first && !is_kerberos(token) => {
                return Err(GssFault::lasting("its token is not Kerberos's"));
            }
            None if *is_first => Dialogue::new(self.acceptor.begin()?),
            None => return Err(GssFault::passing("its exchange was given up for newer ones")),
        };
        match dialogue.on_token(token)? {
            DialogueStep::More(token) => {
                if self.begun.len() >= MOST_BEGUN {
                    self.forget_gone();
                }
                if self.begun.len() >= MOST_BEGUN {
                    self.begun.pop_first();
                }
                self.begun.insert(slot.number, BegunExchange { slot: Arc::downgrade(slot), dialogue });
                Ok(GssAnswer::More(token.into()))
            }
            DialogueStep::Proved(principal) => self.acceptor.short_name(&principal).map(GssAnswer::Proved),
        }
    }
}

/// Whether a token is one that Kerberos may understand.
fn is_kerberos(token: &[u8]) -> bool {
    const APPLICATION_0: u8 = 0x60;
    let [APPLICATION_0, length, rest @ ..] = token else { return false };
    // Up to 127 bytes the length is itself, beyond it is how many bytes it has.
    let longer = if *length < 0x80 { 0 } else { usize::from(length & 0x7f) };
    rest.get(longer..).is_some_and(|inside| inside.starts_with(&KERBEROS))
}
