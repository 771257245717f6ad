//! Why a token does not count.

/// What is wrong with a token. It goes to the log and not to the client, and quotes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// A signed token has three parts, none of them empty.
    #[error("it has not the three parts of a token")]
    Parts,
    /// A part that cannot be decoded.
    #[error("a part of it is not base64url")]
    Base64,
    /// A part that is no object of JSON, or has a name twice.
    #[error("a part of it is not an object of JSON with each name once")]
    Json,
    /// More header than any issuer writes.
    #[error("its header is too long")]
    HeaderTooLong,
    /// No algorithm, or one that is not taken here.
    #[error("its algorithm is none that is taken here")]
    Algorithm,
    /// `alg` is none, or the signature is missing.
    #[error("it is not signed")]
    Unsigned,
    /// It is signed, where those without a signature are expected.
    #[error("it is signed, and only tokens without a signature are expected")]
    Signed,
    /// A value of the header has another type than it has to have.
    #[error("its header has a value of the wrong type")]
    Header,
    /// It asks for what is not understood.
    #[error("its header asks for an extension that is not known here (crit)")]
    Critical,
    /// The token is another token's cover.
    #[error("it has another token in it (cty)")]
    Nested,
    /// None of the issuer's keys is meant.
    #[error("none of the issuer's keys is the one that it names")]
    NoKey,
    /// The signature does not fit.
    #[error("its signature is wrong")]
    Signature,
    /// A claim is missing.
    #[error("it lacks the claim {0}")]
    Missing(&'static str),
    /// A claim has another type than it has to have, or a value that cannot be.
    #[error("its claim {0} cannot be used")]
    Claim(&'static str),
    /// It is over.
    #[error("it has expired")]
    Expired,
    /// It ends before it begins.
    #[error("it ends before it begins")]
    Backwards,
    /// It is for later.
    #[error("it does not count yet")]
    NotYet,
    /// It is for others.
    #[error("it is for another audience (sasl.oauthbearer.expected.audience)")]
    Audience,
    /// It is from others.
    #[error("it is from another issuer (sasl.oauthbearer.expected.issuer)")]
    Issuer,
    /// It may too little.
    #[error("it lacks a scope that is required")]
    Scope,
}
