//! PKCS #12 (RFC 7292): a signed bag of bags of keys and certificates. Both what Java's keytool
//! and what openssl write, now and long ago.

use ring::digest::{self, Algorithm};
use ring::hmac;

use super::der::{Broken, Der, EXPLICIT_0, IMPLICIT_0, INTEGER, OCTETS, OID, SEQUENCE, SET};
use super::pbe::{self, Purpose};
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
pub(super) fn read(bytes: &[u8], password: &str) -> Result<Entries, StoreError> {
    let mut whole = Der::new(bytes).inside(SEQUENCE)?;
    whole.expect(INTEGER)?;
    let mut content = whole.inside(SEQUENCE)?;
    if content.expect(OID)? != DATA {
        return Err(StoreError::Cipher("a signature by a certificate"));
    }
    let safe = content.inside(EXPLICIT_0)?.expect(OCTETS)?;
    if !whole.is_empty() {
        check(whole.inside(SEQUENCE)?, password, safe)?;
    }
    let mut bags = Bags::default();
    let mut contents = Der::new(safe).inside(SEQUENCE)?;
    while !contents.is_empty() {
        let mut content = contents.inside(SEQUENCE)?;
        let name = content.expect(OID)?;
        let mut inside = content.inside(EXPLICIT_0)?;
        if name == DATA {
            bags.take(inside.expect(OCTETS)?, password)?;
        } else if name == ENCRYPTED_DATA {
            let mut data = inside.inside(SEQUENCE)?;
            data.expect(INTEGER)?;
            let mut data = data.inside(SEQUENCE)?;
            data.expect(OID)?;
            let (algorithm, sealed) = (data.inside(SEQUENCE)?, data.expect(IMPLICIT_0)?);
            bags.take(&pbe::decrypt(algorithm, password, sealed)?, password)?;
        } else {
            return Err(StoreError::Cipher("a certificate's key"));
        }
    }
    Ok(bags.into_entries())
}

/// Checks the signature, by which a wrong password shows.
fn check(mut signed: Der<'_>, password: &str, safe: &[u8]) -> Result<(), StoreError> {
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
    let iterations = pbe::checked(iterations)?;
    let key = pbe::derive_pkcs12(hash, Purpose::Signature, password, salt, iterations, hash.output_len());
    hmac::verify(&hmac::Key::new(hmac, &key), safe, signature).map_err(|_| StoreError::Password)
}

impl Bags {
    fn take(&mut self, contents: &[u8], password: &str) -> Result<(), StoreError> {
        let mut bags = Der::new(contents).inside(SEQUENCE)?;
        while !bags.is_empty() {
            let mut bag = bags.inside(SEQUENCE)?;
            let kind = bag.expect(OID)?.strip_prefix(BAGS);
            let value = bag.expect(EXPLICIT_0)?;
            let (key, trusted) = marks(bag.optional(SET)?.unwrap_or_default())?;
            match kind {
                Some([KEY_BAG]) => self.keys.push(PrivateKey { bytes: value.to_vec().into(), id: key }),
                Some([SHROUDED_KEY_BAG]) => {
                    self.keys.push(PrivateKey { bytes: pkcs8::decrypt(value, password)?, id: key })
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
        for PrivateKey { bytes: key, id } in self.keys {
            let own = self.certificates.iter().position(|one| one.key.is_some() && one.key == id);
            let own = own.or((self.certificates.len() == 1).then_some(0));
            let mut chain = Vec::new();
            let mut at = own;
            while let Some(place) = at.filter(|_| chain.len() < self.certificates.len()) {
                chain.push(self.certificates[place].bytes.clone());
                let issuer = names[place].as_ref().map(|(issuer, _)| issuer);
                let next = names.iter().enumerate().position(|(n, name)| {
                    n != place && issuer.is_some() && name.as_ref().map(|(_, subject)| subject) == issuer
                });
                let is_its_own = names[place].as_ref().is_some_and(|(issuer, subject)| issuer == subject);
                at = next.filter(|_| !is_its_own);
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
