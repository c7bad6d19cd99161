//! QUIC: authenticated connections between devices, and streams of framed messages on them.
//!
//! Everything here is bounded and nothing is trusted but the key that the handshake has verified.

mod address;
mod admission;
mod connection;
mod dial;
mod endpoint;
mod error;
mod identity;
mod stream;

pub use admission::ConnectionLimits;
pub use connection::Connection;
pub use endpoint::{Endpoint, EndpointOptions, Incoming};
pub use error::{BindError, DialError, Ended};
pub use identity::{ALPN, Identity};
pub use stream::{FrameStream, StreamError};
