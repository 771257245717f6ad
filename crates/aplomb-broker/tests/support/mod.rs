//! One broker on simulated disks and a virtual clock, driven by a test as a script.
//!
//! A [`Broker`] is started, asked by [`Client`]s, and time passes because the test says so: a
//! client that waits for an answer lets it pass, and so does [`Broker::advance`]. Nothing here
//! looks inside the broker: requests go in and answers come out as bytes, and disks are looked at
//! as an operator would, by file.
//!
//! `process` is the only file that knows how shards are begun and driven.

mod broker;
mod client;
mod files;
mod process;
mod queue;
mod requests;
mod world;

pub(crate) use broker::{Broker, Setup};
pub(crate) use client::{AsIs, Ask, Asked, Client};
pub(crate) use process::NODE;
pub(crate) use requests::*;

use std::time::Duration;

pub(crate) const MS: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);
