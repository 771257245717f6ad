//! Reads text as a JAAS line. What was understood is written anew, and reads back as the same.

#![no_main]

use aplomb_broker::config::parse_jaas;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let module = match parse_jaas(text) {
        Ok(module) => module,
        Err(error) => {
            let words = error.to_string();
            assert!(words.len() < 120, "nothing of the line is in the words: {words}");
            return;
        }
    };
    let mut line = format!("{} required", quoted(&module.class));
    for (name, value) in &module.options {
        line += &format!(" {}={}", quoted(name), quoted(value));
    }
    line.push(';');
    let again = parse_jaas(&line).expect("it was just written");
    assert!(again == module, "{line}");
    let shown = format!("{module:?}");
    assert!(shown.len() <= 100 + 8 * text.len());
});

fn quoted(text: &str) -> String {
    let mut line = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => line.extend(['\\', c]),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            other => line.push(other),
        }
    }
    line + "\""
}
