//! Decisions: everything a request can ask for.
