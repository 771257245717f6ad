//! The command line, and the place where everything is wired.

fn main() {}
