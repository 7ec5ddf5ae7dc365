//! TLS: the roots that are trusted, and the one crypto provider.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::NetError;

/// Mozilla's roots are compiled in, so that a container without a certificate store works and starting reads no files.
pub(crate) fn config(extra_roots_pem: &[u8]) -> Result<ClientConfig, NetError> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    for certificate in CertificateDer::pem_slice_iter(extra_roots_pem) {
        let refused = |cause: String| NetError::Build {
            cause: format!("a certificate that was given can't be trusted: {cause}"),
        };
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| refused(error.to_string()))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| NetError::Build {
            cause: error.to_string(),
        })?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
