//! Reads bytes as `ssl.principal.mapping.rules` and a certificate, whose owner the rules name. The
//! first byte is the length of the rules; without a certificate the rest is a name as it is.

#![no_main]
#![expect(dead_code, reason = "stores are another program's")]

use libfuzzer_sys::fuzz_target;

/// The readers, which only their own crate can call: their files are compiled once more.
#[path = "../../crates/aplomb-server/src/security"]
mod security {
    mod der;
    mod names;

    pub(crate) use names::PrincipalRules;

    pub(crate) fn distinguished_name(certificate: &[u8]) -> Option<String> {
        names::distinguished_name(certificate)
    }
}

use security::{PrincipalRules, distinguished_name};

fuzz_target!(|data: &[u8]| {
    let Some((&length, rest)) = data.split_first() else { return };
    let (rules, certificate) = rest.split_at(usize::from(length).min(rest.len()));
    let name = distinguished_name(certificate);
    if let Some(name) = &name {
        assert!(name.len() <= 8 * certificate.len() + 64, "a name is not much longer than it was written");
        assert!(!name.starts_with(' '), "blanks at the edges are escaped");
    }
    let name = name.unwrap_or_else(|| String::from_utf8_lossy(certificate).into_owned());
    assert_eq!(PrincipalRules::parse("DEFAULT").expect("the usual one").apply(&name), Some(name.clone()));
    let Ok(rules) = std::str::from_utf8(rules) else { return };
    let Ok(rules) = PrincipalRules::parse(rules) else { return };
    std::hint::black_box(rules.apply(&name));
});
