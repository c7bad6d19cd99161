//! A peer on bare QUIC that says whatever a test tells it to.

use std::net::SocketAddr;
use std::sync::Arc;

use memlet_core::id::PublicKey;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

use crate::support::key;

/// How the peer behaves in the handshake.
pub(crate) struct Manner {
    pub(crate) alpn: &'static [u8],
    /// The key it shows.
    pub(crate) shown: Option<PublicKey>,
    /// The seed of the key it signs with.
    pub(crate) signer: u8,
}

impl Default for Manner {
    /// Flawless.
    fn default() -> Self {
        Self { alpn: memlet_server::quic::ALPN, shown: Some(key(66).public()), signer: 66 }
    }
}

/// Connects to `address`. The endpoint must be kept as long as the connection is used.
pub(crate) async fn connect(address: SocketAddr, manner: Manner) -> Result<(Endpoint, Connection), ConnectionError> {
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Credulous));
    let mut config = match manner.shown {
        None => config.with_no_client_auth(),
        Some(shown) => {
            let spki = [b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", &shown.0[..]].concat();
            let pkcs8 = [b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20", &[manner.signer; 32][..]];
            let signer = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8.concat())).unwrap();
            let certified = CertifiedKey::new(vec![spki.into()], signer);
            config.with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::new(certified))))
        }
    };
    config.alpn_protocols = vec![manner.alpn.to_vec()];
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).unwrap()));
    let endpoint = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let connection = endpoint.connect_with(config, address, "localhost").unwrap().await?;
    Ok((endpoint, connection))
}

/// Believes every server.
#[derive(Debug)]
struct Credulous;

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        unreachable!("TLS 1.3 only")
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
