//! Reading a store, whatever its format is.

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
        pkcs12::read(bytes, password.unwrap_or_default())
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
        ("ENCRYPTED PRIVATE KEY", Some(password)) => pkcs8::decrypt(&key.bytes, password)?,
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
