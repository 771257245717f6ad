//! Stores for tests, made by keytool and openssl (`tests/golden/stores/make.sh`).

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Certificates: who they are of.
pub(super) const ROOT: &[u8] = include_bytes!("../../tests/golden/stores/root.der");
pub(super) const MIDDLE: &[u8] = include_bytes!("../../tests/golden/stores/middle.der");
pub(super) const ALICE: &[u8] = include_bytes!("../../tests/golden/stores/alice.der");
pub(super) const BOB: &[u8] = include_bytes!("../../tests/golden/stores/bob.der");

/// A file of those.
pub(super) fn stored(name: &str) -> &'static [u8] {
    macro_rules! files {
        ($($name:literal)*) => {
            match name {
                $($name => include_bytes!(concat!("../../tests/golden/stores/", $name)),)*
                other => panic!("there is no {other}"),
            }
        };
    }
    files!(
        "alice-key.der" "bob-key.der" "java-17-key-password.jks" "java-17-legacy.p12" "java-17.jceks" "java-17.jks"
        "java-17.p12" "java-25.jks" "java-25.p12" "openssl-3des-rc2.p12" "openssl-aes.p12"
        "openssl-certificates.p12" "openssl-no-mac.p12" "openssl-open.p12" "openssl-rc2-128.p12" "pbe-3des.pem"
        "pbe-rc2-128.pem" "pbe-rc2-40.pem" "pbe-rc4.pem" "pbes2-3des.pem" "pbes2-aes128-sha512.pem"
        "pbes2-aes192-sha1.pem" "pbes2-aes256.pem" "scrypt.pem"
    )
}

/// A private key as it is.
pub(super) fn key_of(name: &str) -> &'static [u8] {
    stored(&format!("{name}-key.der"))
}

/// Whether TLS can use it.
pub(super) fn is_key(bytes: &[u8]) -> bool {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(bytes));
    rustls::crypto::ring::sign::any_supported_type(&key).is_ok()
}
