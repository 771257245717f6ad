//! Compiles text as an expression that a consumer subscribes to, and matches a name with it: the
//! pattern, a zero byte, the name.

#![no_main]

use aplomb_coordinator::group::expression::Expression;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (pattern, name) = text.split_once('\0').unwrap_or((text, "orders.eu-1"));
    match Expression::compile(pattern) {
        Ok(expression) => {
            std::hint::black_box(expression.matches(name));
        }
        Err(error) => assert!(error.starts_with("SubscribedTopicRegex `")),
    }
});
