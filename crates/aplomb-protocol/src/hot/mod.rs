//! Produce and Fetch by hand.
