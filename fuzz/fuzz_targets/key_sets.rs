//! Reads a set of keys, as an issuer publishes it.

#![no_main]

use aplomb_broker::sasl::oauth::KeySet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(keys) = KeySet::parse(data) {
        assert_eq!(keys.is_empty(), keys.len() == 0);
        assert!(keys.len() + keys.unused() <= 256);
    }
});
