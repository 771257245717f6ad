//! TLS as a client: whose certificates a server may have, and which are shown to it.

use std::sync::Arc;

use aplomb_broker::config::{StoreKind, TlsVersion};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use zeroize::Zeroizing;

use super::read;
use super::store::StoreError;
use super::tls::{Material, Resolver, TlsError, keys, provider, version_of};

/// All of a client's.
#[derive(Clone, Debug)]
pub struct ClientTlsSettings {
    /// The certificates that are trusted.
    pub truststore: Material,
    /// The client's key and certificates, if it shows any.
    pub keystore: Option<Material>,
    /// The key's password, if it is another.
    pub key_password: Option<Zeroizing<String>>,
    /// Whether a server's certificate has to have its name.
    pub checks_host: bool,
    /// Those of TLS that are spoken.
    pub versions: Vec<TlsVersion>,
    /// The cipher suites, by their names; none are all.
    pub suites: Vec<String>,
}

/// What a client of TLS needs that shows no certificate. Certificates of `trust` that cannot be
/// used are passed over: stores of a whole system have some of the kind.
///
/// # Errors
/// With a sentence, when nothing in it can be trusted.
pub fn client_config(trust: &Material) -> Result<Arc<ClientConfig>, TlsError> {
    let (truststore, versions) = (trust.clone(), vec![TlsVersion::V12, TlsVersion::V13]);
    let (keystore, key_password, suites) = (None, None, Vec::new());
    client_tls(&ClientTlsSettings { truststore, keystore, key_password, checks_host: true, versions, suites })
}

/// The same from all settings.
///
/// # Errors
/// With a sentence, when they cannot be used.
pub fn client_tls(settings: &ClientTlsSettings) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(provider(&settings.suites)?);
    let versions: Vec<_> = settings.versions.iter().map(|version| version_of(*version)).collect();
    let roots = Arc::new(roots(&settings.truststore)?);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
    let verifier = verifier.build().map_err(|error| TlsError::Anchors(error.to_string()))?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(|error| TlsError::Anchors(error.to_string()))?;
    let builder = if settings.checks_host {
        builder.with_webpki_verifier(verifier)
    } else {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyHost(verifier)))
    };
    Ok(Arc::new(match &settings.keystore {
        None => builder.with_no_client_auth(),
        Some(keystore) => {
            let key_password = settings.key_password.as_ref().map(|password| password.as_str());
            let keys = keys(keystore, key_password).map_err(TlsError::Keys)?;
            builder.with_client_cert_resolver(Arc::new(Resolver::new(keys, &provider)?))
        }
    }))
}

fn roots(trust: &Material) -> Result<RootCertStore, TlsError> {
    let certificates = match trust.kind {
        StoreKind::Pem => read::read_pem_certificates(&trust.bytes),
        StoreKind::Jks | StoreKind::Pkcs12 => {
            let password = trust.password.as_ref().map(|password| password.as_str());
            read::read_java(&trust.bytes, password, None).map(|entries| entries.trusted)
        }
    };
    let certificates = certificates.map_err(TlsError::Trust)?;
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates.into_iter().map(CertificateDer::from));
    if added == 0 {
        return Err(TlsError::Trust(StoreError::Lacks("no certificate that is trusted")));
    }
    Ok(roots)
}

/// Checks all of a certificate but whose host it is for.
#[derive(Debug)]
struct AnyHost(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        revocation: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.0.verify_server_cert(certificate, intermediates, name, revocation, now) {
            // The name is what is looked at last.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
