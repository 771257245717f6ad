//! Reproduces disk-stall incidents; simulates brokers by seed.
