//! One exchange with other devices.

use memlet_auth::did::{from_did, to_did};
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_server::quic::{DialError, Endpoint, EndpointOptions, Identity};
use memlet_server::{PeerAddress, PeerSync, SyncOutcome, sync_once};
use memlet_sync::code::CloseCode;
use memlet_sync::name::Address;
use serde_json::{Value as Json, json};

use crate::context::{Context, Memory};
use crate::failure::Failure;
use crate::network;

pub(super) fn sync(context: &Context, peer: Option<&str>) -> Result<(), Failure> {
    let memory = context.existing()?;
    match peer {
        None => exchange(context, &memory, network::usual_places(memory.home.node())?, None),
        Some(peer) => {
            let peer = find(&memory, peer)?;
            let device = peer.device;
            exchange(context, &memory, vec![peer], Some(device))
        }
    }
}

/// Syncs with `peers` and those met before, or with `only` one of them, and tells how each fared.
///
/// It succeeds if the memory is level with every device that was reached, and with one at least: that a device is off is no
/// failure of those that are on.
pub(super) fn exchange(
    context: &Context,
    memory: &Memory,
    peers: Vec<PeerAddress>,
    only: Option<PublicKey>,
) -> Result<(), Failure> {
    let (node, identity) = (memory.home.node().clone(), Identity::new(memory.home.device_key().clone()));
    let mut syncs = network::runtime()?.block_on(sync_once(node, identity, network::device_name(), peers))?;
    syncs.retain(|sync| only.is_none_or(|only| sync.device == only));
    if syncs.is_empty() {
        return Err(Failure::NoPeers);
    }
    let names = memory.device_names()?;
    let fared: Vec<Fared> = syncs.into_iter().map(|sync| Fared::of(sync, memory.namespace.id())).collect();
    let sentence = |fared: &Fared| match names.get(&fared.device) {
        Some(name) => format!("{name}: {}", fared.standing.sentence()),
        None => format!("{}: {}", to_did(&fared.device), fared.standing.sentence()),
    };
    let (level, short): (Vec<_>, Vec<_>) = fared.iter().partition(|fared| matches!(fared.standing, Standing::Level(_)));
    let is_level = !level.is_empty() && short.iter().all(|fared| matches!(fared.standing, Standing::Unreached { .. }));

    let rows: Vec<Json> = fared.iter().map(Fared::row).collect();
    context.output.result(&json!({"level": is_level, "devices": rows}), |_| {
        level.iter().map(|fared| sentence(fared)).collect::<Vec<_>>().join("\n")
    })?;
    let short: Vec<String> = short.into_iter().map(sentence).collect();
    if !is_level {
        return Err(Failure::NotLevel(format!("not level. {}", short.join(". "))));
    }
    short.iter().for_each(|sentence| context.output.note(sentence));
    Ok(())
}

/// How one device fared.
struct Fared {
    device: PublicKey,
    standing: Standing,
}

enum Standing {
    /// Both hold the same.
    Level(Box<SyncOutcome>),
    /// It was reached, and both do not hold the same.
    Apart { code: &'static str, why: String },
    /// It was not reached.
    Unreached { code: &'static str, why: String },
}

impl Fared {
    fn of(sync: PeerSync, namespace: NamespaceId) -> Self {
        let apart = |code, why| Standing::Apart { code, why };
        let standing = match sync.namespaces {
            Err(error) => Standing::Unreached { code: error.code(), why: error.to_string() },
            Ok(outcomes) => {
                let of_others = |outcome: &SyncOutcome| outcome.namespace != namespace;
                match outcomes.into_iter().find(|outcome| !outcome.as_ref().is_ok_and(of_others)) {
                    Some(Ok(outcome)) if outcome.level => Standing::Level(Box::new(outcome)),
                    Some(Ok(outcome)) if outcome.code == CloseCode::Denied => apart(outcome.code.code(), shortfall(&outcome)),
                    Some(Ok(outcome)) => apart("NOT_LEVEL", shortfall(&outcome)),
                    Some(Err(error)) => apart(error.code(), error.to_string()),
                    None => apart("NOT_LEVEL", "this memory was not exchanged with it".into()),
                }
            }
        };
        Self { device: sync.device, standing }
    }

    /// For programs.
    fn row(&self) -> Json {
        let mut row = json!({"device": to_did(&self.device), "level": false, "received": 0, "sent": 0, "error": null});
        match &self.standing {
            Standing::Level(outcome) => {
                row["level"] = true.into();
                row["received"] = outcome.stats.applied.into();
                row["sent"] = outcome.stats.sent.changes.into();
            }
            Standing::Apart { code, why } | Standing::Unreached { code, why } => {
                row["error"] = json!({"code": code, "message": why});
            }
        }
        row
    }
}

impl Standing {
    fn sentence(&self) -> String {
        match self {
            Self::Level(outcome) => {
                format!("level, {} changes received, {} sent", outcome.stats.applied, outcome.stats.sent.changes)
            }
            Self::Apart { why, .. } => why.clone(),
            Self::Unreached { code: "PEER_NO_ANSWER" | "PEER_NO_ADDRESS", why } => {
                format!("{why} (`memlet serve` there makes it reachable)")
            }
            Self::Unreached { why, .. } => why.clone(),
        }
    }
}

/// Why the two sides of a sync that went through do not hold the same.
pub(super) fn shortfall(outcome: &SyncOutcome) -> String {
    if outcome.code == CloseCode::Denied {
        return "it does not hold this memory, or knows no right of this device to it; whoever owns it can invite".into();
    }
    let stats = &outcome.stats;
    let refused: u64 = stats.refused.values().sum();
    if refused > 0 {
        let codes: Vec<_> = stats.refused.keys().copied().collect();
        return format!("{refused} of its changes were refused ({})", codes.join(", "));
    }
    match stats.held + stats.parked {
        0 => format!("the exchange ended with {} before both sides held the same", outcome.code),
        waiting => format!("{waiting} of its changes wait for a grant, an earlier change, or the time they claim"),
    }
}

/// The device that the user means by `host:port` or `did:key:…@host:port`. Without its identity, whoever answers there is meant:
/// what it may see is decided by its grants in any case.
fn find(memory: &Memory, peer: &str) -> Result<PeerAddress, Failure> {
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
        None => network::runtime()?.block_on(ask(Identity::new(memory.home.device_key().clone()), &address))?,
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
