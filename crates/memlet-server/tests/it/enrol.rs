//! Bringing a device into a namespace by an invite.

use memlet_node::Role;
use memlet_server::quic::EndpointOptions;
use memlet_server::{Invitation, InviteOptions, JoinFailed, join};
use memlet_sync::enrol::JoinError;
use memlet_sync::invite::Invite;

use crate::device::{Device, name};
use crate::support::within;

async fn invite(inviter: &Device) -> Invitation {
    let options = InviteOptions {
        name: name(),
        endpoint: EndpointOptions { listen: vec!["127.0.0.1:0".parse().unwrap()], ..EndpointOptions::default() },
        namespace: inviter.home(),
        role: Role::Device,
        root: None,
    };
    Invitation::open(inviter.node.clone(), inviter.identity(), options).await.unwrap()
}

#[tokio::test]
async fn an_invited_device_joins_and_both_end_level() {
    let (a, b) = (Device::first(1, 100), Device::new(2));
    (0..20).for_each(|n| a.remember(&format!("item {n}")));
    let invitation = invite(&a).await;
    let invite = Invite::parse(&invitation.uri()).unwrap();
    let joining = join(b.node.clone(), b.identity(), name(), &invite);
    let (joined, joining) = tokio::join!(within(invitation.joined()), within(joining));

    let joining = joining.unwrap();
    assert_eq!((joining.namespace, joining.inviter), (a.home(), a.key()));
    assert!(joining.sync.unwrap().level);
    let joined = joined.unwrap();
    assert_eq!((joined.device, joined.level), (b.key(), true));
    assert_eq!(b.recall(), a.recall());
    assert_eq!(b.recall().lines().count(), 20);

    // they can find each other again
    assert_eq!(
        b.node.peers().unwrap()[0].addresses,
        invite.addresses.iter().map(ToString::to_string).collect::<Vec<_>>()
    );
    assert_eq!(a.node.peers().unwrap()[0].device, b.key());
    // and the new device has a right of its own
    b.remember("mine too");
    let b_serves = b.serve(vec![]);
    let syncs = a.sync(&[&b_serves]).await;
    assert!(syncs[0].namespaces.as_ref().unwrap()[0].as_ref().unwrap().level);
    assert!(a.recall().contains("mine too"));
}

#[tokio::test]
async fn who_does_not_know_the_secret_stays_out_and_the_invite_stays_open() {
    let (a, eve, b) = (Device::first(1, 100), Device::new(6), Device::new(2));
    let invitation = invite(&a).await;
    let good = Invite::parse(&invitation.uri()).unwrap();
    let joined = tokio::spawn(invitation.joined());

    let guessed = Invite { secret: memlet_auth::proof::InviteSecret::from_bytes([0; 32]), ..good.clone() };
    let error = within(join(eve.node.clone(), eve.identity(), name(), &guessed)).await.unwrap_err();
    assert!(matches!(error, JoinFailed::Refused(JoinError::WrongSecret)), "{error}");
    assert_eq!(eve.node.namespaces().unwrap(), []);

    let joining = within(join(b.node.clone(), b.identity(), name(), &good)).await.unwrap();
    assert!(joining.sync.unwrap().level);
    assert_eq!(within(joined).await.unwrap().unwrap().device, b.key());
}

#[tokio::test]
async fn an_invite_is_good_for_one_device_and_one_namespace_only() {
    let (a, b) = (Device::first(1, 100), Device::new(2));
    let invitation = invite(&a).await;
    let good = Invite::parse(&invitation.uri()).unwrap();
    let joined = tokio::spawn(invitation.joined());
    let again = Device::let_in_by(&a, 3);
    let error = within(join(again.node.clone(), again.identity(), name(), &good)).await.unwrap_err();
    assert_eq!(error.code(), "NAMESPACE_EXISTS", "a device that is in spends no invite");

    within(join(b.node.clone(), b.identity(), name(), &good)).await.unwrap();
    within(joined).await.unwrap().unwrap();
    let late = Device::new(4);
    let error = within(join(late.node.clone(), late.identity(), name(), &good)).await.unwrap_err();
    assert!(matches!(error, JoinFailed::Reach(_)), "the inviter is gone, not {error}");
}

#[tokio::test]
async fn a_server_without_an_invite_lets_no_one_in_and_tells_nothing() {
    let (a, b) = (Device::first(1, 100), Device::new(2));
    let invitation = invite(&a).await;
    let mut good = Invite::parse(&invitation.uri()).unwrap();
    drop(invitation);
    let a_serves = a.serve(vec![]);
    good.addresses = a_serves.peer().addresses;
    let error = within(join(b.node.clone(), b.identity(), name(), &good)).await.unwrap_err();
    assert!(matches!(error, JoinFailed::Refused(JoinError::WrongSecret)), "{error}");
    assert_eq!(a_serves.refusals("INVITE_WRONG_SECRET"), 1);
}

/// A joiner was killed when it had written its grants and not yet that they are of its home. It was told that it had joined
/// before, by the same invite that it was to use again.
#[tokio::test]
async fn a_join_that_was_cut_short_is_completed_by_the_same_invite() {
    let (a, b) = (Device::first(1, 100), Device::new(2));
    a.remember("dear");
    let invitation = invite(&a).await;
    let good = Invite::parse(&invitation.uri()).unwrap();
    let joined = tokio::spawn(invitation.joined());
    b.fail_commit(1);
    let error = within(join(b.node.clone(), b.identity(), name(), &good)).await.unwrap_err();
    assert_eq!(error.code(), "STORE_FULL");
    assert_eq!((b.node.namespaces().unwrap(), b.node.home().unwrap()), (vec![a.home()], None));

    let joining = within(join(b.node.clone(), b.identity(), name(), &good)).await.unwrap();
    assert!(joining.sync.unwrap().level);
    assert!(within(joined).await.unwrap().unwrap().level);
    assert_eq!(b.recall(), "1. dear");
}
