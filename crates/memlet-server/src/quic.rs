//! QUIC: authenticated connections between devices, and streams of framed messages on them.
//!
//! Everything here is bounded and nothing is trusted but the key that the handshake has verified.

mod address;
mod admission;
mod config;
mod connection;
mod dial;
mod endpoint;
mod error;
mod identity;
mod sockets;
mod stream;

pub use admission::ConnectionLimits;
pub use config::{EXPORTER_LABEL, SERVER_NAME, client_config, server_config};
pub use connection::Connection;
pub use endpoint::{Endpoint, EndpointOptions, Incoming};
pub use error::{BindError, DialError, Ended, close_code, quic_code};
pub use identity::{ALPN, Identity, PeerCheck, peer_of};
pub use sockets::Sockets;
pub use stream::{FrameStream, StreamError};
