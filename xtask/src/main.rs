//! Chores of the workspace: `cargo xtask codegen`, `layers`, `ci`.

fn main() {}
