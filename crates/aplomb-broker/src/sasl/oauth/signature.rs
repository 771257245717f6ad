//! The algorithms that tokens are signed with (RFC 7518), and the keys that belong to them. Those
//! with a secret on both sides are not here: who can check such a token can make one.

use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// A curve whose points are keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
}

impl Curve {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "P-256" => Some(Self::P256),
            "P-384" => Some(Self::P384),
            _ => None,
        }
    }

    /// How many bytes a coordinate has.
    pub(super) const fn width(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
        }
    }
}

/// A key, as its algorithm wants it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum PublicKey {
    /// Both without zeros in front.
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    Point {
        curve: Curve,
        /// 4, x, y.
        point: Vec<u8>,
    },
    Edwards([u8; 32]),
}

/// `kty`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyType {
    Rsa,
    Ec,
    Okp,
}

impl PublicKey {
    pub(super) const fn key_type(&self) -> KeyType {
        match self {
            Self::Rsa { .. } => KeyType::Rsa,
            Self::Point { .. } => KeyType::Ec,
            Self::Edwards(_) => KeyType::Okp,
        }
    }

    pub(super) const fn curve(&self) -> Option<Curve> {
        match self {
            Self::Point { curve, .. } => Some(*curve),
            _ => None,
        }
    }
}

/// An algorithm, `alg`.
#[derive(Clone, Copy)]
pub(super) enum Algorithm {
    Rsa(&'static RsaParameters),
    Ecdsa(Curve),
    EdDsa,
}

impl Algorithm {
    /// The one of this name, if it is taken.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let rsa = match name {
            "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
            "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
            "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
            "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
            "PS384" => &signature::RSA_PSS_2048_8192_SHA384,
            "PS512" => &signature::RSA_PSS_2048_8192_SHA512,
            "ES256" => return Some(Self::Ecdsa(Curve::P256)),
            "ES384" => return Some(Self::Ecdsa(Curve::P384)),
            "EdDSA" => return Some(Self::EdDsa),
            _ => return None,
        };
        Some(Self::Rsa(rsa))
    }

    pub(super) const fn key_type(self) -> KeyType {
        match self {
            Self::Rsa(_) => KeyType::Rsa,
            Self::Ecdsa(_) => KeyType::Ec,
            Self::EdDsa => KeyType::Okp,
        }
    }

    pub(super) const fn curve(self) -> Option<Curve> {
        match self {
            Self::Ecdsa(curve) => Some(curve),
            _ => None,
        }
    }

    /// Whether `key` has signed `message` so.
    pub(super) fn verify(self, key: &PublicKey, message: &[u8], signed: &[u8]) -> bool {
        let by = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signed).is_ok()
        };
        match (self, key) {
            (Self::Rsa(parameters), PublicKey::Rsa { modulus, exponent }) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, message, signed).is_ok()
            }
            (Self::Ecdsa(Curve::P256), PublicKey::Point { curve: Curve::P256, point }) => {
                by(&signature::ECDSA_P256_SHA256_FIXED, point)
            }
            (Self::Ecdsa(Curve::P384), PublicKey::Point { curve: Curve::P384, point }) => {
                by(&signature::ECDSA_P384_SHA384_FIXED, point)
            }
            (Self::EdDsa, PublicKey::Edwards(key)) => by(&signature::ED25519, key),
            _ => false,
        }
    }
}
