//! Under which addresses this node can be reached, as far as it can know.
//!
//! A socket bound to all interfaces has no address of its own to announce. The one of the interface that leads outward is
//! found by asking the system which source address it would use; nothing is sent. A machine without a network announces
//! its loopback address, so that two nodes on it find each other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Addresses set aside for documentation (RFC 5737, RFC 3849): they lead outward and belong to no one.
const OUTWARD_V4: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);
const OUTWARD_V6: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)), 9);

/// The addresses to announce for sockets that are bound to `bound`, without repeats, in the order given.
pub(crate) fn announced(bound: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let outward = [outward_address(OUTWARD_V4), outward_address(OUTWARD_V6)].into_iter().flatten().collect::<Vec<_>>();
    let mut addresses = Vec::new();
    for bound in bound {
        for address in reachable(bound, &outward) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    addresses
}

/// Where a socket bound to `bound` is reached on a machine with the addresses `outward`.
fn reachable(bound: SocketAddr, outward: &[IpAddr]) -> Vec<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return vec![bound];
    }
    let mut addresses: Vec<_> = outward
        .iter()
        .filter(|address| address.is_ipv4() == bound.is_ipv4())
        .map(|address| SocketAddr::new(*address, bound.port()))
        .collect();
    if addresses.is_empty() {
        let loopback = if bound.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        addresses.push(SocketAddr::new(loopback, bound.port()));
    }
    addresses
}

/// The address this machine would send from to reach `target`, if there is a way.
fn outward_address(target: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(target).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified() && !address.is_loopback()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses<T: std::str::FromStr<Err: std::fmt::Debug>>(texts: &[&str]) -> Vec<T> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn all_interfaces_become_the_outward_one_of_the_same_family() {
        let outward = addresses(&["192.168.1.7", "2001:db8::7"]);
        let at = |bound: &str| reachable(bound.parse().unwrap(), &outward);
        assert_eq!(at("0.0.0.0:4242"), addresses(&["192.168.1.7:4242"]));
        assert_eq!(at("[::]:4242"), addresses(&["[2001:db8::7]:4242"]));
        assert_eq!(at("127.0.0.1:4242"), addresses(&["127.0.0.1:4242"]));
    }

    #[test]
    fn without_a_network_loopback_is_announced() {
        assert_eq!(reachable("0.0.0.0:1".parse().unwrap(), &[]), addresses(&["127.0.0.1:1"]));
        assert_eq!(reachable("[::]:1".parse().unwrap(), &[]), addresses(&["[::1]:1"]));
    }

    #[test]
    fn announced_addresses_can_be_dialled_and_do_not_repeat() {
        let bound = addresses(&["0.0.0.0:4242", "0.0.0.0:4242", "127.0.0.1:4243"]);
        let announced = announced(bound);
        assert_eq!(announced.len(), 2);
        assert!(announced.iter().all(|address| !address.ip().is_unspecified() && address.port() != 0));
    }
}
