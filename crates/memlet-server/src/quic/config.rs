//! How QUIC is set up, for both sides of a connection: whatever it leaves open is bounded here.
//!
//! The same configuration holds whoever drives it, be it quinn or a simulation of single datagrams.

use std::sync::Arc;
use std::time::Duration;

use quinn::{ClientConfig, ServerConfig, TransportConfig, VarInt};

use crate::quic::endpoint::EndpointOptions;
use crate::quic::identity::{Identity, PeerCheck};

/// The side that is dialled.
///
/// # Panics
/// If the idle timeout has more than 2^62 milliseconds.
pub fn server_config(identity: &Identity, options: &EndpointOptions) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(Arc::new(identity.server_config()));
    config
        .transport_config(Arc::new(transport(options.idle, None)))
        .max_incoming(options.connections.total_max)
        .incoming_buffer_size(KNOCKING_BYTES_MAX)
        .incoming_buffer_size_total(KNOCKING_TOTAL_BYTES_MAX);
    config
}

/// The side that dials, and lets `check` decide whether the right peer answered. Only this side keeps the connection alive,
/// because only it knows that it wants to.
///
/// # Panics
/// As [`server_config`].
pub fn client_config(identity: &Identity, check: Arc<PeerCheck>, options: &EndpointOptions) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::new(identity.client_config(check)));
    config.transport_config(Arc::new(transport(options.idle, Some(options.idle / 3))));
    config
}

fn transport(idle: Duration, keep_alive: Option<Duration>) -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .send_window(SEND_WINDOW_BYTES)
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS_MAX))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(idle.try_into().expect("an idle timeout of less than 2^62 milliseconds")))
        .keep_alive_interval(keep_alive);
    config
}

/// What quinn asks for and nobody sees: no server name is sent.
pub const SERVER_NAME: &str = "memlet";
/// The label of the keying material that [`open_proof`](memlet_auth::proof::open_proof) binds to, exported without a context.
pub const EXPORTER_LABEL: &[u8] = b"memlet/1 exporter";

/// Bidirectional streams a peer may have open; a further one waits.
const STREAMS_MAX: u32 = 64;
/// Bytes a peer may have in flight to us on one connection.
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;
/// Bytes a peer may have in flight to us on one stream.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// Bytes kept for one connection until its peer has acknowledged them: what a slow peer can hold here.
const SEND_WINDOW_BYTES: u64 = 2 << 20;
/// Bytes buffered for one peer that knocks and for all of them, before they are judged.
const KNOCKING_BYTES_MAX: u64 = 64 << 10;
const KNOCKING_TOTAL_BYTES_MAX: u64 = 4 << 20;

const _: () = assert!(STREAM_WINDOW_BYTES <= CONNECTION_WINDOW_BYTES);
