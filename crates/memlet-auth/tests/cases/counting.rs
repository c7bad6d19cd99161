//! Properties of counting over random chains, revocations and histories, held against a slow reading of the rules that
//! follows every definition word by word and shares no code with them.

use std::collections::BTreeSet;

use memlet_auth::grant::{Ability, Cap, Grant, Terms};
use memlet_auth::revocation::{Revocation, RevocationBody, Target};
use memlet_auth::statements::Statements;
use memlet_core::id::{GrantId, PublicKey};
use memlet_core::path::Path;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::fixture::*;
use crate::history::History;
use crate::properties::any_cap;

/// The keys that hold grants and write.
const DEVICES: [u8; 4] = [ALICE, BOB, CAROL, DAVE];

/// A drawn namespace: who was granted what, what was written, what was revoked.
#[derive(Debug, Clone)]
struct Plan {
    grants: Vec<PlannedGrant>,
    changes: Vec<PlannedChange>,
    revocations: Vec<PlannedRevocation>,
    /// Which of the changes a replica has that does not have all.
    shown: Vec<Index>,
    salt: u8,
}

#[derive(Debug, Clone)]
struct PlannedGrant {
    /// Among the earlier grants and the root key.
    parent: Index,
    audience: Index,
    caps: Vec<Cap>,
}

#[derive(Debug, Clone)]
struct PlannedChange {
    grant: Index,
    replica: u8,
    seen: Vec<Index>,
}

#[derive(Debug, Clone)]
struct PlannedRevocation {
    /// Among the grants and the root key.
    issuer: Index,
    target: Index,
    is_key: bool,
    keep: Vec<Index>,
    /// Among the earlier revocations.
    upheld: Vec<Index>,
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let few = |max| prop::collection::vec(any::<Index>(), 0..=max);
    let grant = (any::<Index>(), any::<Index>(), prop::collection::vec(any_cap(), 1..3))
        .prop_map(|(parent, audience, caps)| PlannedGrant { parent, audience, caps });
    let change =
        (any::<Index>(), 0..2u8, few(2)).prop_map(|(grant, replica, seen)| PlannedChange { grant, replica, seen });
    let revocation = (any::<Index>(), any::<Index>(), any::<bool>(), few(2), few(3))
        .prop_map(|(issuer, target, is_key, keep, upheld)| PlannedRevocation { issuer, target, is_key, keep, upheld });
    (
        prop::collection::vec(grant, 1..9),
        prop::collection::vec(change, 1..19),
        prop::collection::vec(revocation, 0..7),
        few(3),
        any::<u8>(),
    )
        .prop_map(|(grants, changes, revocations, shown, salt)| Plan { grants, changes, revocations, shown, salt })
}

/// The plan, signed.
struct Scene {
    grants: Vec<Grant>,
    /// What each grant allows together with its chain.
    allowed: BTreeSet<(GrantId, Path, Ability)>,
    history: History,
    revocations: Vec<Revocation>,
}

impl Plan {
    fn sign(&self) -> Scene {
        let grants = self.sign_grants();
        let mut history = History::default();
        for (number, PlannedChange { grant, replica, seen }) in self.changes.iter().enumerate() {
            let grant = grant.get(&grants);
            let seen: Vec<usize> = seen.iter().filter(|_| number > 0).map(|seen| seen.index(number)).collect();
            history.write(device_of(&audience(grant)), *replica, grant.id(), &seen);
        }
        let mut revocations: Vec<Revocation> = Vec::new();
        for planned in &self.revocations {
            let issuer = grants.get(planned.issuer.index(grants.len() + 1));
            let target = planned.target.get(&grants);
            let target = if planned.is_key { Target::Key(audience(target)) } else { Target::Grant(target.id()) };
            let seed = issuer.map_or(ROOT, |grant| device_of(&audience(grant)));
            let keep = planned.keep.iter().map(|kept| history.kept(kept.index(self.changes.len()))).collect();
            let upheld = planned.upheld.iter().filter(|_| !revocations.is_empty());
            let upheld = upheld.map(|upheld| upheld.get(&revocations).id()).collect();
            let body = revocation(seed, issuer.map(Grant::id), target);
            revocations.push(revoke(seed, &RevocationBody { keep, upheld, ..body }));
        }
        let mut scene = Scene { grants, allowed: BTreeSet::new(), history, revocations };
        scene.allowed = scene.every_allowance();
        scene
    }

    fn sign_grants(&self) -> Vec<Grant> {
        let mut grants: Vec<Grant> = Vec::new();
        for (number, planned) in (0u8..).zip(&self.grants) {
            let parent = grants.get(planned.parent.index(grants.len() + 1)).cloned();
            let depth = parent.as_ref().map_or(20, |parent| parent.body().terms.depth - 1);
            let nonce = [number; 16];
            let terms = Terms { nonce, ..terms(*planned.audience.get(&DEVICES), depth, planned.caps.clone()) };
            grants.push(match parent {
                Some(parent) => child(device_of(&audience(&parent)), parent.id(), terms),
                None => Grant::root(&key(ROOT), terms).unwrap(),
            });
        }
        grants
    }
}

fn audience(grant: &Grant) -> PublicKey {
    grant.body().terms.audience
}

fn device_of(key: &PublicKey) -> u8 {
    DEVICES.into_iter().find(|device| public(*device) == *key).unwrap()
}

impl Scene {
    /// A replica that received all statements, in an order of its own.
    fn replica(&self, salt: u8) -> Statements {
        let grants = self.grants.iter().map(Grant::to_bytes);
        let mut sent: Vec<_> = grants.chain(self.revocations.iter().map(Revocation::to_bytes)).collect();
        sent.sort_by_key(|bytes| blake3::hash(&[bytes.as_slice(), &[salt]].concat()).to_hex());
        let mut statements = Statements::new(namespace()).unwrap();
        for bytes in sent.iter().chain(&sent[..1]) {
            assert!(statements.insert(bytes, public(ALICE)).is_ok());
        }
        statements
    }

    fn grant(&self, id: &GrantId) -> &Grant {
        self.grants.iter().find(|grant| grant.id() == *id).unwrap()
    }

    /// The chain of a grant, from itself upwards.
    fn chain(&self, grant: &Grant) -> Vec<&Grant> {
        let mut chain = vec![self.grant(&grant.id())];
        while let Some(parent) = &chain.last().unwrap().body().parent {
            chain.push(self.grant(parent));
        }
        chain
    }

    fn every_allowance(&self) -> BTreeSet<(GrantId, Path, Ability)> {
        let gives = |link: &Grant, ability, path: &Path| {
            let at = |cap: &Cap| cap.abilities.contains(ability) && path.segments().starts_with(cap.path.segments());
            link.body().terms.caps.iter().any(at)
        };
        let mut allowed = BTreeSet::new();
        for (grant, path) in self.grants.iter().flat_map(|grant| every_path().map(move |path| (grant, path))) {
            let chain = self.chain(grant);
            let passed_on = chain[1..].iter().all(|link| gives(link, Ability::Grant, &path));
            let given = |ability: &Ability| passed_on && chain.iter().all(|link| gives(link, *ability, &path));
            allowed.extend(Ability::ALL.into_iter().filter(given).map(|ability| (grant.id(), path.clone(), ability)));
        }
        allowed
    }

    fn rank(&self, revocation: usize) -> usize {
        let issuer = self.revocations[revocation].body().grant;
        issuer.map_or(0, |issuer| self.chain(self.grant(&issuer)).len())
    }

    /// Whether a revocation names this very grant and may.
    fn reaches(&self, revocation: usize, grant: &Grant) -> bool {
        let body = self.revocations[revocation].body();
        let named = body.target == Target::Grant(grant.id()) || body.target == Target::Key(audience(grant));
        let Some(issuer) = body.grant.map(|issuer| self.grant(&issuer)) else { return named };
        let upstream = self.chain(grant)[1..].contains(&issuer);
        let mut paths = self.allowed.iter().filter(|(id, ..)| *id == grant.id()).map(|(_, path, _)| path).peekable();
        let revokes_at = |path: &Path| self.allowed.contains(&(issuer.id(), path.clone(), Ability::Revoke));
        let holds_revoke = paths.peek().is_some() && paths.all(revokes_at);
        named && (upstream || holds_revoke && self.rank(revocation) <= self.chain(grant).len())
    }

    fn hits(&self, revocation: usize, grant: &Grant) -> bool {
        self.chain(grant).into_iter().any(|link| self.reaches(revocation, link))
    }

    fn revocation_counts(&self, revocation: usize) -> bool {
        let Some(issuer) = self.revocations[revocation].body().grant.map(|issuer| self.grant(&issuer)) else {
            return true;
        };
        let id = self.revocations[revocation].id();
        !(0..self.revocations.len()).any(|other| {
            self.rank(other) < self.rank(revocation)
                && self.hits(other, issuer)
                && !self.revocations[other].body().upheld.contains(&id)
                && self.revocation_counts(other)
        })
    }

    fn past(&self, change: usize) -> BTreeSet<usize> {
        let mut past = BTreeSet::from([change]);
        for dependency in &self.history.changes()[change].dependencies {
            past.extend(self.past(*dependency));
        }
        past
    }

    fn untouched(&self, revocations: &[usize]) -> Vec<u8> {
        let hit = |grant: &Grant| revocations.iter().any(|revocation| self.hits(*revocation, grant));
        let is_touched = |device: &u8| self.grants.iter().any(|grant| audience(grant) == public(*device) && hit(grant));
        DEVICES.into_iter().filter(|device| !is_touched(device)).collect()
    }

    /// The changes that count, when all are known.
    fn counted(&self) -> BTreeSet<usize> {
        let revocations: Vec<_> = (0..self.revocations.len()).filter(|r| self.revocation_counts(*r)).collect();
        let untouched = self.untouched(&revocations);
        let changes = self.history.changes();
        let mut counted = BTreeSet::new();
        for (number, change) in changes.iter().enumerate() {
            if untouched.contains(&device_of(&change.actor.device)) {
                counted.extend(self.past(number));
            }
        }
        for (number, change) in changes.iter().enumerate() {
            let grant = self.grant(&change.grant);
            let kept_by = |revocation: &usize| {
                let body = self.revocations[*revocation].body();
                let named =
                    (0..changes.len()).filter(|at| body.keep.values().any(|kept| kept.change == changes[*at].hash));
                named.into_iter().any(|at| self.past(at).contains(&number))
            };
            let is_kept = revocations.iter().filter(|revocation| self.hits(**revocation, grant)).all(kept_by);
            let touched = !untouched.contains(&device_of(&change.actor.device));
            if touched && is_kept && change.dependencies.is_subset(&counted) {
                counted.insert(number);
            }
        }
        counted
    }
}

/// Every path over the segments of the drawn capabilities.
fn every_path() -> impl Iterator<Item = Path> {
    let segments = ["w", "notes", "mem"];
    let deeper = move |paths: &Vec<Path>| -> Vec<Path> {
        paths.iter().flat_map(|path| segments.map(|segment| path.child(segment).unwrap())).collect()
    };
    std::iter::successors(Some(vec![Path::ROOT]), move |paths| Some(deeper(paths))).take(4).flatten()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_counts_is_what_the_rules_say(plan in any_plan()) {
        let scene = plan.sign();
        let statements = scene.replica(plan.salt);
        let revoked = statements.revoked();
        let counting: Vec<_> = (0..scene.revocations.len()).filter(|r| scene.revocation_counts(*r)).collect();
        for grant in &scene.grants {
            let hit = counting.iter().any(|revocation| scene.hits(*revocation, grant));
            prop_assert_eq!(revoked.hits(statements.get(&grant.id()).unwrap()), hit);
        }
        let untouched = scene.untouched(&counting);
        for device in DEVICES {
            prop_assert_eq!(revoked.touched(&public(device)), !untouched.contains(&device));
        }

        let counted = scene.counted();
        prop_assert_eq!(scene.history.count(&scene.history.order(plan.salt), &statements), counted.clone());
        for (number, change) in scene.history.changes().iter().enumerate() {
            let stays = counted.contains(&number);
            prop_assert!(!stays || scene.past(number).is_subset(&counted), "closed downwards");
            prop_assert!(stays || !untouched.contains(&device_of(&change.actor.device)), "the untouched lose nothing");
        }
    }

    #[test]
    fn no_order_of_statements_or_changes_shows(plan in any_plan()) {
        let scene = plan.sign();
        let counted = scene.history.count(&scene.history.order(0), &scene.replica(0));
        for salt in [plan.salt, plan.salt.wrapping_add(1)] {
            let (statements, order) = (scene.replica(salt), scene.history.order(salt));
            prop_assert_eq!(scene.history.count(&order, &statements), counted.clone());
            prop_assert_eq!(scene.history.deliver(&order, &statements), counted.clone());
        }
    }

    #[test]
    fn a_replica_with_fewer_changes_counts_fewer(plan in any_plan()) {
        let scene = plan.sign();
        let statements = scene.replica(plan.salt);
        let order = scene.history.order(plan.salt);
        let shown: BTreeSet<usize> =
            plan.shown.iter().flat_map(|number| scene.past(number.index(order.len()))).collect();
        let part: Vec<usize> = order.iter().copied().filter(|number| shown.contains(number)).collect();
        let counted = scene.history.count(&part, &statements);
        prop_assert_eq!(scene.history.deliver(&part, &statements), counted.clone());
        prop_assert!(counted.is_subset(&scene.history.count(&order, &statements)));
    }

    #[test]
    fn a_revocation_that_makes_none_void_only_takes_away(plan in any_plan(), more in (any::<Index>(), any::<Index>())) {
        let mut scene = plan.sign();
        let order = scene.history.order(plan.salt);
        let before = scene.history.count(&order, &scene.replica(plan.salt));
        let (target, kept) = more;
        let upheld = scene.revocations.iter().map(Revocation::id).collect();
        let keep = [scene.history.kept(kept.index(order.len()))].into();
        let body = revocation(ROOT, None, Target::Grant(target.get(&scene.grants).id()));
        scene.revocations.push(revoke(ROOT, &RevocationBody { keep, upheld, ..body }));
        prop_assert!(scene.history.count(&order, &scene.replica(plan.salt)).is_subset(&before));
    }
}
