//! Stories of one broker on simulated disks: a state that it can be in, and what it answers there.

#[path = "../support/mod.rs"]
mod support;

mod access;
mod admin;
mod anything;
mod appends;
mod at_rest;
mod bounds;
mod cold;
mod compaction;
mod decisions;
mod desk;
mod endings;
mod epochs;
mod fetches;
mod groups;
mod in_order;
mod loading;
mod losses;
mod memory;
mod metadata_log;
mod moves;
mod quotas;
mod starts;
mod tokens;
mod topics;
mod transactions;
mod turns;
mod vanished;
mod waits;
