//! A shard's mailbox: two queues, one for mail and one for what disks have completed.
//!
//! What always holds: mail has an end and comes back when the box is full ([`Full`]); completions
//! always fit, since a disk never has more commands under way than its queues hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};

use aplomb_disk_api::{Completion, CompletionSink};

use super::waker::Waker;

/// How many pieces of mail a shard's box holds.
pub(crate) const CAPACITY: usize = 1024;

/// The box is full; the mail comes back so that its sender can keep it.
pub(super) struct Full<M>(pub(super) M);

/// The side that every thread may post to.
#[derive(Debug)]
pub(crate) struct Mailbox<M> {
    mail: SyncSender<M>,
    completions: Sender<Completion>,
    waker: Arc<Waker>,
    /// A sender holds mail back because the box was full.
    held_back: AtomicBool,
}

/// The side of the shard that reads it.
#[derive(Debug)]
pub(crate) struct Inbox<M> {
    mail: Receiver<M>,
    completions: Receiver<Completion>,
    mailbox: Arc<Mailbox<M>>,
    /// Taken out to see whether there is something.
    next_mail: Option<M>,
    next_completion: Option<Completion>,
}

/// Both sides of a mailbox for `capacity` pieces of mail.
pub(crate) fn mailbox<M>(waker: Arc<Waker>, capacity: usize) -> (Arc<Mailbox<M>>, Inbox<M>) {
    let (post, mail) = sync_channel(capacity);
    let (complete, completions) = channel();
    let mailbox =
        Arc::new(Mailbox { mail: post, completions: complete, waker, held_back: AtomicBool::new(false) });
    let inbox =
        Inbox { mail, completions, mailbox: Arc::clone(&mailbox), next_mail: None, next_completion: None };
    (mailbox, inbox)
}

impl<M> Mailbox<M> {
    /// Puts `mail` into the box without waking its reader: see [`Mailbox::wake`]. Mail for a shard
    /// that has ended is dropped.
    pub(super) fn post(&self, mail: M) -> Result<(), Full<M>> {
        let Err(TrySendError::Full(mail)) = self.mail.try_send(mail) else { return Ok(()) };
        self.held_back.store(true, Ordering::SeqCst);
        // The reader may have emptied the box before it could see the flag.
        match self.mail.try_send(mail) {
            Err(TrySendError::Full(mail)) => Err(Full(mail)),
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
        }
    }

    /// Posts what may be lost, from a thread that has no outbox: if the box is full, it is.
    pub(crate) fn offer(&self, mail: M) {
        if self.mail.try_send(mail).is_ok() {
            self.waker.wake();
        }
    }

    /// Lets the reader know that there is mail.
    pub(super) fn wake(&self) {
        self.waker.wake();
    }

    /// Wakes the reader although there is no mail: it has to look at something else.
    pub(crate) fn ring(&self) {
        self.waker.ring();
    }
}

impl<M: Send> CompletionSink for Mailbox<M> {
    fn complete(&self, completion: Completion) {
        // A shard that has ended takes no more.
        if self.completions.send(completion).is_ok() {
            self.waker.wake();
        }
    }
}

impl<M> Inbox<M> {
    /// The next piece of mail.
    pub(crate) fn mail(&mut self) -> Option<M> {
        self.next_mail.take().or_else(|| self.mail.try_recv().ok())
    }

    /// The next completion.
    pub(crate) fn completion(&mut self) -> Option<Completion> {
        self.next_completion.take().or_else(|| self.completions.try_recv().ok())
    }

    /// Whether anything is there.
    pub(crate) fn has_some(&mut self) -> bool {
        self.next_mail = self.mail();
        self.next_completion = self.completion();
        self.next_mail.is_some() || self.next_completion.is_some()
    }

    /// Whether a sender has found the box full since this was asked last. It is to be woken when
    /// there is room.
    pub(crate) fn was_full(&self) -> bool {
        self.mailbox.held_back.load(Ordering::Relaxed) && self.mailbox.held_back.swap(false, Ordering::SeqCst)
    }

    /// What wakes the reader.
    pub(crate) fn waker(&self) -> &Arc<Waker> {
        &self.mailbox.waker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_to_a_full_box_is_lost_and_what_is_posted_comes_back() {
        let (mailbox, mut inbox) = mailbox(Arc::new(Waker::new().expect("an eventfd")), 1);
        mailbox.offer(1);
        mailbox.offer(2);
        assert_eq!((inbox.mail(), inbox.mail(), inbox.was_full()), (Some(1), None, false));
        mailbox.offer(3);
        assert!(matches!(mailbox.post(4), Err(Full(4))));
        assert_eq!((inbox.mail(), inbox.was_full()), (Some(3), true));
    }
}
