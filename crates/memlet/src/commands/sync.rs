//! `memlet sync`. It succeeds if the memory ends level with every device that was reached, and with one at least.

use memlet_auth::did::{from_did, to_did};
use memlet_core::id::PublicKey;
use memlet_server::quic::{DialError, Endpoint, EndpointOptions, Identity};
use memlet_server::{PeerAddress, SyncWith};
use memlet_sync::name::Address;
use serde_json::json;
use tokio::runtime::Runtime;

use super::exchange::{Fared, exchange};
use crate::context::{Context, Memory};
use crate::failure::Failure;
use crate::network;

pub(super) fn sync(context: &Context, peer: Option<&str>) -> Result<(), Failure> {
    let memory = context.existing()?;
    // One for all that follows, so that the goodbye to whoever was asked for its name still goes out.
    let runtime = network::runtime()?;
    let with = match peer {
        None => SyncWith::All(Vec::new()),
        Some(peer) => SyncWith::Only(find(&runtime, &memory, peer)?),
    };
    let fared = exchange(&runtime, &memory, &with)?;
    if fared.is_empty() {
        return Err(Failure::NoPeers);
    }
    let names = memory.device_names()?;
    let sentence = |fared: &Fared| {
        let name = names.get(&fared.device).cloned().unwrap_or_else(|| to_did(&fared.device));
        format!("{name}: {}", fared.sentence())
    };
    let (level, short): (Vec<_>, Vec<_>) = fared.iter().partition(|fared| fared.is_level());
    // That a device is off is no failure of those that are on.
    let is_level = !level.is_empty() && !short.iter().any(|fared| fared.is_reached());
    let output = json!({"level": is_level, "devices": fared.iter().map(Fared::row).collect::<Vec<_>>()});
    context.output.result(&output, |_| level.iter().map(|fared| sentence(fared)).collect::<Vec<_>>().join("\n"))?;
    let short: Vec<String> = short.into_iter().map(sentence).collect();
    if !is_level {
        return Err(Failure::NotLevel(format!("not level. {}", short.join(". "))));
    }
    short.iter().for_each(|sentence| context.output.note(sentence));
    Ok(())
}

/// The device that the user means by `host:port` or `did:key:…@host:port`. Without its identity, whoever answers there is meant:
/// what it may see is decided by its grants in any case.
fn find(runtime: &Runtime, memory: &Memory, peer: &str) -> Result<PeerAddress, Failure> {
    let (device, address) = match peer.split_once('@') {
        Some((did, address)) => {
            let device = from_did(did).map_err(|error| Failure::Usage(format!("--peer {peer}: {error}")))?;
            (Some(device.public()), address)
        }
        None => (None, peer),
    };
    let address = Address::new(address).map_err(|error| Failure::Usage(format!("--peer {peer}: {error}")))?;
    let device = match device {
        Some(device) => device,
        None => runtime.block_on(ask(Identity::new(memory.home.device_key().clone()), &address))?,
    };
    Ok(PeerAddress { device, addresses: vec![address] })
}

/// Who answers at `address`.
async fn ask(identity: Identity, address: &Address) -> Result<PublicKey, Failure> {
    // Without an address to listen on nobody comes, so nobody is refused.
    let (endpoint, _nobody) = Endpoint::bind(identity, &EndpointOptions::default(), |_| {})?;
    let resolved = tokio::net::lookup_host(address.as_str()).await;
    let mut failure = None;
    for place in resolved.map_err(|source| DialError::Resolve { address: address.clone(), source })? {
        match endpoint.dial(place, None).await {
            Ok(connection) => return Ok(connection.peer()),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.map_or_else(|| Failure::Usage(format!("{address} names no machine")), Failure::from))
}
