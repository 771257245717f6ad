//! Reads bytes as a store of keys and certificates. The first byte says of which kind: a store of
//! Java's with its passwords or without, PKCS #12, PEM, or a key under a password.

#![no_main]
#![expect(dead_code, reason = "what makes TLS of a store is not part of this program")]

use libfuzzer_sys::fuzz_target;

/// The readers, which only their own crate can call: their files are compiled once more.
#[path = "../../crates/aplomb-server/src/security"]
mod security {
    mod der;
    mod jks;
    mod names;
    mod pbe;
    mod pem;
    mod pkcs12;
    mod pkcs8;
    mod read;
    mod store;

    /// Work that takes a fraction of a second.
    const ROUNDS: u32 = 20_000;

    pub(crate) fn read(kind: u8, bytes: &[u8]) -> Option<(usize, usize)> {
        let password = Some("secret");
        let entries = match kind % 6 {
            0 => jks::read(bytes, password, password),
            1 => jks::read(bytes, None, None),
            // Its signature is not looked at, and its keys are.
            2 => jks::read(bytes, None, Some("another")),
            3 => pkcs12::read(bytes, "secret", &mut pbe::Effort::of(ROUNDS)),
            4 => {
                let certificates = read::read_pem_certificates(bytes);
                let key = read::read_pem_key(bytes, bytes, None);
                return Some((usize::from(key.is_ok()), certificates.map_or(0, |found| found.len())));
            }
            _ => {
                let key = pkcs8::decrypt(bytes, "secret", &mut pbe::Effort::of(ROUNDS)).ok()?;
                return Some((usize::from(!key.is_empty()), 0));
            }
        };
        let entries = entries.ok()?;
        let held: usize = entries.keys.iter().flat_map(|key| &key.chain).map(Vec::len).sum();
        assert!(held <= 64 * bytes.len(), "what is in a store is what was in the file");
        entries.trusted.iter().for_each(|certificate| drop(names::distinguished_name(certificate)));
        Some((entries.keys.len(), entries.trusted.len()))
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, bytes)) = data.split_first() else { return };
    std::hint::black_box(security::read(kind, bytes));
});
