//! Who may look at the metrics listener: its TLS, and the name and password that it asks for.

use std::sync::Arc;

use aplomb_security::Secret;

use super::error::ConfigError;
use super::reading::Reading;
use super::scope::{OfListener, refused};
use super::tls::TlsConfig;

/// What the names of its settings begin with.
const PREFIX: &str = "aplomb.metrics.";

/// What is asked of visitors of the metrics listener.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsAccess {
    /// `aplomb.metrics.ssl.*`, if there is a key.
    pub tls: Option<Arc<TlsConfig>>,
    /// `aplomb.metrics.user` and `aplomb.metrics.password`.
    pub login: Option<(String, Secret)>,
}

impl MetricsAccess {
    pub(super) fn read(reading: &Reading) -> Result<Self, ConfigError> {
        let of = OfListener::alone(reading, PREFIX);
        let is_meant = [
            "ssl.client.auth",
            "ssl.key.password",
            "ssl.keystore.location",
            "ssl.keystore.password",
            "ssl.keystore.type",
            "ssl.truststore.location",
            "ssl.truststore.password",
            "ssl.truststore.type",
        ]
        .into_iter()
        .any(|key| of.own_text(key).is_some());
        let tls = if is_meant { Some(Arc::new(of.tls(true)?)) } else { None };
        let (user, password) = ("aplomb.metrics.user", "aplomb.metrics.password");
        let lacks = |name: &str, other: &str| {
            refused(name.to_owned(), String::new(), format!("a value, as {other} has one"))
        };
        let login = match (reading.optional_text(user), of.secret("password")) {
            (Some(name), _) if name.contains(':') => {
                return Err(refused(user.to_owned(), name, "a name without a colon".to_owned()));
            }
            (Some(name), Some(secret)) => Some((name, secret)),
            (None, None) => None,
            (Some(_), None) => return Err(lacks(password, user)),
            (None, Some(_)) => return Err(lacks(user, password)),
        };
        Ok(Self { tls, login })
    }
}
