//! What this store remembers of other devices: where they were last found. Local, never replicated.

use std::ops::{Bound, ControlFlow};

use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::id::PublicKey;
use memlet_store::{Scope, Table};

use crate::error::NodeError;
use crate::node::Node;

/// How many addresses are remembered of one device.
const ADDRESSES_MAX: usize = 16;

/// A device that this one has met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its key.
    pub device: PublicKey,
    /// What it calls itself.
    pub name: String,
    /// Where it said it listens, as `host:port`.
    pub addresses: Vec<String>,
    /// When it was last spoken to, in Unix milliseconds.
    pub last_seen_ms: u64,
}

impl Node {
    /// The devices this one has met, by rising key.
    pub fn peers(&self) -> Result<Vec<Peer>, NodeError> {
        let mut records = Vec::new();
        let read = self.shared.store.read()?;
        read.scan(Scope::Store, Table::Peers, Bound::Unbounded, &mut |key, value| {
            records.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })?;
        let read = |(key, value): (Vec<u8>, Vec<u8>)| {
            let damaged = |_| NodeError::Damaged("what is remembered of a device cannot be read".into());
            let device = PublicKey::from_slice(&key).ok_or(DecodeError::Invalid("key")).map_err(damaged)?;
            let Record(name, addresses, last_seen_ms) = Record::from_cbor(&value).map_err(damaged)?;
            Ok(Peer { device, name, addresses, last_seen_ms })
        };
        records.into_iter().map(read).collect()
    }

    /// Remembers a device, in place of what was remembered of it. Without addresses, the old ones are kept.
    pub fn remember_peer(&self, mut peer: Peer) -> Result<(), NodeError> {
        if peer.addresses.is_empty() {
            let known = self.peers()?.into_iter().find(|known| known.device == peer.device);
            peer.addresses = known.map(|known| known.addresses).unwrap_or_default();
        }
        peer.addresses.truncate(ADDRESSES_MAX);
        let mut write = self.shared.store.write(Scope::Store)?;
        let record = Record(peer.name, peer.addresses, peer.last_seen_ms);
        write.put(Table::Peers, &peer.device.0, &record.to_cbor())?;
        Ok(write.commit()?)
    }
}

/// Name, addresses, last seen.
struct Record(String, Vec<String>, u64);

impl Encode for Record {
    fn encode(&self, w: &mut Writer) {
        w.array(3);
        w.text(&self.0);
        w.array(self.1.len());
        self.1.iter().for_each(|address| w.text(address));
        w.uint(self.2);
    }
}

impl Decode for Record {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array(3)?;
        let name = r.text()?.to_owned();
        let addresses = r.array_up_to(ADDRESSES_MAX, "the addresses of a device")?;
        let addresses = (0..addresses).map(|_| r.text().map(str::to_owned)).collect::<Result<_, _>>()?;
        Ok(Self(name, addresses, r.uint()?))
    }
}
