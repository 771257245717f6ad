//! TLS on listeners: where keys and certificates are, and what is asked of clients.

use aplomb_security::Secret;

use super::error::ConfigError;
use super::scope::{OfListener, refused};

/// The format of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// Java's own.
    Jks,
    /// RFC 7292, which Java reads as well.
    Pkcs12,
    /// Text with blocks of base64.
    Pem,
}

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// The path of a file, looked at again and again.
    File(String),
    /// In the settings themselves, as PEM.
    Inline {
        /// Those of the broker, or those that are trusted.
        certificates: Secret,
        /// The key, in a store of keys.
        key: Option<Secret>,
    },
}

/// Where keys or certificates come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// How its bytes are to be read.
    pub kind: StoreKind,
    /// Where these bytes are.
    pub place: StorePlace,
    /// The one for the whole of it.
    pub password: Option<Secret>,
}

/// Whether clients show certificates (`ssl.client.auth`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// They are not asked.
    None,
    /// If they have one.
    Requested,
    /// Who has none does not get in.
    Required,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2.
    V12,
    /// TLS 1.3.
    V13,
}

/// TLS on a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The broker's key and certificates.
    pub keystore: StoreConfig,
    /// `ssl.key.password`
    pub key_password: Option<Secret>,
    /// The certificates that are trusted.
    pub truststore: Option<StoreConfig>,
    /// `ssl.client.auth`
    pub client_auth: ClientAuth,
    /// `ssl.enabled.protocols`
    pub versions: Vec<TlsVersion>,
    /// `ssl.cipher.suites`; none are all.
    pub suites: Vec<String>,
    /// `ssl.principal.mapping.rules`
    pub rules: String,
    /// `ssl.allow.dn.changes`: a key store that is set at run time may be another owner's.
    pub allows_other_owner: bool,
    /// `ssl.allow.san.changes`: it may lack alternative names that the one before has.
    pub allows_fewer_names: bool,
}

impl OfListener<'_> {
    /// `with_sasl`: a certificate is asked for only if this listener's own settings say so.
    pub(super) fn tls(&self, with_sasl: bool) -> Result<TlsConfig, ConfigError> {
        let keystore = self.keystore()?;
        let truststore = self.truststore()?;
        let key = "ssl.client.auth";
        let written = if with_sasl { self.own_text(key) } else { self.text(None, key).1 };
        let client_auth = match written {
            Some("required") => ClientAuth::Required,
            Some("requested") => ClientAuth::Requested,
            _ => ClientAuth::None,
        };
        if client_auth != ClientAuth::None && truststore.is_none() {
            let accepted =
                "none, unless a trust store says whose certificates count (ssl.truststore.location)";
            return Err(self.refuse(key, accepted));
        }
        Ok(TlsConfig {
            keystore,
            key_password: self.secret("ssl.key.password"),
            truststore,
            client_auth,
            versions: self.versions()?,
            suites: self.list("ssl.cipher.suites"),
            rules: self.text(None, "ssl.principal.mapping.rules").1.unwrap_or("DEFAULT").to_owned(),
            allows_other_owner: self.is_true("ssl.allow.dn.changes"),
            allows_fewer_names: self.is_true("ssl.allow.san.changes"),
        })
    }

    fn keystore(&self) -> Result<StoreConfig, ConfigError> {
        self.optional_keystore()?.ok_or_else(|| {
            self.refuse("ssl.keystore.location", "a file with the broker's key and certificate, or ssl.keystore.key and ssl.keystore.certificate.chain with ssl.keystore.type=PEM")
        })
    }

    pub(super) fn optional_keystore(&self) -> Result<Option<StoreConfig>, ConfigError> {
        let (key, chain) = (self.secret("ssl.keystore.key"), self.secret("ssl.keystore.certificate.chain"));
        let inline = match (key, chain) {
            (Some(key), Some(certificates)) => Some(StorePlace::Inline { certificates, key: Some(key) }),
            (None, None) => None,
            _ => {
                let accepted = "a value together with ssl.keystore.certificate.chain, or neither";
                return Err(refused(
                    self.text(None, "ssl.keystore.key").0,
                    "[hidden]".to_owned(),
                    accepted.to_owned(),
                ));
            }
        };
        self.store("ssl.keystore", inline)
    }

    pub(super) fn truststore(&self) -> Result<Option<StoreConfig>, ConfigError> {
        let inline = self
            .secret("ssl.truststore.certificates")
            .map(|certificates| StorePlace::Inline { certificates, key: None });
        self.store("ssl.truststore", inline)
    }

    fn store(&self, of: &str, inline: Option<StorePlace>) -> Result<Option<StoreConfig>, ConfigError> {
        let [kind, location, password] = ["type", "location", "password"].map(|part| format!("{of}.{part}"));
        let file = self.text(None, &location).1.filter(|path| !path.is_empty());
        let password_text = self.secret(&password);
        let written = self.text(None, &kind).1.unwrap_or("JKS");
        let known = match written.to_ascii_uppercase().as_str() {
            "JKS" => StoreKind::Jks,
            "PKCS12" => StoreKind::Pkcs12,
            "PEM" => StoreKind::Pem,
            _ => return Err(self.refuse(&kind, "JKS, PKCS12 or PEM")),
        };
        let place = match (file, inline) {
            (Some(_), Some(_)) => {
                return Err(self.refuse(&location, "no value, where the store is in the settings themselves"));
            }
            (Some(path), None) => StorePlace::File(path.to_owned()),
            (None, Some(_)) if known != StoreKind::Pem => {
                return Err(self.refuse(&kind, "PEM, where the store is in the settings themselves"));
            }
            (None, Some(inline)) => inline,
            (None, None) => return Ok(None),
        };
        if known == StoreKind::Pem && password_text.is_some() {
            let accepted = "no value for a store in PEM: a key under a password has ssl.key.password";
            return Err(refused(self.text(None, &password).0, "[hidden]".to_owned(), accepted.to_owned()));
        }
        let is_of_keys = of == "ssl.keystore";
        if known != StoreKind::Pem && is_of_keys && password_text.is_none() {
            return Err(self.refuse(&password, "the password of the key store"));
        }
        Ok(Some(StoreConfig { kind: known, place, password: password_text }))
    }

    pub(super) fn versions(&self) -> Result<Vec<TlsVersion>, ConfigError> {
        let key = "ssl.enabled.protocols";
        let version = |name: &String| match name.as_str() {
            "TLSv1.2" => Ok(TlsVersion::V12),
            "TLSv1.3" => Ok(TlsVersion::V13),
            _ => Err(self.refuse(key, "TLSv1.3, TLSv1.2, or both: older ones are not safe")),
        };
        let versions = self.list(key).iter().map(version).collect::<Result<Vec<_>, _>>()?;
        if versions.is_empty() { Err(self.refuse(key, "TLSv1.3, TLSv1.2, or both")) } else { Ok(versions) }
    }
}
