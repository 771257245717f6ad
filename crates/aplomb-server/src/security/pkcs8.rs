//! PKCS #8: a private key under a password, as PEM files and PKCS #12 have it.

use zeroize::Zeroizing;

use super::der::{Der, OCTETS, SEQUENCE};
use super::pbe::{self, Effort};
use super::store::StoreError;

/// The key in an `EncryptedPrivateKeyInfo`.
pub(super) fn decrypt(
    info: &[u8],
    password: &str,
    effort: &mut Effort,
) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let read = || {
        let mut info = Der::new(info).inside(SEQUENCE)?;
        Ok((info.inside(SEQUENCE)?, info.expect(OCTETS)?))
    };
    let (algorithm, sealed) = read().map_err(|_: super::der::Broken| StoreError::Broken("PKCS #8"))?;
    let key = pbe::decrypt(algorithm, password, sealed, effort)?;
    // A wrong password may leave what looks like padding.
    Der::new(&key).inside(SEQUENCE).map_err(|_| StoreError::Password)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::super::golden::{key_of, stored};
    use super::super::pem;
    use super::*;

    fn sealed(name: &str) -> Zeroizing<Vec<u8>> {
        let mut blocks = pem::blocks(stored(name)).expect("PEM");
        let block = blocks.pop().expect("a block");
        assert_eq!(block.label, "ENCRYPTED PRIVATE KEY");
        block.bytes
    }

    fn opened(name: &str, password: &str, rounds: u32) -> Result<Zeroizing<Vec<u8>>, StoreError> {
        decrypt(&sealed(name), password, &mut Effort::of(rounds))
    }

    const CIPHERS: [&str; 7] = [
        "pbes2-aes256.pem",
        "pbes2-aes128-sha512.pem",
        "pbes2-aes192-sha1.pem",
        "pbes2-3des.pem",
        "pbe-3des.pem",
        "pbe-rc2-40.pem",
        "pbe-rc2-128.pem",
    ];

    #[test]
    fn keys_under_each_cipher_are_opened() {
        for name in CIPHERS {
            let key = opened(name, "secret", 2048).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(*key, key_of("alice"), "{name}");
        }
    }

    #[test]
    fn a_wrong_password_is_said_to_be_wrong() {
        for name in CIPHERS {
            for password in ["Secret", "secre", "", "geheimnis"] {
                assert_eq!(opened(name, password, 2048).err(), Some(StoreError::Password), "{name}");
            }
        }
    }

    #[test]
    fn other_ciphers_and_derivations_are_named_as_such() {
        for name in ["pbe-rc4.pem", "scrypt.pem"] {
            let error = opened(name, "secret", 1 << 20).err();
            assert!(matches!(error, Some(StoreError::Cipher(_))), "{name}: {error:?}");
        }
    }

    #[test]
    fn more_rounds_than_are_left_are_refused_before_they_are_made() {
        for name in CIPHERS {
            assert!(matches!(opened(name, "secret", 2047), Err(StoreError::Cipher(_))), "{name}");
        }
    }

    #[test]
    fn half_a_key_is_broken_wherever_it_ends() {
        let info = sealed("pbes2-aes256.pem");
        for end in 0..info.len() {
            let error = decrypt(&info[..end], "secret", &mut Effort::of(2048)).err();
            assert_eq!(error, Some(StoreError::Broken("PKCS #8")), "{end}");
        }
    }
}
