//! A deterministic disk that freezes, tears and forgets, by seed.
