//! What a shard has for the others.
//!
//! What always holds: sending never waits and never loses or reorders. What a full mailbox does not take is kept here, in order, and
//! goes first when there is room; while something is kept ([`Outbox::is_congested`]) the reactor reads no requests, so that what
//! is kept stays bounded by what was already on its way.

use std::collections::VecDeque;
use std::sync::Arc;

use aplomb_broker::ports::ShardId;

use super::mailbox::{Full, Mail, Mailbox};

/// The way to all other shards.
#[derive(Debug)]
pub(crate) struct Outbox {
    peers: Vec<Peer>,
    kept: usize,
}

#[derive(Debug)]
struct Peer {
    mailbox: Arc<Mailbox>,
    kept: VecDeque<Mail>,
    /// Mail was posted since the peer was last woken.
    unwoken: bool,
}

impl Outbox {
    /// An outbox to these mailboxes, the shards' in order.
    pub(crate) fn new(mailboxes: impl IntoIterator<Item = Arc<Mailbox>>) -> Self {
        let peers = mailboxes
            .into_iter()
            .map(|mailbox| Peer { mailbox, kept: VecDeque::new(), unwoken: false })
            .collect();
        Self { peers, kept: 0 }
    }

    /// Sends `mail` to a shard, now or as soon as there is room. The shard is woken by [`Outbox::wake`].
    pub(crate) fn send(&mut self, to: ShardId, mail: Mail) {
        let peer = &mut self.peers[usize::from(to.0)];
        if !peer.kept.is_empty() {
            peer.kept.push_back(mail);
            self.kept += 1;
            return;
        }
        match peer.mailbox.post(mail) {
            Ok(()) => {}
            Err(Full(mail)) => {
                peer.kept.push_back(mail);
                self.kept += 1;
            }
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

    /// Whether some shard's mailbox is full and mail for it is kept here.
    pub(crate) fn is_congested(&self) -> bool {
        self.kept > 0
    }

    /// Wakes every shard that mail was posted to.
    pub(crate) fn wake(&mut self) {
        for peer in &mut self.peers {
            if std::mem::take(&mut peer.unwoken) {
                peer.mailbox.wake();
            }
        }
    }

    /// Wakes all shards: they may be waiting for something that has just become true here.
    pub(crate) fn wake_all(&self) {
        for peer in &self.peers {
            peer.mailbox.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aplomb_broker::ports::{ConnectionId, Reply, RequestId};

    use super::super::mailbox::mailbox;
    use super::super::waker::Waker;
    use super::*;

    const THERE: ShardId = ShardId(0);

    fn numbered(sequence: u64) -> Mail {
        let id = RequestId { connection: ConnectionId { shard: THERE, number: 0 }, sequence };
        Mail::Reply { id, reply: Reply::Nothing { throttle: Duration::ZERO } }
    }

    #[test]
    fn a_full_mailbox_keeps_no_sender_waiting_and_loses_and_reorders_nothing() {
        let (mailbox, mut inbox) = mailbox(Arc::new(Waker::new().expect("an eventfd")), 4);
        let mut outbox = Outbox::new([mailbox]);
        for n in 0..10 {
            outbox.send(THERE, numbered(n));
        }
        assert!(outbox.is_congested());
        assert!(inbox.was_full());

        let mut seen = Vec::new();
        while let Some(Mail::Reply { id, .. }) = inbox.mail() {
            seen.push(id.sequence);
            if seen.len() % 3 == 0 {
                outbox.retry();
            }
        }
        outbox.retry();
        while let Some(Mail::Reply { id, .. }) = inbox.mail() {
            seen.push(id.sequence);
        }
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
        assert!(!outbox.is_congested());
    }
}
