//! One exchange with other devices, and how each of them fared.

use std::collections::BTreeMap;

use memlet_auth::did::to_did;
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_server::quic::Identity;
use memlet_server::{PeerSync, SyncOutcome, SyncWith, sync_once};
use memlet_sync::code::CloseCode;
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use crate::context::Memory;
use crate::failure::Failure;
use crate::network;

/// How often an exchange is repeated because somebody wrote during it.
const ATTEMPTS: usize = 5;

/// How one device fared.
pub(super) struct Fared {
    pub(super) device: PublicKey,
    /// Changes that were new here.
    received: u64,
    /// Changes that went there.
    sent: u64,
    standing: Standing,
}

enum Standing {
    /// Both hold the same.
    Level,
    /// Both held the same, but for what was written meanwhile.
    Overtaken,
    /// It was reached, and something keeps the two apart.
    Apart { code: &'static str, why: String },
    /// It was not reached.
    Unreached { code: &'static str, why: String },
}

/// Exchanges until both sides are level with each device of `with`, as far as that can be had.
pub(super) fn exchange(runtime: &Runtime, memory: &Memory, with: &SyncWith) -> Result<Vec<Fared>, Failure> {
    let identity = Identity::new(memory.home.device_key().clone());
    let mut moved: BTreeMap<PublicKey, (u64, u64)> = BTreeMap::new();
    let mut attempts = 0;
    loop {
        attempts += 1;
        let node = memory.home.node().clone();
        let syncs = runtime.block_on(sync_once(node, identity.clone(), network::device_name(), with.clone()))?;
        let mut fared: Vec<_> = syncs.into_iter().map(|sync| Fared::of(sync, memory.namespace.id())).collect();
        for fared in &mut fared {
            let (received, sent) = moved.entry(fared.device).or_default();
            (*received, *sent) = (*received + fared.received, *sent + fared.sent);
            (fared.received, fared.sent) = (*received, *sent);
        }
        let is_overtaken = fared.iter().any(|fared| matches!(fared.standing, Standing::Overtaken));
        if !is_overtaken || attempts == ATTEMPTS {
            return Ok(fared);
        }
    }
}

impl Fared {
    fn of(sync: PeerSync, namespace: NamespaceId) -> Self {
        let nothing = |standing| Self { device: sync.device, received: 0, sent: 0, standing };
        let outcomes = match sync.namespaces {
            Ok(outcomes) => outcomes,
            Err(error) => return nothing(Standing::Unreached { code: error.code(), why: error.to_string() }),
        };
        let is_another = |outcome: &SyncOutcome| outcome.namespace != namespace;
        match outcomes.into_iter().find(|outcome| !outcome.as_ref().is_ok_and(is_another)) {
            Some(Ok(outcome)) => Self {
                received: outcome.stats.applied,
                sent: outcome.stats.sent.changes,
                ..nothing(Standing::of(&outcome))
            },
            Some(Err(error)) => nothing(Standing::Apart { code: error.code(), why: error.to_string() }),
            None => {
                let why = "this memory was not exchanged with it; run `memlet sync` again".into();
                nothing(Standing::Apart { code: "NOT_LEVEL", why })
            }
        }
    }

    pub(super) fn is_level(&self) -> bool {
        matches!(self.standing, Standing::Level)
    }

    pub(super) fn is_reached(&self) -> bool {
        !matches!(self.standing, Standing::Unreached { .. })
    }

    /// For people.
    pub(super) fn sentence(&self) -> String {
        match &self.standing {
            Standing::Level => format!("level, {} changes received, {} sent", self.received, self.sent),
            Standing::Overtaken => "level but for what is being written all the time".into(),
            Standing::Unreached { code: "PEER_NO_ANSWER" | "PEER_NO_ADDRESS", why } => {
                format!("{why} (`memlet serve` there makes it reachable)")
            }
            Standing::Apart { why, .. } | Standing::Unreached { why, .. } => why.clone(),
        }
    }

    /// For programs.
    pub(super) fn row(&self) -> Json {
        let error = match &self.standing {
            Standing::Level => None,
            Standing::Overtaken => Some("NOT_LEVEL"),
            Standing::Apart { code, .. } | Standing::Unreached { code, .. } => Some(*code),
        };
        json!({
            "device": to_did(&self.device),
            "level": self.is_level(),
            "received": self.received,
            "sent": self.sent,
            "error": error.map(|code| json!({"code": code, "message": self.sentence()})),
        })
    }
}

impl Standing {
    fn of(outcome: &SyncOutcome) -> Self {
        let apart = |code, why: String| Self::Apart { code, why };
        let stats = &outcome.stats;
        let refused: u64 = stats.refused.values().sum();
        let waiting = stats.held + stats.parked;
        if outcome.level {
            Self::Level
        } else if outcome.code == CloseCode::Denied {
            let why =
                "it does not hold this memory, or knows no right of this device to it; whoever owns it can invite";
            apart(outcome.code.code(), why.into())
        } else if refused > 0 {
            let codes: Vec<_> = stats.refused.keys().copied().collect();
            apart("NOT_LEVEL", format!("{refused} of its changes were refused ({})", codes.join(", ")))
        } else if waiting > 0 {
            let why = format!("{waiting} of its changes wait for a grant, an earlier change, or the time they claim");
            apart("NOT_LEVEL", why)
        } else if outcome.code == CloseCode::Done {
            Self::Overtaken
        } else {
            apart(outcome.code.code(), format!("the exchange ended early, with {}", outcome.code))
        }
    }
}
