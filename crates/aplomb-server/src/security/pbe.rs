//! Encryption by a password: PBES2 (RFC 8018), and the older schemes of PKCS #12 (RFC 7292).

use std::num::NonZeroU32;

use aes::{Aes128, Aes192, Aes256};
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockDecryptMut as _, InnerIvInit as _};
use des::TdesEde3;
use rc2::Rc2;
use ring::digest::{self, Algorithm, digest};
use ring::pbkdf2;
use zeroize::Zeroizing;

use super::der::{Broken, Der, INTEGER, OCTETS, OID, SEQUENCE};
use super::store::StoreError;

/// As many rounds of hashing as a whole store may take: more would keep a start waiting for
/// minutes.
pub(super) const MOST_ITERATIONS: u32 = 10_000_000;

/// The rounds that are left to a store, however many keys and bags it deals them out to.
pub(super) struct Effort {
    left: u32,
}

impl Effort {
    pub(super) const fn of(rounds: u32) -> Self {
        Self { left: rounds }
    }

    /// Takes so many rounds of those that are left.
    pub(super) fn spend(&mut self, iterations: u32) -> Result<NonZeroU32, StoreError> {
        let count = NonZeroU32::new(iterations);
        self.left = self.left.checked_sub(iterations).ok_or(TOO_MUCH)?;
        count.ok_or(TOO_MUCH)
    }
}

const TOO_MUCH: StoreError = StoreError::Cipher("more than 10 million iterations, or none");

const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
/// The schemes of PKCS #12, behind which their number stands.
const PKCS12_SCHEMES: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01];
/// Hashes with a key, the same.
const HMACS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02];
const DES_EDE3: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x03, 0x07];
/// AES, the same.
const AES: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01];

/// What a key is derived for.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Key = 1,
    Vector = 2,
    Signature = 3,
}

/// The text that was encrypted. `algorithm` is the inside of an `AlgorithmIdentifier`.
pub(super) fn decrypt(
    algorithm: Der<'_>,
    password: &str,
    sealed: &[u8],
    effort: &mut Effort,
) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let mut algorithm = algorithm;
    let broken = |_: Broken| StoreError::Broken("PKCS #8");
    let name = algorithm.expect(OID).map_err(broken)?;
    let parameters = algorithm.inside(SEQUENCE).map_err(broken)?;
    if name == PBES2 {
        return decrypt_pbes2(parameters, password, sealed, effort);
    }
    let (mut parameters, scheme) = (parameters, name.strip_prefix(PKCS12_SCHEMES));
    let salt = parameters.expect(OCTETS).map_err(broken)?;
    let iterations = effort.spend(parameters.number().map_err(broken)?)?;
    let derive = |purpose: Purpose, length: usize| {
        derive_pkcs12(&digest::SHA1_FOR_LEGACY_USE_ONLY, purpose, password, salt, iterations, length)
    };
    let vector = derive(Purpose::Vector, 8);
    match scheme {
        Some([3]) => unseal::<TdesEde3>(&derive(Purpose::Key, 24), &vector, sealed),
        Some([5]) => unseal::<Rc2>(&derive(Purpose::Key, 16), &vector, sealed),
        Some([6]) => {
            // 40 bits: the key's length says so to the cipher.
            unseal::<Rc2>(&derive(Purpose::Key, 5), &vector, sealed)
        }
        _ => Err(StoreError::Cipher("neither PBES2 nor 3DES or RC2 of PKCS #12")),
    }
}

fn decrypt_pbes2(
    mut parameters: Der<'_>,
    password: &str,
    sealed: &[u8],
    effort: &mut Effort,
) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let broken = |_: Broken| StoreError::Broken("PKCS #8");
    let mut derivation = parameters.inside(SEQUENCE).map_err(broken)?;
    let mut cipher = parameters.inside(SEQUENCE).map_err(broken)?;
    if derivation.expect(OID).map_err(broken)? != PBKDF2 {
        return Err(StoreError::Cipher("a key that is not derived by PBKDF2"));
    }
    let mut derivation = derivation.inside(SEQUENCE).map_err(broken)?;
    let salt = derivation.expect(OCTETS).map_err(broken)?;
    let iterations = effort.spend(derivation.number().map_err(broken)?)?;
    derivation.optional(INTEGER).map_err(broken)?;
    let hash = match derivation.optional(SEQUENCE).map_err(broken)? {
        None => None,
        Some(hash) => Some(Der::new(hash).expect(OID).map_err(broken)?),
    };
    let hash = match hash.map(|hash| hash.strip_prefix(HMACS)) {
        None | Some(Some([7])) => pbkdf2::PBKDF2_HMAC_SHA1,
        Some(Some([9])) => pbkdf2::PBKDF2_HMAC_SHA256,
        Some(Some([10])) => pbkdf2::PBKDF2_HMAC_SHA384,
        Some(Some([11])) => pbkdf2::PBKDF2_HMAC_SHA512,
        _ => return Err(StoreError::Cipher("PBKDF2 with a hash other than SHA-1 and SHA-2")),
    };
    let name = cipher.expect(OID).map_err(broken)?;
    let vector = cipher.expect(OCTETS).map_err(broken)?;
    let derive = |length: usize| {
        let mut key = Zeroizing::new(vec![0; length]);
        pbkdf2::derive(hash, iterations, salt, password.as_bytes(), &mut key);
        key
    };
    match name.strip_prefix(AES) {
        Some([2]) => unseal::<Aes128>(&derive(16), vector, sealed),
        Some([22]) => unseal::<Aes192>(&derive(24), vector, sealed),
        Some([42]) => unseal::<Aes256>(&derive(32), vector, sealed),
        _ if name == DES_EDE3 => unseal::<TdesEde3>(&derive(24), vector, sealed),
        _ => Err(StoreError::Cipher("neither AES nor 3DES in CBC mode")),
    }
}

fn unseal<C>(key: &[u8], vector: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, StoreError>
where
    C: cbc::cipher::BlockDecryptMut + cbc::cipher::BlockCipher + cbc::cipher::KeyInit,
{
    let cipher = C::new_from_slice(key).map_err(|_| StoreError::Broken("PKCS #8"))?;
    let decryptor = cbc::Decryptor::<C>::inner_iv_slice_init(cipher, vector)
        .map_err(|_| StoreError::Broken("PKCS #8"))?;
    let mut text = Zeroizing::new(sealed.to_vec());
    let length = decryptor.decrypt_padded_mut::<Pkcs7>(&mut text).map_err(|_| StoreError::Password)?.len();
    text.truncate(length);
    Ok(text)
}

/// The derivation of PKCS #12 (RFC 7292, appendix B.2).
pub(super) fn derive_pkcs12(
    algorithm: &'static Algorithm,
    purpose: Purpose,
    password: &str,
    salt: &[u8],
    iterations: NonZeroU32,
    length: usize,
) -> Zeroizing<Vec<u8>> {
    let block = algorithm.block_len();
    let filled = |bytes: &[u8]| -> Vec<u8> {
        bytes.iter().copied().cycle().take(bytes.len().div_ceil(block) * block).collect()
    };
    let password: Zeroizing<Vec<u8>> =
        Zeroizing::new(password.encode_utf16().chain([0]).flat_map(u16::to_be_bytes).collect());
    let mut input = Zeroizing::new([filled(salt), filled(&password)].concat());
    let mut derived = Zeroizing::new(Vec::new());
    while derived.len() < length {
        let mut round = digest(algorithm, &[&vec![purpose as u8; block], &input[..]].concat());
        for _ in 1..iterations.get() {
            round = digest(algorithm, round.as_ref());
        }
        derived.extend_from_slice(round.as_ref());
        let more = filled(round.as_ref());
        for piece in input.chunks_mut(block) {
            let mut carry = 1_u16;
            for (byte, add) in piece.iter_mut().zip(&more[..block]).rev() {
                carry += u16::from(*byte) + u16::from(*add);
                *byte = carry.to_be_bytes()[1];
                carry >>= 8;
            }
        }
    }
    derived.truncate(length);
    derived
}

#[cfg(test)]
mod tests {
    use super::super::der::wrap;
    use super::*;

    fn derived(purpose: Purpose, password: &str, salt: &[u8], rounds: u32, length: usize) -> Vec<u8> {
        let rounds = NonZeroU32::new(rounds).expect("not zero");
        derive_pkcs12(&digest::SHA1_FOR_LEGACY_USE_ONLY, purpose, password, salt, rounds, length).to_vec()
    }

    #[test]
    fn keys_are_derived_as_by_openssl() {
        // openssl kdf -kdfopt digest:SHA1 -kdfopt hexpass:0073006d006500670000
        //   -kdfopt hexsalt:0a58cf64530d823f -kdfopt iter:1 -kdfopt id:1 -keylen 24 PKCS12KDF
        let salt = [0x0a, 0x58, 0xcf, 0x64, 0x53, 0x0d, 0x82, 0x3f];
        let key = derived(Purpose::Key, "smeg", &salt, 1, 24);
        assert_eq!(
            key,
            [
                0x8a, 0xaa, 0xe6, 0x29, 0x7b, 0x6c, 0xb0, 0x46, 0x42, 0xab, 0x5b, 0x07, 0x78, 0x51, 0x28,
                0x4e, 0xb7, 0x12, 0x8f, 0x1a, 0x2a, 0x7f, 0xbc, 0xa3
            ]
        );
        let vector = derived(Purpose::Vector, "smeg", &salt, 1, 8);
        assert_eq!(vector, [0x79, 0x99, 0x3d, 0xfe, 0x04, 0x8d, 0x3b, 0x76]);
    }

    #[test]
    fn no_salt_no_password_and_more_than_one_block_are_as_good() {
        assert_eq!(derived(Purpose::Key, "", &[], 2, 20)[..], derived(Purpose::Key, "", &[], 2, 50)[..20]);
    }

    #[test]
    fn effort_is_spent_once() {
        let mut effort = Effort::of(10);
        assert!(effort.spend(4).is_ok() && effort.spend(6).is_ok());
        assert!(effort.spend(1).is_err());
        assert!(Effort::of(10).spend(0).is_err());
        assert!(Effort::of(10).spend(11).is_err());
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        let scheme = |number: u8, parameters: &[u8]| {
            let name = wrap(OID, &[PKCS12_SCHEMES, &[number]].concat());
            [name, wrap(SEQUENCE, parameters)].concat()
        };
        let rounds = |rounds: &[u8]| [wrap(OCTETS, b"salt"), wrap(INTEGER, rounds)].concat();
        let outcome = |algorithm: &[u8], sealed: &[u8]| {
            decrypt(Der::new(algorithm), "secret", sealed, &mut Effort::of(MOST_ITERATIONS)).err()
        };
        assert_eq!(outcome(&scheme(3, &rounds(&[9])), &[0; 7]), Some(StoreError::Password));
        assert_eq!(outcome(&scheme(3, &[]), &[0; 8]), Some(StoreError::Broken("PKCS #8")));
        assert_eq!(outcome(&scheme(3, &rounds(&[])), &[0; 8]), Some(StoreError::Broken("PKCS #8")));
        for many in [&[0x7f, 0xff, 0xff, 0xff][..], &[0]] {
            let error = outcome(&scheme(3, &rounds(many)), &[0; 8]);
            assert!(matches!(error, Some(StoreError::Cipher(_))), "{error:?}");
        }
        // A vector that is none.
        let hashed = wrap(SEQUENCE, &[wrap(OID, PBKDF2), wrap(SEQUENCE, &rounds(&[1]))].concat());
        let cipher = wrap(SEQUENCE, &[wrap(OID, &[AES, &[42]].concat()), wrap(OCTETS, &[0; 15])].concat());
        let algorithm = [wrap(OID, PBES2), wrap(SEQUENCE, &[hashed, cipher].concat())].concat();
        assert_eq!(outcome(&algorithm, &[0; 16]), Some(StoreError::Broken("PKCS #8")));
    }
}
