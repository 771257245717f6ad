//! What a recording says about who waited, for what, and what to change.
//!
//! What always holds: a cause has evidence; causes are in the order of what requests waited for
//! them; where nothing was slow there is none, and where nothing explains what was,
//! [`Diagnosis::next`] says what to collect.

mod evidence;
mod finding;
mod lift;
mod rules;
mod spans;
mod stages;
#[cfg(test)]
mod story;
#[cfg(test)]
mod tests;
mod verdict;
mod weigh;

pub use verdict::{Cause, Confidence, Diagnosis, Remedy, Span};
pub use weigh::diagnose;
