//! What one thread has for all shards.
//!
//! What always holds: sending never waits, loses or reorders. What a full mailbox does not take is
//! kept here, in order, and goes first when there is room. While much is kept ([`Outbox::is_full`])
//! a loop reads no requests, so that what is kept stays bounded by that and what one turn can send.
//! It reads on while little is: a shard that has a long turn, as the one for what takes long does,
//! is not to keep the clients of others waiting.

use std::collections::VecDeque;
use std::sync::Arc;

use aplomb_broker::ports::ShardId;

use super::mailbox::{CAPACITY, Full, Mailbox};

/// How many pieces of mail are kept before no requests are read.
const KEPT: usize = 16 * CAPACITY;

/// The way to all shards.
#[derive(Debug)]
pub(crate) struct Outbox<M> {
    peers: Vec<Peer<M>>,
    kept: usize,
}

#[derive(Debug)]
struct Peer<M> {
    mailbox: Arc<Mailbox<M>>,
    kept: VecDeque<M>,
    /// Mail was posted since the peer was last woken.
    unwoken: bool,
}

impl<M> Outbox<M> {
    /// An outbox to these mailboxes, the shards' in order.
    pub(crate) fn new(mailboxes: &[Arc<Mailbox<M>>]) -> Self {
        let peer = |mailbox| Peer { mailbox, kept: VecDeque::new(), unwoken: false };
        Self { peers: mailboxes.iter().cloned().map(peer).collect(), kept: 0 }
    }

    /// Sends `mail` to a shard, now or as soon as there is room. The shard is woken by
    /// [`Outbox::wake`].
    pub(crate) fn send(&mut self, to: ShardId, mail: M) {
        let peer = &mut self.peers[usize::from(to.0)];
        if !peer.kept.is_empty() {
            peer.kept.push_back(mail);
            self.kept += 1;
            return;
        }
        if let Err(Full(mail)) = peer.mailbox.post(mail) {
            peer.kept.push_back(mail);
            self.kept += 1;
        }
        peer.unwoken = true;
    }

    /// Sends what was kept, as far as there is room.
    pub(crate) fn retry(&mut self) {
        for peer in &mut self.peers {
            while let Some(mail) = peer.kept.pop_front() {
                if let Err(Full(mail)) = peer.mailbox.post(mail) {
                    peer.kept.push_front(mail);
                    break;
                }
                peer.unwoken = true;
                self.kept -= 1;
            }
        }
    }

    /// Whether mail is kept here because a shard's mailbox is full.
    pub(crate) fn is_congested(&self) -> bool {
        self.kept > 0
    }

    /// Whether so much is kept that nothing may be taken up that would add to it.
    pub(crate) fn is_full(&self) -> bool {
        self.kept >= KEPT
    }

    /// Wakes every shard that mail was posted to.
    pub(crate) fn wake(&mut self) {
        for peer in &mut self.peers {
            if std::mem::take(&mut peer.unwoken) {
                peer.mailbox.wake();
            }
        }
    }

    /// Wakes all shards: they may wait for something that has just become true here.
    pub(crate) fn wake_all(&self) {
        for peer in &self.peers {
            peer.mailbox.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mailbox::mailbox;
    use super::super::waker::Waker;
    use super::*;

    const THERE: ShardId = ShardId(0);

    #[test]
    fn a_full_mailbox_keeps_no_sender_waiting_and_loses_and_reorders_nothing() {
        let (mailbox, mut inbox) = mailbox(Arc::new(Waker::new().expect("an eventfd")), 4);
        let mut outbox = Outbox::new(&[mailbox]);
        for n in 0..10 {
            outbox.send(THERE, n);
        }
        assert!(outbox.is_congested() && !outbox.is_full());
        assert!(inbox.was_full());

        let mut seen = Vec::new();
        while let Some(n) = inbox.mail() {
            seen.push(n);
            if seen.len() % 3 == 0 {
                outbox.retry();
            }
        }
        outbox.retry();
        while let Some(n) = inbox.mail() {
            seen.push(n);
        }
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
        assert!(!outbox.is_congested());
    }

    #[test]
    fn what_is_kept_has_an_end() {
        let (mailbox, mut inbox) = mailbox(Arc::new(Waker::new().expect("an eventfd")), 4);
        let mut outbox = Outbox::new(&[mailbox]);
        (0..KEPT + 3).for_each(|n| outbox.send(THERE, n));
        assert!(!outbox.is_full());
        outbox.send(THERE, KEPT + 3);
        assert!(outbox.is_full());
        assert_eq!(inbox.mail(), Some(0));
        outbox.retry();
        assert!(!outbox.is_full() && outbox.is_congested());
    }
}
