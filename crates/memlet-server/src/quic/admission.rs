//! Who may connect at all: caps on how many peers, counted before any cryptography is done for them.
//!
//! Under no load everyone is let in at once. Above [`ConnectionLimits::unproven_max`], or half the share of its source, a
//! peer must first show that it receives at the address it claims (QUIC's `Retry`, RFC 9000, section 8.1.2), so that a
//! forged address takes no one's place. A source beyond its share, or a peer beyond the total, is refused, and everyone
//! else stays served.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many incoming connections a node holds at once.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections from anyone.
    pub total_max: usize,
    /// Connections from one source: an IPv4 address, or the first 64 bits of an IPv6 address.
    pub per_source_max: usize,
    /// Connections up to which an address is taken at its word.
    pub unproven_max: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { total_max: 1024, per_source_max: 64, unproven_max: 128 }
    }
}

/// What is to be done with a peer that knocks.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Let it in. The place is free again once it is dropped.
    Accept(Place),
    /// Have it prove its address first.
    ProveAddress,
    /// Turn it away.
    Refuse(Refusal),
}

/// Why a peer is turned away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// Its source holds its whole share.
    Source,
    /// All places are taken.
    Total,
    /// The node is stopping.
    Stopping,
}

impl Refusal {
    /// The name of its counter.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Source => "CONNECTIONS_PER_SOURCE",
            Self::Total => "CONNECTIONS_TOTAL",
            Self::Stopping => "STOPPING",
        }
    }
}

/// The places of one node, shared by all its sockets.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    limits: ConnectionLimits,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default, Debug)]
struct Taken {
    stopping: bool,
    total: usize,
    by_source: BTreeMap<IpAddr, usize>,
}

impl Admission {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self { limits, taken: Arc::default() }
    }

    /// Judges a peer at `address`, which is `proven` if it has answered a `Retry`.
    pub(crate) fn judge(&self, address: IpAddr, proven: bool) -> Verdict {
        let source = source(address);
        let mut taken = lock(&self.taken);
        if taken.stopping {
            return Verdict::Refuse(Refusal::Stopping);
        }
        if taken.total >= self.limits.total_max {
            return Verdict::Refuse(Refusal::Total);
        }
        let held = taken.by_source.get(&source).copied().unwrap_or_default();
        if held >= self.limits.per_source_max {
            return Verdict::Refuse(Refusal::Source);
        }
        let crowded = taken.total >= self.limits.unproven_max || held >= self.limits.per_source_max.div_ceil(2);
        if crowded && !proven {
            return Verdict::ProveAddress;
        }
        taken.by_source.insert(source, held + 1);
        taken.total += 1;
        Verdict::Accept(Place { source, taken: self.taken.clone() })
    }

    /// From now on everyone is refused.
    pub(crate) fn stop(&self) {
        lock(&self.taken).stopping = true;
    }
}

/// One connection's place, given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    source: IpAddr,
    taken: Arc<Mutex<Taken>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.total -= 1;
        if let Some(held) = taken.by_source.get_mut(&self.source) {
            *held -= 1;
            if *held == 0 {
                taken.by_source.remove(&self.source);
            }
        }
    }
}

/// Every update is one step, so the table is whole even if a thread died while it held the lock.
fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What counts as one source. Who has one address of an IPv6 network has 2^64 of them.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission() -> Admission {
        Admission::new(ConnectionLimits { total_max: 5, per_source_max: 2, unproven_max: 3 })
    }

    fn accepted(admission: &Admission, address: &str, proven: bool) -> Place {
        match admission.judge(address.parse().unwrap(), proven) {
            Verdict::Accept(place) => place,
            other => panic!("{address}: {other:?}"),
        }
    }

    fn refused(admission: &Admission, address: &str) -> Refusal {
        match admission.judge(address.parse().unwrap(), true) {
            Verdict::Refuse(refusal) => refusal,
            other => panic!("{address}: {other:?}"),
        }
    }

    #[test]
    fn a_source_has_its_share_and_gets_it_back() {
        let admission = admission();
        let _first = accepted(&admission, "10.0.0.1", false);
        assert!(matches!(admission.judge("10.0.0.1".parse().unwrap(), false), Verdict::ProveAddress), "over half");
        let second = accepted(&admission, "::ffff:10.0.0.1", true);
        assert_eq!(refused(&admission, "10.0.0.1"), Refusal::Source);
        let _other = accepted(&admission, "10.0.0.2", false);
        drop(second);
        let _again = accepted(&admission, "10.0.0.1", true);
    }

    #[test]
    fn one_ipv6_network_is_one_source() {
        let admission = admission();
        let _a = accepted(&admission, "2001:db8::1", false);
        let _b = accepted(&admission, "2001:db8::2", true);
        assert_eq!(refused(&admission, "2001:db8::3"), Refusal::Source);
        let _neighbour = accepted(&admission, "2001:db8:0:1::3", false);
    }

    #[test]
    fn under_load_addresses_are_proven_and_the_total_holds() {
        let admission = admission();
        let mut places: Vec<_> = (1..=3).map(|n| accepted(&admission, &format!("10.0.0.{n}"), false)).collect();
        assert!(matches!(admission.judge("10.0.0.4".parse().unwrap(), false), Verdict::ProveAddress));
        places.extend((4..=5).map(|n| accepted(&admission, &format!("10.0.0.{n}"), true)));
        assert_eq!(refused(&admission, "10.0.0.6"), Refusal::Total);
        places.clear();
        assert!(lock(&admission.taken).by_source.is_empty(), "nothing is kept of peers that left");
        admission.stop();
        assert_eq!(refused(&admission, "10.0.0.1"), Refusal::Stopping);
    }
}
