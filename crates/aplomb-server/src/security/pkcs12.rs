//! PKCS #12 (RFC 7292): a signed bag of bags of keys and certificates. Both what Java's keytool
//! and what openssl write, now and long ago.

use std::collections::HashMap;

use ring::digest::{self, Algorithm};
use ring::hmac;

use super::der::{Broken, Der, EXPLICIT_0, IMPLICIT_0, INTEGER, OCTETS, OID, SEQUENCE, SET};
use super::pbe::{self, Effort, Purpose};
use super::pkcs8;
use super::store::{Entries, KeyEntry, StoreError};

const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
const ENCRYPTED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06];
/// Kinds of bags, behind which their number stands.
const BAGS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01];
const X509: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01];
const LOCAL_KEY_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x15];
/// Java's mark of a certificate that is trusted.
const TRUSTED: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x86, 0xf9, 0x66, 0xad, 0xca, 0x7b, 0x01, 0x01];
const SHA1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];
/// Hashes of SHA-2, behind which their number stands.
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

/// More certificates than that no client looks at.
const LONGEST_CHAIN: usize = 16;

/// More keys than that a store has by mistake only.
const MOST_KEYS: usize = 64;

const KEY_BAG: u8 = 1;
const SHROUDED_KEY_BAG: u8 = 2;
const CERTIFICATE_BAG: u8 = 3;

/// A bag with what it is marked by.
#[derive(Default)]
struct Bags {
    keys: Vec<PrivateKey>,
    certificates: Vec<Certificate>,
}

struct PrivateKey {
    bytes: zeroize::Zeroizing<Vec<u8>>,
    id: Option<Vec<u8>>,
}

struct Certificate {
    bytes: Vec<u8>,
    key: Option<Vec<u8>>,
    trusted: bool,
}

impl From<Broken> for StoreError {
    fn from(_: Broken) -> Self {
        Self::Broken("PKCS12")
    }
}

/// Its keys, with their certificates behind them, and what it trusts.
pub(super) fn read(bytes: &[u8], password: &str, effort: &mut Effort) -> Result<Entries, StoreError> {
    let mut whole = Der::new(bytes).inside(SEQUENCE)?;
    whole.expect(INTEGER)?;
    let mut content = whole.inside(SEQUENCE)?;
    if content.expect(OID)? != DATA {
        return Err(StoreError::Cipher("a signature by a certificate"));
    }
    let safe = content.inside(EXPLICIT_0)?.expect(OCTETS)?;
    if !whole.is_empty() {
        check(whole.inside(SEQUENCE)?, password, safe, effort)?;
    }
    let mut bags = Bags::default();
    let mut contents = Der::new(safe).inside(SEQUENCE)?;
    while !contents.is_empty() {
        let mut content = contents.inside(SEQUENCE)?;
        let name = content.expect(OID)?;
        let mut inside = content.inside(EXPLICIT_0)?;
        if name == DATA {
            bags.take(inside.expect(OCTETS)?, password, effort)?;
        } else if name == ENCRYPTED_DATA {
            let mut data = inside.inside(SEQUENCE)?;
            data.expect(INTEGER)?;
            let mut data = data.inside(SEQUENCE)?;
            data.expect(OID)?;
            let (algorithm, sealed) = (data.inside(SEQUENCE)?, data.expect(IMPLICIT_0)?);
            let bare = pbe::decrypt(algorithm, password, sealed, effort)?;
            bags.take(&bare, password, effort)?;
        } else {
            return Err(StoreError::Cipher("a certificate's key"));
        }
    }
    Ok(bags.into_entries())
}

/// Checks the signature, by which a wrong password shows.
fn check(mut signed: Der<'_>, password: &str, safe: &[u8], effort: &mut Effort) -> Result<(), StoreError> {
    let mut info = signed.inside(SEQUENCE)?;
    let name = info.inside(SEQUENCE)?.expect(OID)?;
    let (signature, salt) = (info.expect(OCTETS)?, signed.expect(OCTETS)?);
    let iterations = if signed.is_empty() { 1 } else { signed.number()? };
    let (hash, hmac): (&'static Algorithm, _) = match name.strip_prefix(SHA2) {
        Some([1]) => (&digest::SHA256, hmac::HMAC_SHA256),
        Some([2]) => (&digest::SHA384, hmac::HMAC_SHA384),
        Some([3]) => (&digest::SHA512, hmac::HMAC_SHA512),
        _ if name == SHA1 => (&digest::SHA1_FOR_LEGACY_USE_ONLY, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
        _ => return Err(StoreError::Cipher("a signature by another hash than SHA-1 and SHA-2")),
    };
    let iterations = effort.spend(iterations)?;
    let key = pbe::derive_pkcs12(hash, Purpose::Signature, password, salt, iterations, hash.output_len());
    hmac::verify(&hmac::Key::new(hmac, &key), safe, signature).map_err(|_| StoreError::Password)
}

impl Bags {
    fn take(&mut self, contents: &[u8], password: &str, effort: &mut Effort) -> Result<(), StoreError> {
        let mut bags = Der::new(contents).inside(SEQUENCE)?;
        while !bags.is_empty() {
            let mut bag = bags.inside(SEQUENCE)?;
            let kind = bag.expect(OID)?.strip_prefix(BAGS);
            let value = bag.expect(EXPLICIT_0)?;
            let (key, trusted) = marks(bag.optional(SET)?.unwrap_or_default())?;
            match kind {
                Some([KEY_BAG | SHROUDED_KEY_BAG]) if self.keys.len() >= MOST_KEYS => {
                    return Err(StoreError::Lacks("a 65th private key, where 64 may be,"));
                }
                Some([KEY_BAG]) => self.keys.push(PrivateKey { bytes: value.to_vec().into(), id: key }),
                Some([SHROUDED_KEY_BAG]) => {
                    self.keys.push(PrivateKey { bytes: pkcs8::decrypt(value, password, effort)?, id: key })
                }
                Some([CERTIFICATE_BAG]) => {
                    let mut certificate = Der::new(value).inside(SEQUENCE)?;
                    if certificate.expect(OID)? == X509 {
                        let bytes = certificate.inside(EXPLICIT_0)?.expect(OCTETS)?.to_vec();
                        self.certificates.push(Certificate { bytes, key, trusted });
                    }
                }
                // Lists of revoked certificates, secrets, bags of bags.
                _ => {}
            }
        }
        Ok(())
    }

    /// Chains are put together by who signed whom, as Java does.
    fn into_entries(self) -> Entries {
        let mut entries = Entries::default();
        let names: Vec<_> =
            self.certificates.iter().map(|one| super::names::issuer_and_subject(&one.bytes)).collect();
        let mut by_subject = HashMap::new();
        for (place, name) in names.iter().enumerate() {
            if let Some((_, subject)) = name {
                by_subject.entry(subject).or_insert(place);
            }
        }
        for PrivateKey { bytes: key, id } in self.keys {
            let own = self.certificates.iter().position(|one| one.key.is_some() && one.key == id);
            let own = own.or((self.certificates.len() == 1).then_some(0));
            let mut chain = Vec::new();
            let mut at = own;
            // Two may have signed each other.
            while let Some(place) = at.filter(|_| chain.len() < LONGEST_CHAIN) {
                chain.push(self.certificates[place].bytes.clone());
                let signed_by_other = names[place].as_ref().filter(|(issuer, subject)| issuer != subject);
                at = signed_by_other.and_then(|(issuer, _)| by_subject.get(issuer).copied());
            }
            entries.trusted.extend(chain.first().cloned());
            if !chain.is_empty() {
                entries.keys.push(KeyEntry { key, chain });
            }
        }
        entries.trusted.extend(self.certificates.into_iter().filter(|one| one.trusted).map(|one| one.bytes));
        entries
    }
}

/// The key that a bag is of, and whether it is trusted.
fn marks(attributes: &[u8]) -> Result<(Option<Vec<u8>>, bool), StoreError> {
    let (mut key, mut trusted) = (None, false);
    let mut attributes = Der::new(attributes);
    while !attributes.is_empty() {
        let mut attribute = attributes.inside(SEQUENCE)?;
        let name = attribute.expect(OID)?;
        if name == LOCAL_KEY_ID {
            key = Some(attribute.inside(SET)?.expect(OCTETS)?.to_vec());
        }
        trusted |= name == TRUSTED;
    }
    Ok((key, trusted))
}

#[cfg(test)]
mod tests {
    use super::super::golden::{ALICE, BOB, MIDDLE, ROOT, is_key, key_of, stored};
    use super::super::pbe::MOST_ITERATIONS;
    use super::*;

    fn entries(name: &str) -> Entries {
        read(stored(name), "secret", &mut Effort::of(MOST_ITERATIONS)).unwrap_or_else(|error| {
            panic!("{name}: {error}");
        })
    }

    fn refused(bytes: &[u8], password: &str) -> Option<StoreError> {
        read(bytes, password, &mut Effort::of(MOST_ITERATIONS)).err()
    }

    #[test]
    fn what_openssl_writes_is_read_under_whatever_cipher() {
        for name in [
            "openssl-aes.p12",
            "openssl-3des-rc2.p12",
            "openssl-rc2-128.p12",
            "openssl-no-mac.p12",
            "openssl-open.p12",
        ] {
            let entries = entries(name);
            assert_eq!(entries.keys.len(), 1, "{name}");
            assert_eq!(*entries.keys[0].key, key_of("alice"), "{name}");
            assert_eq!(entries.keys[0].chain, [ALICE, MIDDLE, ROOT], "{name}");
            assert_eq!(entries.trusted, [ALICE], "the others have no mark of Java's: {name}");
        }
    }

    #[test]
    fn what_keytool_writes_is_read_with_several_keys_and_what_is_trusted() {
        for name in ["java-17.p12", "java-25.p12", "java-17-legacy.p12"] {
            let entries = entries(name);
            let mut chains: Vec<_> = entries.keys.iter().map(|entry| entry.chain.clone()).collect();
            chains.sort_by_key(Vec::len);
            let whole = [ALICE, MIDDLE, ROOT].map(<[u8]>::to_vec).to_vec();
            assert_eq!(chains.last(), Some(&whole), "{name}");
            // Its root is in the store, and so it is in the chain.
            assert_eq!(chains[0], [BOB, ROOT], "{name}");
            assert!(entries.keys.iter().all(|entry| is_key(&entry.key)), "{name}");
            let mut trusted = entries.trusted;
            trusted.sort();
            let mut expected = [ALICE, BOB, ROOT].map(<[u8]>::to_vec);
            expected.sort();
            assert_eq!(trusted, expected, "{name}");
        }
    }

    #[test]
    fn certificates_without_javas_mark_are_not_trusted() {
        let entries = entries("openssl-certificates.p12");
        assert_eq!((entries.keys.len(), entries.trusted.len()), (0, 0));
    }

    #[test]
    fn a_wrong_password_is_told_with_a_signature_and_without_one() {
        for name in ["openssl-aes.p12", "openssl-3des-rc2.p12", "openssl-open.p12", "java-17.p12"] {
            for password in ["secre", "Secret", ""] {
                assert_eq!(refused(stored(name), password), Some(StoreError::Password), "{name}");
            }
        }
        for password in ["secre", "Secret", ""] {
            // What comes of it may look like padding, and then is no PKCS #12 within.
            let error = refused(stored("openssl-no-mac.p12"), password);
            assert!(matches!(error, Some(StoreError::Password | StoreError::Broken(_))), "{error:?}");
        }
    }

    #[test]
    fn half_a_store_is_broken_wherever_it_ends() {
        for name in ["openssl-aes.p12", "openssl-no-mac.p12"] {
            let store = stored(name);
            for end in (0..store.len()).step_by(7) {
                assert_eq!(refused(&store[..end], "secret"), Some(StoreError::Broken("PKCS12")), "{end}");
            }
        }
    }

    #[test]
    fn the_rounds_of_a_whole_store_are_bounded() {
        let store = stored("openssl-aes.p12");
        // A signature, a bag of certificates and a key, 2048 rounds each.
        assert!(read(store, "secret", &mut Effort::of(3 * 2048)).is_ok());
        let error = read(store, "secret", &mut Effort::of(3 * 2048 - 1)).err();
        assert!(matches!(error, Some(StoreError::Cipher(_))), "{error:?}");
    }

    #[test]
    fn who_signed_each_other_end_a_chain_and_keys_without_end_are_refused() {
        use super::super::der::wrap;
        let name = |name: &[u8]| wrap(SEQUENCE, name);
        let certificate = |issuer: &[u8], subject: &[u8]| {
            let parts =
                [wrap(INTEGER, &[1]), wrap(SEQUENCE, &[]), name(issuer), wrap(SEQUENCE, &[])].concat();
            wrap(SEQUENCE, &wrap(SEQUENCE, &[&parts[..], &name(subject)].concat()))
        };
        let bag = |kind: u8, value: &[u8], id: u8| {
            let mark = wrap(SEQUENCE, &[wrap(OID, LOCAL_KEY_ID), wrap(SET, &wrap(OCTETS, &[id]))].concat());
            let kind = wrap(OID, &[BAGS, &[kind]].concat());
            wrap(SEQUENCE, &[kind, wrap(EXPLICIT_0, value), wrap(SET, &mark)].concat())
        };
        let vouched = |issuer: &[u8], subject: &[u8], id: u8| {
            let x509 =
                [wrap(OID, X509), wrap(EXPLICIT_0, &wrap(OCTETS, &certificate(issuer, subject)))].concat();
            bag(CERTIFICATE_BAG, &wrap(SEQUENCE, &x509), id)
        };
        let store = |bags: &[Vec<u8>]| {
            let data = |content: &[u8]| {
                let content = wrap(EXPLICIT_0, &wrap(OCTETS, content));
                wrap(SEQUENCE, &[wrap(OID, DATA), content].concat())
            };
            let safe = wrap(SEQUENCE, &data(&wrap(SEQUENCE, &bags.concat())));
            wrap(SEQUENCE, &[wrap(INTEGER, &[3]), data(&safe)].concat())
        };
        let key = bag(KEY_BAG, b"key", 1);
        let each_other = store(&[key.clone(), vouched(b"b", b"a", 1), vouched(b"a", b"b", 2)]);
        let entries = read(&each_other, "", &mut Effort::of(0)).expect("a store");
        assert_eq!(entries.keys[0].chain.len(), LONGEST_CHAIN);
        let entries = read(&store(&[key.clone(), vouched(b"a", b"a", 1)]), "", &mut Effort::of(0));
        assert_eq!(entries.expect("a store").keys[0].chain.len(), 1);
        let many = store(&vec![key; MOST_KEYS + 1]);
        assert!(matches!(refused(&many, ""), Some(StoreError::Lacks(_))));
    }
}
