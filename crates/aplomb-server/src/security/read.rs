//! Reading a store, whatever its format is.

use super::pbe::{Effort, MOST_ITERATIONS};
use super::store::{Entries, KeyEntry, StoreError};
use super::{jks, pem, pkcs8, pkcs12};

/// Reads a store of Java's: JKS or PKCS #12, whichever it is, as Java does.
pub(super) fn read_java(
    bytes: &[u8],
    password: Option<&str>,
    key_password: Option<&str>,
) -> Result<Entries, StoreError> {
    if bytes.starts_with(&jks::MAGIC) {
        jks::read(bytes, password, key_password)
    } else if bytes.starts_with(&[0xce, 0xce, 0xce, 0xce]) {
        Err(StoreError::Cipher("JCEKS; keytool -importkeystore makes PKCS12 of it"))
    } else {
        pkcs12::read(bytes, password.unwrap_or_default(), &mut Effort::of(MOST_ITERATIONS))
    }
}

/// Reads a key and its certificates from PEM.
pub(super) fn read_pem_key(
    key: &[u8],
    chain: &[u8],
    key_password: Option<&str>,
) -> Result<KeyEntry, StoreError> {
    let blocks = pem::blocks(key)?;
    let key = blocks.into_iter().find(|block| block.label.ends_with("PRIVATE KEY"));
    let key = key.ok_or(StoreError::Lacks("no private key"))?;
    let key = match (key.label.as_str(), key_password) {
        ("PRIVATE KEY", None) => key.bytes,
        ("PRIVATE KEY", Some(_)) => {
            return Err(StoreError::Pem("the key is not under a password, and ssl.key.password is set"));
        }
        ("ENCRYPTED PRIVATE KEY", Some(password)) => {
            pkcs8::decrypt(&key.bytes, password, &mut Effort::of(MOST_ITERATIONS))?
        }
        ("ENCRYPTED PRIVATE KEY", None) => return Err(StoreError::Password),
        _ => {
            return Err(StoreError::Pem("the key is not in PKCS #8 (openssl pkcs8 -topk8 makes that of it)"));
        }
    };
    Ok(KeyEntry { key, chain: read_pem_certificates(chain)? })
}

/// Reads certificates from PEM; at least one.
pub(super) fn read_pem_certificates(text: &[u8]) -> Result<Vec<Vec<u8>>, StoreError> {
    let blocks = pem::blocks(text)?.into_iter().filter(|block| block.label == "CERTIFICATE");
    let found: Vec<Vec<u8>> = blocks.map(|block| block.bytes.to_vec()).collect();
    if found.is_empty() { Err(StoreError::Lacks("no certificate")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::super::golden::{ALICE, key_of, stored};
    use super::*;

    #[test]
    fn a_store_of_javas_is_read_as_what_it_is_and_not_as_what_it_is_called() {
        for name in ["java-17.jks", "java-25.p12"] {
            let entries = read_java(stored(name), Some("secret"), None).expect(name);
            assert_eq!(entries.keys.len(), 2, "{name}");
        }
        let error = read_java(stored("java-17.jceks"), Some("secret"), None).err();
        assert!(matches!(error, Some(StoreError::Cipher(_))), "{error:?}");
        for bytes in [&b""[..], b"-----BEGIN CERTIFICATE-----", &[0x30, 0x80, 0, 0]] {
            assert_eq!(read_java(bytes, None, None).err(), Some(StoreError::Broken("PKCS12")));
        }
    }

    #[test]
    fn a_key_in_pem_has_a_password_if_and_only_if_one_is_set() {
        use base64::Engine as _;
        let encode = |label: &str, bytes: &[u8]| {
            let digits = base64::engine::general_purpose::STANDARD.encode(bytes);
            format!("-----BEGIN {label}-----\n{digits}\n-----END {label}-----\n")
        };
        let chain = encode("CERTIFICATE", ALICE);
        let open = encode("PRIVATE KEY", key_of("alice"));
        let read = |key: &[u8], password| read_pem_key(key, chain.as_bytes(), password);
        let entry = read(open.as_bytes(), None).expect("a key");
        assert_eq!(*entry.key, key_of("alice"));
        assert_eq!(entry.chain, [ALICE]);
        let entry = read(stored("pbe-3des.pem"), Some("secret")).expect("a key");
        assert_eq!(*entry.key, key_of("alice"));
        assert!(matches!(read(open.as_bytes(), Some("secret")).err(), Some(StoreError::Pem(_))));
        assert_eq!(read(stored("pbe-3des.pem"), None).err(), Some(StoreError::Password));
        let old = encode("EC PRIVATE KEY", key_of("alice"));
        assert!(matches!(read(old.as_bytes(), None).err(), Some(StoreError::Pem(_))));
        assert!(matches!(read(chain.as_bytes(), None).err(), Some(StoreError::Lacks(_))));
        assert!(matches!(read_pem_key(open.as_bytes(), b"", None).err(), Some(StoreError::Lacks(_))));
    }
}
