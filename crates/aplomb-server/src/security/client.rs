//! TLS as a client: whose certificates a server may have.

use std::sync::Arc;

use aplomb_broker::config::StoreKind;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::read;
use super::store::StoreError;
use super::tls::{Material, TlsError};

/// What a client of TLS needs. Certificates of `trust` that cannot be used are passed over: stores
/// of a whole system have some of the kind.
///
/// # Errors
/// With a sentence, when nothing in it can be trusted.
pub fn client_config(trust: &Material) -> Result<Arc<ClientConfig>, TlsError> {
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
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Anchors(error.to_string()))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
