//! What a store of keys and certificates holds, in whatever format it is.

use zeroize::Zeroizing;

/// Why a store cannot be used. Never with anything that is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The bytes are not of the format.
    #[error("it is not a {0} store, or is damaged")]
    Broken(&'static str),
    /// The password is wrong, or there is none.
    #[error("the password is wrong, or is missing")]
    Password,
    /// A cipher that is not known here.
    #[error("it is under a cipher that is not known here: {0}")]
    Cipher(&'static str),
    /// Not as PEM has to be.
    #[error("{0}")]
    Pem(&'static str),
    /// Nothing in it that could be used.
    #[error("there is {0} in it")]
    Lacks(&'static str),
}

/// A private key (PKCS #8), and the certificates that vouch for it, its own first.
#[derive(Clone)]
pub(super) struct KeyEntry {
    pub(super) key: Zeroizing<Vec<u8>>,
    pub(super) chain: Vec<Vec<u8>>,
}

/// What is in a store.
#[derive(Clone, Default)]
pub(super) struct Entries {
    pub(super) keys: Vec<KeyEntry>,
    /// Certificates that are trusted.
    pub(super) trusted: Vec<Vec<u8>>,
}
