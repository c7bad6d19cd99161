//! Who is at each end of a connection: TLS 1.3 in which both ends show their device key and nothing else.
//!
//! There are no certificates. Where TLS carries one, each end sends the bare public key (RFC 7250) as the 44 bytes of an
//! Ed25519 `SubjectPublicKeyInfo` (RFC 8410, section 4), and proves in the handshake that it holds the private half. So a
//! peer is named by its key, and whoever answers at an address is told apart from whom we meant to reach.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use memlet_auth::keys::{Signature, SigningKey, VerifyingKey};
use memlet_core::id::PublicKey;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, ServerConfig,
    SignatureAlgorithm, SignatureScheme,
};

/// The application protocol that both ends must name (RFC 7301). Its number changes with the protocol's.
pub const ALPN: &[u8] = b"memlet/1";

/// What stands before the 32 bytes of an Ed25519 key in its `SubjectPublicKeyInfo` (RFC 8410, section 10.1).
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// This device as its peers see it. Cloning is cheap.
#[derive(Clone)]
pub struct Identity {
    device: PublicKey,
    certified: Arc<CertifiedKey>,
    provider: Arc<CryptoProvider>,
}

impl Identity {
    /// The identity of a device key.
    pub fn new(device: SigningKey) -> Self {
        Self::with_provider(device, ring::default_provider())
    }

    /// As [`Identity::new`], with cryptography from `provider`, which must have the cipher suites of TLS 1.3: a simulation
    /// puts its own randomness into it.
    pub fn with_provider(device: SigningKey, provider: CryptoProvider) -> Self {
        let public = device.public();
        let shown = CertificateDer::from(spki(&public));
        let certified = CertifiedKey::new(vec![shown], Arc::new(DeviceKey(device)));
        Self { device: public, certified: Arc::new(certified), provider: Arc::new(provider) }
    }

    /// The public key that peers know this device by.
    pub fn device(&self) -> PublicKey {
        self.device
    }

    /// The TLS side that answers: any peer with a usable key is let in, what it may do is asked later.
    pub(crate) fn server_config(&self) -> QuicServerConfig {
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&TLS13])
            .expect("the provider implements TLS 1.3")
            .with_client_cert_verifier(Arc::new(PeerCheck::default()))
            .with_cert_resolver(Arc::new(rustls::server::AlwaysResolvesServerRawPublicKeys::new(
                self.certified.clone(),
            )));
        config.alpn_protocols = vec![ALPN.to_vec()];
        // a resumed session would skip the proof of the key, and early data could be replayed
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        config.max_early_data_size = 0;
        config.try_into().expect("the provider implements the cipher suite of QUIC's first packets")
    }

    /// The TLS side that dials, letting `check` decide whether the right peer answered.
    pub(crate) fn client_config(&self, check: Arc<PeerCheck>) -> QuicClientConfig {
        let mut config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&TLS13])
            .expect("the provider implements TLS 1.3")
            .dangerous()
            .with_custom_certificate_verifier(check)
            .with_client_cert_resolver(Arc::new(rustls::client::AlwaysResolvesClientRawPublicKeys::new(
                self.certified.clone(),
            )));
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.enable_sni = false;
        config.resumption = Resumption::disabled();
        config.enable_early_data = false;
        config.try_into().expect("the provider implements the cipher suite of QUIC's first packets")
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.device)
    }
}

/// The key that the other end of an established connection has proved to hold, from what QUIC calls the peer's identity.
pub fn peer_of(identity: Option<Box<dyn Any>>) -> Option<PublicKey> {
    let shown = identity?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    Some(key_of(shown.first()?).ok()?.public())
}

/// Judges the key that a peer shows in the handshake, by the one rule of `memlet-auth` for keys and signatures.
#[derive(Default, Debug)]
pub struct PeerCheck {
    expected: Option<PublicKey>,
    stranger: OnceLock<PublicKey>,
}

impl PeerCheck {
    /// Accepts `expected` alone, or any usable key if there is none.
    pub fn expecting(expected: Option<PublicKey>) -> Self {
        Self { expected, stranger: OnceLock::new() }
    }

    /// The key of another peer that answered, once it has. The handshake ends before we show that peer our own.
    pub fn stranger(&self) -> Option<PublicKey> {
        self.stranger.get().copied()
    }

    fn judge(&self, shown: &CertificateDer<'_>, others: &[CertificateDer<'_>]) -> Result<(), Error> {
        if !others.is_empty() {
            return Err(CertificateError::BadEncoding.into());
        }
        let key = key_of(shown)?.public();
        match self.expected {
            Some(expected) if expected != key => {
                self.stranger.get_or_init(|| key);
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(()),
        }
    }
}

impl ServerCertVerifier for PeerCheck {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.judge(end_entity, intermediates).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls13RequiredForQuic.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for PeerCheck {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.judge(end_entity, intermediates).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls13RequiredForQuic.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// The device key as TLS asks it to sign. What it signs begins with 64 spaces and TLS's own context (RFC 8446, section
/// 4.4.3), which is the prefix of no grant, stamp or proof.
#[derive(Clone)]
struct DeviceKey(SigningKey);

impl rustls::sign::SigningKey for DeviceKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn rustls::sign::Signer>> {
        offered.contains(&SignatureScheme::ED25519).then(|| Box::new(self.clone()) as _)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(spki(&self.0.public()).into())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl rustls::sign::Signer for DeviceKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.0.sign(message).0.to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceKey({})", self.0.public())
    }
}

fn spki(key: &PublicKey) -> Vec<u8> {
    [&SPKI_PREFIX[..], &key.0].concat()
}

fn key_of(shown: &[u8]) -> Result<VerifyingKey, Error> {
    let key = shown.strip_prefix(&SPKI_PREFIX).ok_or(CertificateError::BadEncoding)?;
    VerifyingKey::from_slice(key).map_err(|_| CertificateError::BadEncoding.into())
}

fn verify(message: &[u8], shown: &[u8], signed: &DigitallySignedStruct) -> Result<HandshakeSignatureValid, Error> {
    let signature = signed.signature().try_into().map(Signature);
    match (signed.scheme, signature) {
        (SignatureScheme::ED25519, Ok(signature)) => key_of(shown)?
            .verify(message, &signature)
            .map(|()| HandshakeSignatureValid::assertion())
            .map_err(|_| CertificateError::BadSignature.into()),
        _ => Err(CertificateError::BadSignature.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_as_44_bytes_and_read_back_strictly() {
        let key = SigningKey::from_bytes(&[7; 32]).public();
        let shown = spki(&key);
        assert_eq!(shown.len(), 44);
        assert_eq!(key_of(&shown).unwrap().public(), key);

        assert!(key_of(&shown[..43]).is_err(), "a byte short");
        assert!(key_of(&[&shown[..], &[0]].concat()).is_err(), "a byte over");
        let mut other_algorithm = shown;
        other_algorithm[8] = 0x6e; // X25519 in place of Ed25519
        assert!(key_of(&other_algorithm).is_err());
        assert!(key_of(&spki(&PublicKey([0; 32]))).is_err(), "a point of small order");
    }

    #[test]
    fn only_the_expected_key_passes_and_a_stranger_is_named() {
        let (bob, eve) = (SigningKey::from_bytes(&[1; 32]).public(), SigningKey::from_bytes(&[2; 32]).public());
        let check = PeerCheck::expecting(Some(bob));
        assert!(check.judge(&spki(&bob).into(), &[]).is_ok());
        assert_eq!(check.stranger(), None);
        assert!(check.judge(&spki(&eve).into(), &[]).is_err());
        assert_eq!(check.stranger(), Some(eve));
        assert!(check.judge(&spki(&bob).into(), &[spki(&eve).into()]).is_err(), "a chain where one key belongs");
    }
}
