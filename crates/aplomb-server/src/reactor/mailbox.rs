//! A shard's mailbox: what other shards, the acceptor and the disks have for it.
//!
//! What always holds: posting never waits. Mail has an end and comes back when the box is full ([`Full`]); completions always fit, since
//! a disk never has more commands under way than its queues hold. Mail of one sender arrives in the order in which it was posted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};

use aplomb_broker::message::ShardMessage;
use aplomb_broker::ports::{Reply, RequestId, ShardId};
use aplomb_disk_api::{Completion, CompletionSink};

use super::waker::Waker;
use crate::net::Accepted;

/// How much mail a box holds.
pub(crate) const CAPACITY: usize = 1024;

/// One piece of mail.
#[derive(Debug)]
pub(crate) enum Mail {
    /// A shard speaks to a shard.
    Message { from: ShardId, message: ShardMessage },
    /// A reply to a request that came in by a connection of the receiver.
    Reply { id: RequestId, reply: Reply },
    /// A connection that the receiver serves from now on.
    Connection(Box<Accepted>),
}

/// The box is full; the mail comes back so that its sender can keep it.
pub(crate) struct Full(pub(crate) Mail);

/// The side that everybody may post to.
#[derive(Debug)]
pub struct Mailbox {
    mail: SyncSender<Mail>,
    completions: Sender<Completion>,
    waker: Arc<Waker>,
    /// A sender holds mail back because the box was full.
    held_back: AtomicBool,
}

/// The side of the shard that reads it.
#[derive(Debug)]
pub(crate) struct Inbox {
    mail: Receiver<Mail>,
    completions: Receiver<Completion>,
    mailbox: Arc<Mailbox>,
    /// Taken out to see whether there is something.
    next_mail: Option<Mail>,
    next_completion: Option<Completion>,
}

/// Makes both sides of a mailbox for `capacity` pieces of mail.
pub(crate) fn mailbox(waker: Arc<Waker>, capacity: usize) -> (Arc<Mailbox>, Inbox) {
    let (post, mail) = sync_channel(capacity);
    let (complete, completions) = channel();
    let mailbox =
        Arc::new(Mailbox { mail: post, completions: complete, waker, held_back: AtomicBool::new(false) });
    let inbox =
        Inbox { mail, completions, mailbox: Arc::clone(&mailbox), next_mail: None, next_completion: None };
    (mailbox, inbox)
}

impl Mailbox {
    /// Puts `mail` into the box without waking its reader: see [`Mailbox::wake`]. Mail for a shard that has ended is dropped.
    pub(crate) fn post(&self, mail: Mail) -> Result<(), Full> {
        let Err(TrySendError::Full(mail)) = self.mail.try_send(mail) else { return Ok(()) };
        self.held_back.store(true, Ordering::SeqCst);
        // The reader may have emptied the box before it could see the flag.
        match self.mail.try_send(mail) {
            Err(TrySendError::Full(mail)) => Err(Full(mail)),
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
        }
    }

    /// Lets the reader know that there is mail.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Wakes the reader although there is no mail: it has to look at something else.
    pub(crate) fn ring(&self) {
        self.waker.ring();
    }
}

impl CompletionSink for Mailbox {
    fn complete(&self, completion: Completion) {
        // A shard that has ended has nobody left to tell.
        if self.completions.send(completion).is_ok() {
            self.waker.wake();
        }
    }
}

impl Inbox {
    /// The next piece of mail.
    pub(crate) fn mail(&mut self) -> Option<Mail> {
        self.next_mail.take().or_else(|| self.mail.try_recv().ok())
    }

    /// The next completion.
    pub(crate) fn completion(&mut self) -> Option<Completion> {
        self.next_completion.take().or_else(|| self.completions.try_recv().ok())
    }

    /// Whether there is something.
    pub(crate) fn has_some(&mut self) -> bool {
        self.next_mail = self.mail();
        self.next_completion = self.completion();
        self.next_mail.is_some() || self.next_completion.is_some()
    }

    /// Whether somebody has found the box full since this was asked last. They want to be woken now that there is room.
    pub(crate) fn was_full(&self) -> bool {
        self.mailbox.held_back.load(Ordering::Relaxed) && self.mailbox.held_back.swap(false, Ordering::SeqCst)
    }

    /// The bell of this shard.
    pub(crate) fn waker(&self) -> &Arc<Waker> {
        &self.mailbox.waker
    }
}
