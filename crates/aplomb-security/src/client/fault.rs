//! What is wrong with a server's TLS, in words that say what to change.

use rustls::{AlertDescription, CertificateError, Error};

/// Why there is no connection in TLS.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TlsFault {
    /// What the server says or shows, or says of us.
    #[error("{}", sentence(.0))]
    Tls(#[from] Error),
    /// The address has a name that no certificate can have.
    #[error("{0:?} is no name that could be in a certificate")]
    Name(String),
    /// Records without end, and nothing in them.
    #[error("it sends TLS without a byte of text in it")]
    NoText,
}

fn sentence(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(fault) => certificate(fault),
        Error::InvalidMessage(_) => "what it says is not TLS".to_owned(),
        Error::PeerIncompatible(why) => {
            format!("it speaks no version of TLS, or no cipher suite, that is spoken here ({why:?})")
        }
        Error::AlertReceived(AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure) => {
            "it speaks no version of TLS, or no cipher suite, that is spoken here, or wants a certificate (ssl.keystore.location)".to_owned()
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "it wants a certificate (ssl.keystore.location), and was shown none".to_owned()
        }
        Error::AlertReceived(
            alert @ (AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::UnknownCA),
        ) => format!("it does not take our certificate (ssl.keystore.location): {alert:?}"),
        other => other.to_string(),
    }
}

fn certificate(fault: &CertificateError) -> String {
    match fault {
        CertificateError::NotValidForName => "its certificate is for another host".to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => {
            format!("its certificate is not for {}, but for {}", expected.to_str(), names(presented))
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".to_owned()
        }
        CertificateError::UnknownIssuer => {
            "its certificate is not signed by an authority that is trusted (ssl.truststore.location)"
                .to_owned()
        }
        other => format!("its certificate cannot be used: {other}"),
    }
}

/// A few of them: a certificate may have very many.
fn names(presented: &[String]) -> String {
    match presented {
        [] => "no host".to_owned(),
        few => few.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}
