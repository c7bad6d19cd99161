//! One authenticated connection to one peer.
//!
//! It exists only once the peer's key is known and the keying material that proofs are bound to has been exported.

use std::net::SocketAddr;
use std::sync::Arc;

use memlet_auth::proof::Exporter;
use memlet_core::id::PublicKey;
use memlet_sync::code::CloseCode;

use crate::quic::admission::Place;
use crate::quic::config::EXPORTER_LABEL;
use crate::quic::error::{Ended, quic_code};
use crate::quic::identity::peer_of;
use crate::quic::stream::FrameStream;

/// A connection. Cloning gives another handle to the same one, which ends with the last handle at the latest.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    quic: quinn::Connection,
    peer: PublicKey,
    exporter: Exporter,
    /// Held as long as the connection is, if the peer came to us.
    _place: Option<Place>,
}

impl Connection {
    /// Takes over a connection whose handshake is complete; none if the peer has shown no usable key.
    pub(crate) fn new(quic: quinn::Connection, place: Option<Place>) -> Option<Self> {
        let peer = peer_of(quic.peer_identity())?;
        let mut exported = [0; 32];
        quic.export_keying_material(&mut exported, EXPORTER_LABEL, &[]).ok()?;
        Some(Self(Arc::new(Inner { quic, peer, exporter: Exporter(exported), _place: place })))
    }

    /// The key that the peer has proved to hold.
    pub fn peer(&self) -> PublicKey {
        self.0.peer
    }

    /// Keying material that only the two ends of this connection know (RFC 8446, section 7.5).
    pub fn exporter(&self) -> Exporter {
        self.0.exporter
    }

    /// Where the peer is at the moment.
    pub fn remote_address(&self) -> SocketAddr {
        self.0.quic.remote_address()
    }

    /// Opens a stream. If the peer allows no further one, waits until another has ended.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn open(&self) -> Result<FrameStream, Ended> {
        let (send, recv) = self.0.quic.open_bi().await?;
        Ok(FrameStream::new(send, recv))
    }

    /// The next stream that the peer opens.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn accept(&self) -> Result<FrameStream, Ended> {
        let (send, recv) = self.0.quic.accept_bi().await?;
        Ok(FrameStream::new(send, recv))
    }

    /// Ends the connection at once. What is still unacknowledged on its streams is lost.
    pub fn close(&self, code: CloseCode) {
        self.0.quic.close(quic_code(code), &[]);
    }

    /// Waits for the end.
    pub async fn closed(&self) -> Ended {
        self.0.quic.closed().await.into()
    }
}
