//! What every disk promises: one suite, run on the simulated and the real.
