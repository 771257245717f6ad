//! Where shards leave what clients say in exchanges of Kerberos, and find what is to be answered.
//!
//! What always holds: a shard waits for no lock, and comes again instead; what lies here has an
//! end, in pieces and in bytes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;

use super::port::GssFault;
use crate::ports::ConnectionId;

/// Tokens that may lie here at a time, and their bytes.
const MOST_ASKED: usize = 1024;
const MOST_BYTES: usize = 4 << 20;

/// What clients of one listener say.
pub struct GssQueue {
    asked: Mutex<AskedTokens>,
    next: AtomicU64,
    /// Has the worker look here soon.
    call: Box<dyn Fn() + Send + Sync>,
    /// Has a connection look for its answer.
    tell: OnceLock<Box<dyn Fn(ConnectionId) + Send + Sync>>,
}

#[derive(Default)]
struct AskedTokens {
    tokens: VecDeque<AskedToken>,
    bytes: usize,
}

/// What a client says, and where the answer is put.
pub(super) struct AskedToken {
    pub(super) slot: Arc<GssSlot>,
    pub(super) token: Bytes,
    /// Its exchange begins with it.
    pub(super) is_first: bool,
}

/// What is to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GssAnswer {
    /// The client is to hear this, and to say more.
    More(Bytes),
    /// It is this user.
    Proved(String),
    /// It does not get in.
    Failed(GssFault),
}

/// One exchange's. When its connection goes, the worker alone has it.
pub(super) struct GssSlot {
    pub(super) number: u64,
    connection: ConnectionId,
    answer: Mutex<Option<GssAnswer>>,
}

impl GssQueue {
    /// An empty one. `call` is to have a [`super::GssWorker`] look here, and may not wait for that.
    #[must_use]
    pub fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Self { asked: Mutex::default(), next: AtomicU64::new(0), call: Box::new(call), tell: OnceLock::new() }
    }

    /// `tell` is to have a connection look for its answer, and may be in vain: it looks all the
    /// same, only later.
    pub fn tell_by(&self, tell: impl Fn(ConnectionId) + Send + Sync + 'static) {
        self.tell.get_or_init(|| Box::new(tell));
    }

    /// A slot for an exchange that begins on this connection.
    pub(super) fn slot(&self, connection: ConnectionId) -> Arc<GssSlot> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Arc::new(GssSlot { number, connection, answer: Mutex::default() })
    }

    /// Leaves a token here, if there is room and the worker is not about to take one.
    pub(super) fn ask(&self, slot: &Arc<GssSlot>, token: &[u8], is_first: bool) -> bool {
        {
            let Ok(mut asked) = self.asked.try_lock() else { return false };
            if asked.tokens.len() >= MOST_ASKED || asked.bytes + token.len() > MOST_BYTES {
                return false;
            }
            asked.bytes += token.len();
            let (slot, token) = (Arc::clone(slot), Bytes::copy_from_slice(token));
            asked.tokens.push_back(AskedToken { slot, token, is_first });
        }
        (self.call)();
        true
    }

    /// What was left here first.
    pub(super) fn take(&self) -> Option<AskedToken> {
        let mut asked = self.lock();
        let first = asked.tokens.pop_front()?;
        asked.bytes -= first.token.len();
        Some(first)
    }

    /// Answers what was taken. Not for a thread that carries requests.
    pub(super) fn answer(&self, slot: &GssSlot, answer: GssAnswer) {
        *slot.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        if let Some(tell) = self.tell.get() {
            tell(slot.connection);
        }
    }

    /// Not for a thread that carries requests.
    fn lock(&self) -> MutexGuard<'_, AskedTokens> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for GssQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GssQueue").finish_non_exhaustive()
    }
}

impl GssSlot {
    /// The answer, if it is there.
    pub(super) fn take(&self) -> Option<GssAnswer> {
        self.answer.try_lock().ok()?.take()
    }
}

impl fmt::Debug for GssSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GssSlot").field("number", &self.number).finish_non_exhaustive()
    }
}
