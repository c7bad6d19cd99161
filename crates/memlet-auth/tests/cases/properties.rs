//! Properties over random chains and random damage.

use memlet_auth::grant::{Abilities, Ability, Cap, Grant, Terms};
use memlet_auth::stamp::Stamp;
use memlet_auth::statements::{StatementId, Statements};
use memlet_core::id::GrantId;
use memlet_core::path::Path;
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use crate::fixture::*;

/// Few segments, so that paths often meet.
fn any_path() -> impl Strategy<Value = Path> {
    prop::collection::vec(prop::sample::select(vec!["w", "notes", "mem"]), 0..4)
        .prop_map(|segments| Path::new(segments).unwrap())
}

/// Often `grant` with what else there is, or no chain would give anything.
pub(crate) fn any_cap() -> impl Strategy<Value = Cap> {
    (subsequence(Ability::ALL.to_vec(), 0..=7), prop::bool::weighted(0.7), any_path()).prop_map(
        |(mut abilities, passes_on, path)| {
            if passes_on {
                abilities.push(Ability::Grant);
            }
            Cap { abilities: Abilities::of(&abilities), path }
        },
    )
}

/// The terms of a chain of one to eight links, each link issued to the next key.
fn any_chain() -> impl Strategy<Value = Vec<Terms>> {
    prop::collection::vec((prop::collection::vec(any_cap(), 1..4), 0..20u64, 0..20u64), 1..=8).prop_map(|links| {
        let audiences = 10u8..;
        let terms = |((caps, from, lasts), audience): ((Vec<Cap>, u64, u64), u8)| Terms {
            not_before: from,
            expires: Some(1 + from + lasts),
            ..terms(audience, 30 - audience, caps)
        };
        links.into_iter().zip(audiences).map(terms).collect()
    })
}

/// The signed chain, root first.
fn sign(chain: &[Terms]) -> Vec<Grant> {
    let mut grants: Vec<Grant> = Vec::new();
    for (terms, issuer) in chain.iter().zip(9u8..) {
        let grant = match grants.last() {
            Some(parent) => child(issuer, parent.id(), terms.clone()),
            None => Grant::root(&key(ROOT), terms.clone()).unwrap(),
        };
        grants.push(grant);
    }
    grants
}

fn covers(terms: &Terms, ability: Ability, path: &Path) -> bool {
    terms.caps.iter().any(|cap| cap.abilities.contains(ability) && path.segments().starts_with(cap.path.segments()))
}

#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    Cut(Index),
}

fn any_damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<Index>(), 1u8..).prop_map(|(at, mask)| Damage::Flip(at, mask)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        any::<Index>().prop_map(Damage::Remove),
        any::<Index>().prop_map(Damage::Cut),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let len = bytes.len();
        match self {
            Self::Flip(at, mask) => bytes[at.index(len)] ^= mask,
            Self::Insert(at, byte) => bytes.insert(at.index(len), *byte),
            Self::Remove(at) => drop(bytes.remove(at.index(len))),
            Self::Cut(at) => bytes.truncate(at.index(len)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_chain_allows_what_every_link_allows(chain in any_chain(), paths in prop::collection::vec(any_path(), 8)) {
        let mut world = World::new();
        for grant in sign(&chain) {
            world.add(&grant);
        }
        let leaf = world.statements.iter().max_by_key(|grant| grant.links()).unwrap();
        let (last, above) = chain.split_last().unwrap();
        for (path, ability) in paths.iter().flat_map(|path| Ability::ALL.map(|ability| (path, ability))) {
            // the last link gives it, and every link above gives it and may pass on there
            let expected = covers(last, ability, path)
                && above.iter().all(|link| covers(link, ability, path) && covers(link, Ability::Grant, path));
            prop_assert_eq!(leaf.permits(ability, path), expected, "{} at {}", ability, path);
            if let Some(parent) = leaf.chain().nth(1) {
                prop_assert!(!expected || parent.permits(ability, path));
            }
        }
        for second in 0..45u64 {
            let holds = chain.iter().all(|terms| (terms.not_before..=terms.expires.unwrap()).contains(&second));
            prop_assert_eq!(leaf.window().contains(second * 1_000), holds);
        }
    }

    #[test]
    fn the_set_does_not_depend_on_the_order(
        (chain, order) in any_chain().prop_flat_map(|chain| {
            let order = Just((0..chain.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(chain), order)
        })
    ) {
        let grants = sign(&chain);
        let mut world = World::new();
        for index in order {
            prop_assert!(world.insert(&grants[index]).is_ok());
        }
        let mut expected: Vec<GrantId> = grants.iter().map(Grant::id).collect();
        let sent: Vec<StatementId> = expected.iter().copied().map(StatementId::Grant).collect();
        prop_assert_eq!(world.statement_ids(), sent);
        expected.sort();
        prop_assert_eq!(world.ids(), expected);
        prop_assert_eq!(world.statements.parked(), 0);
    }

    #[test]
    fn a_damaged_grant_never_verifies(
        chain in any_chain(), damage in prop::collection::vec(any_damage(), 1..4), honest_first: bool
    ) {
        let mut world = World::new();
        let grants = sign(&chain);
        let (leaf, above) = grants.split_last().unwrap();
        for grant in above {
            world.add(grant);
        }
        if honest_first {
            world.add(leaf);
        }
        let mut bytes = leaf.to_bytes();
        damage.iter().for_each(|damage| damage.apply(&mut bytes));
        prop_assume!(bytes != leaf.to_bytes());
        let before = world.ids();
        prop_assert!(world.statements.insert(&bytes, public(ALICE)).is_err());
        prop_assert_eq!(world.ids(), before);
        prop_assert_eq!(world.statements.parked(), 0);
    }

    #[test]
    fn a_damaged_stamp_never_verifies(by_agent: bool, damage in prop::collection::vec(any_damage(), 1..4)) {
        let mut world = World::new();
        let grant = world.add_root(terms(ALICE, 0, [cap(&[Write], "w")]));
        let device = if by_agent { BOB } else { ALICE };
        let stamp = world.stamp(ALICE, device, grant);
        let mut bytes = stamp.to_bytes();
        damage.iter().for_each(|damage| damage.apply(&mut bytes));
        prop_assume!(bytes != stamp.to_bytes());
        if let Ok(damaged) = Stamp::parse(&bytes) {
            prop_assert!(damaged.verify(&world.statements, &arrival(device)).is_err());
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(Statements::new(namespace()).unwrap().insert(&bytes, public(ALICE)).is_err());
        if let Ok(stamp) = Stamp::parse(&bytes) {
            prop_assert_eq!(stamp.to_bytes(), bytes);
        }
    }
}
