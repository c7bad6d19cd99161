//! The replica id of a store: minted with it, and anew when the store turns out to be a copy of another.
//!
//! Two stores that write under one id would name two things by one dot. A copied or restored store is recognised by its
//! place when it is opened, and at the latest when a peer shows changes of it that are not here.

use memlet_core::id::{PublicKey, ReplicaId};
use memlet_store::{Read, Scope, Store, StoreError, Table, Write};

use crate::environment::{Environment, random};
use crate::error::NodeError;

/// Records of [`Table::Node`].
const REPLICA_KEY: &[u8] = b"replica";
const DEVICE_KEY: &[u8] = b"device";
const PLACE_KEY: &[u8] = b"place";
const RENEWED_KEY: &[u8] = b"renewed at";

/// Makes sure that the store has a replica id of its own and belongs to `device`.
pub(crate) fn claim(store: &dyn Store, device: &PublicKey, environment: &dyn Environment) -> Result<(), NodeError> {
    let place = store.place()?;
    if is_claimed(&*store.read()?, device, &place)? {
        return Ok(());
    }
    let mut write = store.write(Scope::Store)?;
    // Another process may have been first.
    if is_claimed(&*write, device, &place)? {
        return Ok(());
    }
    if write.get(Scope::Store, Table::Node, REPLICA_KEY)?.is_some() {
        tracing::warn!("this store is a copy of another one, so it gets a replica id of its own");
    }
    write.put(Table::Node, DEVICE_KEY, &device.0)?;
    write.put(Table::Node, PLACE_KEY, &place)?;
    mint(&mut *write, environment)?;
    Ok(write.commit()?)
}

/// Gives the store a new replica id, if `old` is still its own: a peer says that what it wrote under that is elsewhere already.
///
/// The peer may lie, and every id stays in all clocks for ever, so this happens once a day at most.
pub(crate) fn renew(store: &dyn Store, old: &ReplicaId, environment: &dyn Environment) -> Result<(), NodeError> {
    const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
    let mut write = store.write(Scope::Store)?;
    let renewed = write.get(Scope::Store, Table::Node, RENEWED_KEY)?;
    let renewed_ms = renewed.and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
    let now_ms = environment.now_ms();
    if current(&*write)? != *old || renewed_ms.is_some_and(|last_ms| now_ms.abs_diff(last_ms) < DAY_MS) {
        return Ok(());
    }
    write.put(Table::Node, RENEWED_KEY, &now_ms.to_be_bytes())?;
    mint(&mut *write, environment)?;
    Ok(write.commit()?)
}

/// Gives the store a new replica id, if `old` is still its own: what it wrote last under that no longer counts.
pub(crate) fn replace(store: &dyn Store, old: &ReplicaId, environment: &dyn Environment) -> Result<(), NodeError> {
    let mut write = store.write(Scope::Store)?;
    if current(&*write)? == *old {
        mint(&mut *write, environment)?;
        write.commit()?;
    }
    Ok(())
}

/// The id under which the store writes.
pub(crate) fn current(read: &dyn Read) -> Result<ReplicaId, NodeError> {
    let stored = read.get(Scope::Store, Table::Node, REPLICA_KEY)?;
    let replica = stored.and_then(|bytes| ReplicaId::from_slice(&bytes));
    replica.ok_or_else(|| NodeError::Damaged("the replica id is missing or has not 8 bytes".into()))
}

fn mint(write: &mut dyn Write, environment: &dyn Environment) -> Result<(), StoreError> {
    write.put(Table::Node, REPLICA_KEY, &random::<8>(environment))
}

fn is_claimed(read: &dyn Read, device: &PublicKey, place: &[u8]) -> Result<bool, NodeError> {
    let Some(owner) = read.get(Scope::Store, Table::Node, DEVICE_KEY)? else { return Ok(false) };
    if owner != device.0 {
        return Err(NodeError::OtherDevice);
    }
    Ok(read.get(Scope::Store, Table::Node, PLACE_KEY)?.as_deref() == Some(place))
}
