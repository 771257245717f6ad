//! The mechanisms of SASL that are spoken.

/// A way to say who one is (RFC 4422).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mechanism {
    /// A name and a password, as they are (RFC 4616).
    Plain,
    /// A proof that one knows the password (RFC 7677).
    ScramSha256,
    /// The same with a longer hash.
    ScramSha512,
    /// A token that others have signed (RFC 7628).
    OauthBearer,
    /// A ticket of Kerberos (RFC 4752).
    Gssapi,
}

impl Mechanism {
    /// All that are spoken here.
    pub const ALL: [Self; 5] =
        [Self::Plain, Self::ScramSha256, Self::ScramSha512, Self::OauthBearer, Self::Gssapi];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
            Self::OauthBearer => "OAUTHBEARER",
            Self::Gssapi => "GSSAPI",
        }
    }

    /// The one that clients call so, in capitals.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }

    pub(super) const fn login_module(self) -> &'static str {
        match self {
            Self::Plain => "org.apache.kafka.common.security.plain.PlainLoginModule",
            Self::ScramSha256 | Self::ScramSha512 => {
                "org.apache.kafka.common.security.scram.ScramLoginModule"
            }
            Self::OauthBearer => "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
            Self::Gssapi => "com.sun.security.auth.module.Krb5LoginModule",
        }
    }
}
