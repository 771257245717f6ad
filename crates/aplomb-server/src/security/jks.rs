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

#[cfg(test)]
mod tests {
    use super::super::golden::{ALICE, BOB, MIDDLE, ROOT, is_key, stored};
    use super::*;

    fn broken(bytes: &[u8], password: Option<&str>) -> StoreError {
        read(bytes, password, None).err().expect("it cannot be read")
    }

    #[test]
    fn keys_with_their_chains_and_what_is_trusted_are_read() {
        for store in [stored("java-17.jks"), stored("java-25.jks")] {
            let entries = read(store, Some("secret"), None).expect("a store");
            let mut chains: Vec<_> = entries.keys.iter().map(|entry| entry.chain.clone()).collect();
            chains.sort_by_key(Vec::len);
            assert_eq!(chains, [vec![BOB.to_vec()], [ALICE, MIDDLE, ROOT].map(<[u8]>::to_vec).to_vec()]);
            assert!(entries.keys.iter().all(|entry| is_key(&entry.key)));
            let mut trusted = entries.trusted;
            trusted.sort();
            let mut expected = [ALICE, BOB, ROOT].map(<[u8]>::to_vec);
            expected.sort();
            assert_eq!(trusted, expected, "the first of each chain, too");
        }
    }

    #[test]
    fn without_a_password_there_are_certificates_and_no_keys() {
        let entries = read(stored("java-17.jks"), None, None).expect("a store");
        assert_eq!((entries.keys.len(), entries.trusted.len()), (0, 3));
    }

    #[test]
    fn a_key_can_have_a_password_of_its_own() {
        let store = stored("java-17-key-password.jks");
        assert_eq!(broken(store, Some("secret")), StoreError::Password);
        let wrong = read(store, Some("secret"), Some("other")).err();
        assert_eq!(wrong, Some(StoreError::Password));
        let entries = read(store, Some("secret"), Some("another")).expect("a store");
        assert_eq!((entries.keys.len(), entries.keys[0].chain.len()), (1, 3));
        let unchecked = read(store, None, Some("another")).expect("its signature is not looked at");
        assert_eq!(*unchecked.keys[0].key, *entries.keys[0].key);
    }

    #[test]
    fn a_wrong_password_and_a_flipped_bit_are_told_alike() {
        let store = stored("java-17.jks");
        assert_eq!(broken(store, Some("secres")), StoreError::Password);
        assert_eq!(broken(store, Some("")), StoreError::Password);
        for at in [4, 20, store.len() / 2, store.len() - 1] {
            let mut flipped = store.to_vec();
            flipped[at] ^= 1;
            assert_eq!(broken(&flipped, Some("secret")), StoreError::Password, "{at}");
        }
    }

    #[test]
    fn half_a_store_is_broken_wherever_it_ends() {
        let store = stored("java-17.jks");
        for end in 0..store.len() - 1 {
            // The end of what is there is taken for its signature.
            assert!(read(&store[..end], None, None).is_err(), "{end}");
            assert!(read(&store[..end], Some("secret"), None).is_err(), "{end}");
        }
    }

    #[test]
    fn counts_that_only_are_said_cost_nothing() {
        let said = |entries: u32, kind: u32, tail: &[u8]| {
            let head =
                [&MAGIC[..], &2_u32.to_be_bytes(), &entries.to_be_bytes(), &kind.to_be_bytes()].concat();
            [&head[..], &[0, 1, b'a'], &[0; 8], tail, &[0; SHA1_OUTPUT_LEN]].concat()
        };
        let chain = [&0_u32.to_be_bytes()[..], &u32::MAX.to_be_bytes()].concat();
        assert_eq!(broken(&said(u32::MAX, PRIVATE_KEY, &chain), None), StoreError::Broken("JKS"));
        let sealed = u32::MAX.to_be_bytes();
        assert_eq!(broken(&said(1, PRIVATE_KEY, &sealed), None), StoreError::Broken("JKS"));
        assert_eq!(broken(&said(1, 3, &[]), None), StoreError::Broken("JKS"));
    }
}
