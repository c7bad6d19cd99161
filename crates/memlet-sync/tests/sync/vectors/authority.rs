//! `authority.json`: what is signed, and with what result.

use memlet_auth::grant::Grant;
use memlet_auth::keys::SigningKey;
use memlet_auth::proof::open_proof;
use memlet_core::id::GrantId;
use memlet_sync::clock::{ActorRef, StatementRef};
use serde_json::{Value, json};

use super::{check, hex};
use crate::fixed;

#[test]
fn authority() {
    let agent = fixed::key(9);
    let (device_grant, agent_grant) = (fixed::device_grant(0), fixed::agent_grant(&agent));
    let vectors = vec![
        grant("a grant of the namespace key", &device_grant),
        grant("a grant under it, to an agent", &agent_grant),
        stamp("a stamp of a device", &fixed::key(0), &device_grant),
        stamp("a stamp of an agent", &agent, &agent_grant),
        open(),
        invite(),
        actor(),
    ];
    check(
        "authority.json",
        "Signatures are ed25519 (RFC 8032), ids blake3. Keys are the public halves of fixed secrets.",
        vectors,
    );
}

fn grant(name: &str, grant: &Grant) -> Value {
    let body = grant.body();
    let caps = body
        .terms
        .caps
        .iter()
        .map(|cap| json!({ "abilities": cap.abilities.to_string(), "path": cap.path.segments() }));
    json!({
        "name": name,
        "statement": hex(grant.to_bytes()),
        "id": hex(grant.id().0),
        "ref": hex(StatementRef::of_grant(&grant.id()).0),
        "meaning": {
            "namespace": hex(body.namespace.0),
            "issuer": hex(body.issuer.0),
            "audience": hex(body.terms.audience.0),
            "parent": body.parent.map(|GrantId(id)| hex(id)),
            "caps": caps.collect::<Vec<_>>(),
            "not_before": body.terms.not_before,
            "expires": body.terms.expires,
            "depth": body.terms.depth,
            "nonce": hex(body.terms.nonce),
        },
    })
}

fn stamp(name: &str, author: &SigningKey, grant: &Grant) -> Value {
    let stamp = fixed::stamp(author, grant);
    let body = stamp.body();
    let signatures = stamp.compact().signatures;
    json!({
        "name": name,
        "stamp": hex(stamp.to_bytes()),
        "author_signature": hex(signatures.author.0),
        "device_signature": signatures.device.map(|signature| hex(signature.0)),
        "meaning": {
            "namespace": hex(body.context.namespace.0),
            "epoch": hex(body.context.epoch.0),
            "author": hex(body.author.0),
            "grant": hex(body.grant.0),
            "device": hex(body.device.0),
            "change": hex(body.change.0),
            "time_ms": body.time_ms,
        },
    })
}

fn open() -> Value {
    let proof = open_proof(&fixed::key(0), &fixed::namespace(), &fixed::EXPORTER);
    json!({
        "name": "the proof of an Open",
        "proof": hex(proof.0),
        "meaning": {
            "device": hex(fixed::key(0).public().0),
            "namespace": hex(fixed::namespace().0),
            "exporter": hex(fixed::EXPORTER.0),
        },
    })
}

fn invite() -> Value {
    let (secret, inviter, joiner) = (fixed::invite().secret, fixed::key(0).public(), fixed::key(1).public());
    let proof = secret.prove(&fixed::EXPORTER, &inviter, &joiner);
    json!({
        "name": "the proof of a Join",
        "proof": hex(proof.0),
        "meaning": {
            "secret": hex(secret.as_bytes()),
            "exporter": hex(fixed::EXPORTER.0),
            "inviter": hex(inviter.0),
            "joiner": hex(joiner.0),
        },
    })
}

fn actor() -> Value {
    let actor = fixed::actor(0);
    json!({
        "name": "the name of an actor in a clock",
        "ref": hex(ActorRef::of(&actor).0),
        "meaning": { "device": hex(actor.device.0), "replica": hex(actor.replica.0) },
    })
}
