//! JKS, Java's own format of stores: certificates and keys, each under a name. The whole is signed
//! with the store's password, and each key is under a password of its own
//! (`sun.security.provider.JavaKeyStore`, `KeyProtector`).

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY as SHA1, SHA1_OUTPUT_LEN};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::der::{Der, OCTETS, SEQUENCE};
use super::store::{Entries, KeyEntry, StoreError};

pub(super) const MAGIC: [u8; 4] = [0xfe, 0xed, 0xfe, 0xed];

/// What the signature begins with besides the password.
const WHITENER: &[u8] = b"Mighty Aphrodite";

const PRIVATE_KEY: u32 = 1;
const CERTIFICATE: u32 = 2;

/// Reads a store. Without a password its certificates are taken as they are, and keys are not.
pub(super) fn read(
    bytes: &[u8],
    password: Option<&str>,
    key_password: Option<&str>,
) -> Result<Entries, StoreError> {
    let body_end = bytes.len().checked_sub(SHA1_OUTPUT_LEN).ok_or(StoreError::Broken("JKS"))?;
    let (body, signature) = bytes.split_at(body_end);
    if let Some(password) = password {
        let mut hash = Context::new(&SHA1);
        hash.update(&in_utf16(password));
        hash.update(WHITENER);
        hash.update(body);
        if !bool::from(hash.finish().as_ref().ct_eq(signature)) {
            return Err(StoreError::Password);
        }
    }
    let mut reader = Reader { rest: body };
    if reader.take(4)? != MAGIC {
        return Err(StoreError::Broken("JKS"));
    }
    let version = reader.number()?;
    if !(1..=2).contains(&version) {
        return Err(StoreError::Broken("JKS"));
    }
    let mut entries = Entries::default();
    for _ in 0..reader.number()? {
        let kind = reader.number()?;
        reader.text()?; // its name
        reader.take(8)?; // when it was made
        match kind {
            PRIVATE_KEY => {
                let sealed = reader.sized()?;
                let count = reader.number()?;
                let chain = (0..count).map(|_| reader.certificate(version)).collect::<Result<Vec<_>, _>>()?;
                let password = key_password.or(password);
                let key = password.map(|password| unseal(sealed, password)).transpose()?;
                // The first is trusted too, as Java has it.
                entries.trusted.extend(chain.first().cloned());
                entries.keys.extend(key.map(|key| KeyEntry { key, chain }));
            }
            CERTIFICATE => entries.trusted.push(reader.certificate(version)?),
            _ => return Err(StoreError::Broken("JKS")),
        }
    }
    Ok(entries)
}

/// A key is in an `EncryptedPrivateKeyInfo`: a salt, the key under hashes of it, and a hash.
fn unseal(sealed: &[u8], password: &str) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let read = || {
        let mut info = Der::new(sealed).inside(SEQUENCE)?;
        info.expect(SEQUENCE)?; // Sun's own algorithm
        info.expect(OCTETS)
    };
    let sealed = read().map_err(|_| StoreError::Broken("JKS"))?;
    if sealed.len() < 2 * SHA1_OUTPUT_LEN {
        return Err(StoreError::Broken("JKS"));
    }
    let (salt, rest) = sealed.split_at(SHA1_OUTPUT_LEN);
    let (hidden, check) = rest.split_at(rest.len() - SHA1_OUTPUT_LEN);
    let password = in_utf16(password);
    let hash = |parts: [&[u8]; 2]| {
        let mut hash = Context::new(&SHA1);
        parts.into_iter().for_each(|part| hash.update(part));
        hash.finish()
    };
    let mut key = Zeroizing::new(Vec::with_capacity(hidden.len()));
    let mut round = hash([&password, salt]);
    for piece in hidden.chunks(SHA1_OUTPUT_LEN) {
        key.extend(piece.iter().zip(round.as_ref()).map(|(left, right)| left ^ right));
        round = hash([&password, round.as_ref()]);
    }
    if !bool::from(hash([&password, &key]).as_ref().ct_eq(check)) {
        return Err(StoreError::Password);
    }
    Ok(key)
}

fn in_utf16(text: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(text.encode_utf16().flat_map(u16::to_be_bytes).collect())
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], StoreError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(StoreError::Broken("JKS"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, StoreError> {
        let bytes = self.take(4)?.try_into().map_err(|_| StoreError::Broken("JKS"))?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn sized(&mut self) -> Result<&'a [u8], StoreError> {
        let length = usize::try_from(self.number()?).map_err(|_| StoreError::Broken("JKS"))?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a [u8], StoreError> {
        let bytes = self.take(2)?.try_into().map_err(|_| StoreError::Broken("JKS"))?;
        self.take(usize::from(u16::from_be_bytes(bytes)))
    }

    fn certificate(&mut self, version: u32) -> Result<Vec<u8>, StoreError> {
        if version == 2 && self.text()? != b"X.509" {
            return Err(StoreError::Broken("JKS"));
        }
        self.sized().map(<[u8]>::to_vec)
    }
}
