//! This device on the network: its name and its port.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use memlet_core::id::PublicKey;
use memlet_server::quic::EndpointOptions;
use memlet_server::usual_port;
use memlet_sync::name::DeviceName;
use tokio::runtime::Runtime;

use crate::failure::Failure;

/// What commands that use the network run on.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::System)
}

/// What this device calls itself: its host name, as far as that is a name to show.
pub(crate) fn device_name() -> DeviceName {
    let host = rustix::system::uname();
    let host = DeviceName::new(&host.nodename().to_string_lossy());
    host.unwrap_or_else(|_| DeviceName::new("memlet").expect("a plain word is a device name"))
}

/// Where `device`, which is this one, listens: at `chosen`, or else at its usual port on all interfaces. If that port is
/// taken, for instance by another process of this device, the system chooses one.
pub(crate) fn listen(chosen: &[SocketAddr], device: &PublicKey) -> EndpointOptions {
    let all = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let usual = all(usual_port(device));
    let listen = match chosen {
        [] if UdpSocket::bind(usual).is_ok() => vec![usual],
        [] => vec![all(0)],
        chosen => chosen.to_vec(),
    };
    EndpointOptions { listen, ..EndpointOptions::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_left_alone() {
        let device = PublicKey([0x31; 32]);
        // Whether by this test or by somebody else, it is taken now.
        let _taken = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, usual_port(&device)));
        assert_eq!(listen(&[], &device).listen, [SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))]);
        let chosen = SocketAddr::from((Ipv4Addr::LOCALHOST, 7));
        assert_eq!(listen(&[chosen], &device).listen, [chosen]);
    }
}
