//! Sockets, reactors and the guard.
