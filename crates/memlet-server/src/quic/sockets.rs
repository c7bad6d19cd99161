//! Where an endpoint's sockets come from: the system, unless a simulation stands in for it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::{AsyncUdpSocket, Runtime as _, TokioRuntime};
use socket2::{Domain, Protocol, Socket, Type};

/// A source of UDP sockets.
pub trait Sockets: fmt::Debug + Send + Sync {
    /// A socket bound to `address`, where port 0 lets the source choose. It is of that address family alone, so that an IPv4
    /// and an IPv6 socket can have the same port on any system. Called inside a tokio runtime.
    ///
    /// # Errors
    /// The address is in use, reserved, or not of this machine.
    fn bind(&self, address: SocketAddr) -> io::Result<Arc<dyn AsyncUdpSocket>>;
}

/// The sockets of the system.
#[derive(Debug)]
pub(crate) struct SystemSockets;

impl Sockets for SystemSockets {
    fn bind(&self, address: SocketAddr) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        TokioRuntime.wrap_udp_socket(socket.into())
    }
}
