//! Stories of record batches: what Java wrote, what is made of arbitrary bytes, what a leader
//! takes.

mod describe;
mod golden;
mod property;
mod validate;
