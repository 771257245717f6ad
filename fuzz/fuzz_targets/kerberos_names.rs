//! Reads bytes as rules for Kerberos principals, one a line, and applies them to a principal; and
//! as what a client says last in an exchange of GSSAPI. The first byte is the length of the rules.

#![no_main]

use aplomb_broker::sasl::gssapi::chosen_layer;
use libfuzzer_sys::fuzz_target;

/// The reader, which only its own crate can call here: its file is compiled once more.
#[path = "../../crates/aplomb-server/src/security"]
mod security {
    mod local_names;

    pub(crate) use local_names::LocalNames;
}

use security::LocalNames;

fuzz_target!(|data: &[u8]| {
    if chosen_layer(data).is_ok() {
        assert!(data.len() >= 4 && data[0] & 1 == 1, "no layer is chosen by a bit of its own");
    }
    let Some((&length, rest)) = data.split_first() else { return };
    let (rules, principal) = rest.split_at(usize::from(length).min(rest.len()));
    let (Ok(rules), Ok(principal)) = (std::str::from_utf8(rules), std::str::from_utf8(principal)) else {
        return;
    };
    let rules: Vec<String> = rules.lines().map(str::to_owned).collect();
    let Ok(names) = LocalNames::parse(&rules, "HERE") else { return };
    let Ok(short) = names.short_name(principal) else { return };
    if principal.contains('@') {
        assert!(!short.contains(['@', '/']), "{principal} is {short:?}: it could be another's");
        assert!(!principal.contains('\\') && principal.matches(['@', '/']).count() <= 2);
    } else {
        assert_eq!(short, principal, "what has no realm is a short name");
    }
});
