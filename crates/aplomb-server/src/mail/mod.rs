//! Mail between threads: to a shard's loop from the other shards, the acceptor and the disks.
//!
//! What always holds: posting never waits, and mail of one sender arrives in the order in which it
//! was posted. A loop reads its [`Inbox`], others post by an [`Outbox`], and a [`Waker`] ends its
//! sleep. What is in the mail is not known here.

mod mailbox;
mod outbox;
mod waker;

pub(crate) use mailbox::{CAPACITY, Inbox, Mailbox, mailbox};
pub(crate) use outbox::Outbox;
pub(crate) use waker::Waker;
