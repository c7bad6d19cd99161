//! Which devices hold the memory, and letting in another.

use std::net::SocketAddr;

use memlet_auth::did::to_did;
use memlet_auth::grant::{Abilities, Ability};
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_node::{Namespace, Node, Role as GrantRole};
use memlet_server::home::Home;
use memlet_server::quic::Identity;
use memlet_server::{Invitation, InviteOptions, PeerAddress, SyncWith};
use memlet_sync::invite::Invite;
use serde_json::{Value as Json, json};

use super::exchange::{Fared, exchange};
use crate::args::Role;
use crate::context::{Context, Memory};
use crate::failure::Failure;
use crate::network;
use crate::output::columns;
use crate::time::rfc3339;

/// The identity of a namespace, as paths and people name it.
pub(super) fn namespace_did(id: NamespaceId) -> String {
    to_did(&PublicKey(id.0))
}

pub(super) fn id(context: &Context) -> Result<(), Failure> {
    let Memory { home, namespace } = context.existing()?;
    let output = json!({"namespace": namespace_did(namespace.id()), "device": to_did(&home.node().device())});
    context.output.result(&output, |output| {
        columns(
            &["namespace", "device"]
                .map(|name| [name.to_owned(), output[name].as_str().unwrap_or_default().to_owned()]),
        )
    })
}

pub(super) fn devices(context: &Context) -> Result<(), Failure> {
    let Memory { home, namespace } = context.existing()?;
    let rows = rows(home.node(), &namespace)?;
    context.output.result(&Json::Array(rows), |rows| {
        let line = |row: &Json| {
            let text = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
            let seen = match (row["here"].as_bool(), row["last_seen_ms"].as_u64()) {
                (Some(true), _) => "this device".to_owned(),
                (_, Some(ms)) => format!("met {}", rfc3339(ms)),
                (_, None) => "never met".to_owned(),
            };
            [text("device"), text("role"), text("name"), seen]
        };
        columns(&rows.as_array().into_iter().flatten().map(line).collect::<Vec<_>>())
    })
}

/// The devices of a memory, as `devices` shows them.
pub(super) fn rows(node: &Node, namespace: &Namespace) -> Result<Vec<Json>, Failure> {
    let peers = node.peers()?;
    let rows = namespace.devices()?.into_iter().map(|info| {
        let peer = peers.iter().find(|peer| peer.device == info.device);
        let name =
            if info.here { Some(network::device_name().to_string()) } else { peer.map(|peer| peer.name.clone()) };
        json!({
            "device": to_did(&info.device),
            "name": name,
            "here": info.here,
            "role": role(info.abilities),
            "abilities": info.abilities.iter().map(Ability::name).collect::<Vec<_>>(),
            "expires_ms": info.expires_ms,
            "last_seen_ms": peer.map(|peer| peer.last_seen_ms),
            "addresses": peer.map(|peer| peer.addresses.clone()).unwrap_or_default(),
        })
    });
    Ok(rows.collect())
}

fn role(abilities: Abilities) -> &'static str {
    if abilities == Abilities::ALL {
        "device"
    } else if abilities == Abilities::of(&[Ability::Sync]) {
        "venue"
    } else {
        "limited"
    }
}

pub(super) fn invite(context: &Context, role: Role, listen: &[SocketAddr]) -> Result<(), Failure> {
    let Memory { home, namespace } = context.begin()?;
    let options = InviteOptions {
        name: network::device_name(),
        endpoint: network::listen(listen, &home.node().device()),
        namespace: namespace.id(),
        role: match role {
            Role::Device => GrantRole::Device,
            Role::Venue => GrantRole::Venue,
        },
        root: home.root_key()?,
    };
    let identity = Identity::new(home.device_key().clone());
    let joined = network::runtime()?.block_on(async {
        let invitation = Invitation::open(home.node().clone(), identity, options).await?;
        let uri = invitation.uri();
        context.output.result(&json!({"uri": *uri}), |_| uri.to_string())?;
        context.output.note("run `memlet join` with this line on the other device within ten minutes; it works once");
        Ok::<_, Failure>(invitation.joined().await?)
    })?;
    let output = json!({"device": to_did(&joined.device), "level": joined.level});
    context.output.result(&output, |_| format!("{} has joined.", to_did(&joined.device)))?;
    if !joined.level {
        context.output.note("it may not have everything yet; `memlet sync` there brings the rest");
    }
    Ok(())
}

pub(super) fn join(context: &Context, uri: &str) -> Result<(), Failure> {
    let invite = Invite::parse(uri)?;
    let dir = context.dir()?;
    let home = Home::open_or_create(&dir)?;
    let runtime = network::runtime()?;
    let (namespace, is_level) = match home.namespace()? {
        Some(namespace) if namespace.id() != invite.namespace => return Err(Failure::OtherMemory(dir)),
        Some(namespace) => {
            context.output.note("this device has joined before; syncing");
            (namespace, false)
        }
        None => {
            let identity = Identity::new(home.device_key().clone());
            let joining = memlet_server::join(home.node().clone(), identity, network::device_name(), &invite);
            let joining = runtime.block_on(joining)?;
            let is_level = joining.sync.is_ok_and(|outcome| outcome.level);
            (home.node().namespace(joining.namespace)?, is_level)
        }
    };
    let memory = Memory { home, namespace };
    let shortfall = if is_level {
        None
    } else {
        let inviter = PeerAddress { device: invite.inviter, addresses: invite.addresses };
        let fared = exchange(&runtime, &memory, &SyncWith::Only(inviter))?;
        fared.iter().find(|fared| !fared.is_level()).map(Fared::sentence)
    };
    let output = json!({
        "namespace": namespace_did(invite.namespace),
        "inviter": to_did(&invite.inviter),
        "level": shortfall.is_none(),
    });
    context.output.result(&output, |_| format!("Joined; the memory is in {}.", dir.display()))?;
    shortfall.map_or(Ok(()), |why| Err(Failure::NotLevel(format!("joined, but not level: {why}; run `memlet sync`"))))
}
