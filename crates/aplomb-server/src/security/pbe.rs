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

/// More would keep a start waiting for minutes.
const MOST_ITERATIONS: u32 = 10_000_000;

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
) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let mut algorithm = algorithm;
    let broken = |_: Broken| StoreError::Broken("PKCS #8");
    let name = algorithm.expect(OID).map_err(broken)?;
    let parameters = algorithm.inside(SEQUENCE).map_err(broken)?;
    if name == PBES2 {
        return decrypt_pbes2(parameters, password, sealed);
    }
    let (mut parameters, scheme) = (parameters, name.strip_prefix(PKCS12_SCHEMES));
    let salt = parameters.expect(OCTETS).map_err(broken)?;
    let iterations = checked(parameters.number().map_err(broken)?)?;
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
) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let broken = |_: Broken| StoreError::Broken("PKCS #8");
    let mut derivation = parameters.inside(SEQUENCE).map_err(broken)?;
    let mut cipher = parameters.inside(SEQUENCE).map_err(broken)?;
    if derivation.expect(OID).map_err(broken)? != PBKDF2 {
        return Err(StoreError::Cipher("a key that is not derived by PBKDF2"));
    }
    let mut derivation = derivation.inside(SEQUENCE).map_err(broken)?;
    let salt = derivation.expect(OCTETS).map_err(broken)?;
    let iterations = checked(derivation.number().map_err(broken)?)?;
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

pub(super) fn checked(iterations: u32) -> Result<NonZeroU32, StoreError> {
    let count = NonZeroU32::new(iterations).filter(|_| iterations <= MOST_ITERATIONS);
    count.ok_or(StoreError::Cipher("more than 10 million iterations, or none"))
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
