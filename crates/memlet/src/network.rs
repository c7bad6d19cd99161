//! This device on the network: its name, its port, and where it looks for others.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use memlet_core::id::PublicKey;
use memlet_node::Node;
use memlet_server::PeerAddress;
use memlet_server::quic::EndpointOptions;
use memlet_sync::name::{Address, DeviceName};
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

/// The devices met before, each at its usual port on every host it was found on. Where it was found last may have been the
/// port of a process that has ended, such as `memlet invite`.
pub(crate) fn usual_places(node: &Node) -> Result<Vec<PeerAddress>, Failure> {
    let peers = node.peers()?.into_iter().map(|peer| {
        let port = usual_port(&peer.device);
        let moved = peer.addresses.iter().filter_map(|address| {
            let (host, _) = address.rsplit_once(':')?;
            Address::new(&format!("{host}:{port}")).ok()
        });
        let mut addresses: Vec<Address> = moved.collect();
        addresses.dedup();
        PeerAddress { device: peer.device, addresses }
    });
    Ok(peers.collect())
}

/// The port of a device, made from its key: the same whenever it listens, and likely another than that of its neighbours.
///
/// It lies above the ports that Linux gives to outgoing connections (32768 to 60999), in the range that belongs to no service
/// (RFC 6335, section 6).
fn usual_port(device: &PublicKey) -> u16 {
    const FIRST: u16 = 61_000;
    const COUNT: u16 = u16::MAX - FIRST + 1;
    let [first, second, ..] = device.0;
    FIRST + u16::from_be_bytes([first, second]) % COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_port_is_in_its_range_and_taken_once() {
        for key in [[0; 32], [0xff; 32], [0x7a; 32]] {
            assert!((61_000..=65_535).contains(&usual_port(&PublicKey(key))));
        }
        let device = PublicKey([0x31; 32]);
        let taken = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, usual_port(&device)));
        let port = listen(&[], &device).listen[0].port();
        assert!(port == 0 || taken.is_err());
    }
}
