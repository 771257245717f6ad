//! The transaction coordinator: what it answers in each state, and what always holds whatever
//! happens to its log and its clients.

mod lab;
mod simulation;
mod stories;
