//! The arithmetic of SCRAM.

use std::num::NonZeroU32;

use aplomb_protocol::messages::UserScramCredentialRecord;
use bytes::Bytes;
use ring::digest::{self, digest};
use ring::{hmac, pbkdf2};

/// The hash that a mechanism is named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScramHash {
    /// SCRAM-SHA-256.
    Sha256,
    /// SCRAM-SHA-512.
    Sha512,
}

/// The fewest and the most iterations that a broker accepts for a user.
pub const MIN_ITERATIONS: i32 = 4096;
/// See [`MIN_ITERATIONS`].
pub const MAX_ITERATIONS: i32 = 16384;

/// More iterations than this a client does not work through for a server: some tenths of a second.
/// Other brokers may accept more of them for a user than ours.
pub const MOST_ITERATIONS: u32 = 1 << 18;

impl ScramHash {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sha256, Self::Sha512];

    /// The number in requests and records (`ScramMechanism#type`).
    #[must_use]
    pub const fn to_wire(self) -> i8 {
        match self {
            Self::Sha256 => 1,
            Self::Sha512 => 2,
        }
    }

    /// By that number.
    #[must_use]
    pub fn from_wire(raw: i8) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| hash.to_wire() == raw)
    }

    /// The mechanism's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }

    /// The one that clients call so, in capitals.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| hash.name() == name)
    }

    /// HMAC with this hash.
    #[must_use]
    pub fn hmac(self, key: &[u8], data: &[u8]) -> Bytes {
        let algorithm = match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        };
        Bytes::copy_from_slice(hmac::sign(&hmac::Key::new(algorithm, key), data).as_ref())
    }

    /// The hash itself.
    #[must_use]
    pub fn hash(self, data: &[u8]) -> Bytes {
        let algorithm = match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        };
        Bytes::copy_from_slice(digest(algorithm, data).as_ref())
    }

    /// A password with its salt, so many times hashed: some milliseconds of work, and so nothing
    /// for a thread that carries requests.
    #[must_use]
    pub fn salt_password(self, password: &str, salt: &[u8], iterations: NonZeroU32) -> Bytes {
        let (algorithm, length) = match self {
            Self::Sha256 => (pbkdf2::PBKDF2_HMAC_SHA256, digest::SHA256_OUTPUT_LEN),
            Self::Sha512 => (pbkdf2::PBKDF2_HMAC_SHA512, digest::SHA512_OUTPUT_LEN),
        };
        let mut salted = vec![0; length];
        pbkdf2::derive(algorithm, iterations, salt, password.as_bytes(), &mut salted);
        salted.into()
    }

    /// What a salted password proves itself by. Only its hash is stored.
    #[must_use]
    pub fn client_key(self, salted: &[u8]) -> Bytes {
        self.hmac(salted, b"Client Key")
    }

    /// What a server shows by that it knows the password.
    #[must_use]
    pub fn server_key(self, salted: &[u8]) -> Bytes {
        self.hmac(salted, b"Server Key")
    }

    /// What is stored of a user's salted password.
    #[must_use]
    pub fn credential(
        self,
        name: &str,
        salt: Bytes,
        salted: &[u8],
        iterations: i32,
    ) -> UserScramCredentialRecord {
        UserScramCredentialRecord {
            name: name.to_owned(),
            mechanism: self.to_wire(),
            salt,
            stored_key: self.hash(&self.client_key(salted)),
            server_key: self.server_key(salted),
            iterations,
        }
    }
}
