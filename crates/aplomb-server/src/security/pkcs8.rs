//! PKCS #8: a private key under a password, as PEM files and PKCS #12 have it.

use zeroize::Zeroizing;

use super::der::{Der, OCTETS, SEQUENCE};
use super::pbe;
use super::store::StoreError;

/// The key in an `EncryptedPrivateKeyInfo`.
pub(super) fn decrypt(info: &[u8], password: &str) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let read = || {
        let mut info = Der::new(info).inside(SEQUENCE)?;
        Ok((info.inside(SEQUENCE)?, info.expect(OCTETS)?))
    };
    let (algorithm, sealed) = read().map_err(|_: super::der::Broken| StoreError::Broken("PKCS #8"))?;
    let key = pbe::decrypt(algorithm, password, sealed)?;
    // A wrong password may leave what looks like padding.
    Der::new(&key).inside(SEQUENCE).map_err(|_| StoreError::Password)?;
    Ok(key)
}
