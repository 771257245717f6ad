//! Where shards leave what clients say in exchanges of Kerberos, and find what is to be answered.
//!
//! What always holds: a shard waits for no lock, and comes again instead; what lies here has an end,
//! in pieces and in bytes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::port::GssFault;

/// Tokens that may lie here at a time, and their bytes.
const MOST_ASKED: usize = 1024;
const MOST_BYTES: usize = 4 << 20;

/// What clients of one listener say.
pub struct GssDesk {
    asked: Mutex<AskedTokens>,
    next: AtomicU64,
    /// Has the clerk come soon.
    call: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct AskedTokens {
    tokens: VecDeque<AskedToken>,
    bytes: usize,
}

/// What a client says, and where the answer is put.
pub(super) struct AskedToken {
    pub(super) place: Arc<GssPlace>,
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

/// One exchange's. When its connection goes, the clerk alone has it.
pub(super) struct GssPlace {
    pub(super) number: u64,
    answer: Mutex<Option<GssAnswer>>,
}

impl GssDesk {
    /// An empty one. `call` is to have a [`super::GssClerk`] look here, and may not wait for that.
    #[must_use]
    pub fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Self { asked: Mutex::default(), next: AtomicU64::new(0), call: Box::new(call) }
    }

    /// A place for an exchange that begins.
    pub(super) fn place(&self) -> Arc<GssPlace> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Arc::new(GssPlace { number, answer: Mutex::default() })
    }

    /// Leaves a token here, if there is room and the clerk is not about to take one.
    pub(super) fn ask(&self, place: &Arc<GssPlace>, token: &[u8], is_first: bool) -> bool {
        {
            let Ok(mut asked) = self.asked.try_lock() else { return false };
            if asked.tokens.len() >= MOST_ASKED || asked.bytes + token.len() > MOST_BYTES {
                return false;
            }
            asked.bytes += token.len();
            let (place, token) = (Arc::clone(place), Bytes::copy_from_slice(token));
            asked.tokens.push_back(AskedToken { place, token, is_first });
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

    /// Not for a thread that carries requests.
    fn lock(&self) -> MutexGuard<'_, AskedTokens> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for GssDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GssDesk").finish_non_exhaustive()
    }
}

impl GssPlace {
    /// The answer, if it is there.
    pub(super) fn take(&self) -> Option<GssAnswer> {
        self.answer.try_lock().ok()?.take()
    }

    /// Not for a thread that carries requests.
    pub(super) fn put(&self, answer: GssAnswer) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }
}

impl fmt::Debug for GssPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GssPlace").field("number", &self.number).finish_non_exhaustive()
    }
}
