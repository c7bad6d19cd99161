//! Changes from outside: judged one by one, made durable together, and only then shown or acknowledged.
//!
//! The order of the checks is that of the gate: signature and grant before anything is parsed, then what the change claims,
//! then what it does against what its author may do.

use memlet_auth::chain::VerifiedGrant;
use memlet_auth::effects;
use memlet_auth::error::{Denied, StampRefusal};
use memlet_auth::grant::Ability;
use memlet_auth::stamp::{Arrival, Verdict};
use memlet_core::document::{AdmitError, ChangeHead, Effect, Effects, MalformedChange, Parsed, Refusal};
use memlet_core::id::PublicKey;

use super::log::StampedChange;
use super::open::Open;
use super::{Namespace, Outcome};
use crate::error::NodeError;

/// What became of changes or statements from outside. What is not counted here was known already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// How many were taken in; they are durable.
    pub applied: u64,
    /// How many of those given wait for something: a grant, a change before them, or the time they claim.
    pub waiting: u64,
    /// The codes of those that were refused for good.
    pub refused: Vec<&'static str>,
}

/// Why one change is not applied.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Malformed(#[from] MalformedChange),
    #[error(transparent)]
    Stamp(#[from] StampRefusal),
    #[error(transparent)]
    Claim(#[from] Refusal),
    #[error(transparent)]
    Denied(#[from] Denied),
}

impl Refused {
    fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "CHANGE_MALFORMED",
            Self::Stamp(error) => error.code(),
            Self::Claim(Refusal::Sequence { .. }) => "CHANGE_SEQUENCE",
            Self::Claim(_) => "CHANGE_CLAIM",
            Self::Denied(error) => error.code(),
        }
    }
}

enum Judged {
    Applied(Parsed),
    Known,
    Waits,
}

impl Namespace {
    /// Takes in changes from a peer, in the order they came. When it returns, what was applied is durable.
    ///
    /// # Errors
    /// The store or the document fails; nothing was taken in then. A bad change is no error: see [`Admission::refused`].
    pub fn admit(&self, changes: Vec<StampedChange>) -> Result<Admission, NodeError> {
        match self.try_admit(&changes) {
            // Automerge choked on one of them: find out which, so that the others are not lost for it.
            Err(NodeError::Document(_)) if changes.len() > 1 => {
                let mut total = Admission::default();
                for change in changes {
                    total.add(self.admit(vec![change])?);
                }
                Ok(total)
            }
            Err(NodeError::Document(broken)) => {
                tracing::warn!(%broken, "a change passed the gate and broke the document; it was refused");
                self.shared.count_refusal("CHANGE_BROKEN");
                Ok(Admission { refused: vec!["CHANGE_BROKEN"], ..Admission::default() })
            }
            admitted => admitted,
        }
    }

    fn try_admit(&self, changes: &[StampedChange]) -> Result<Admission, NodeError> {
        let admission = self.transact(|open, write| {
            let before = open.waiting.len() as u64;
            let mut admission = Admission::default();
            let mut applied = Vec::new();
            let mut round = open.waiting.take();
            round.extend_from_slice(changes);
            // What one change waits for may be another of the same round.
            loop {
                let count = applied.len();
                for change in std::mem::take(&mut round) {
                    match self.judge(open, &change) {
                        Ok(Judged::Applied(parsed)) => applied.push((parsed.actor, change)),
                        Ok(Judged::Known) => {}
                        Ok(Judged::Waits) => round.push(change),
                        Err(AdmitError::Refused(refused)) => admission.refuse(self, &refused),
                        Err(AdmitError::Broken(broken)) => return Err(broken.into()),
                    }
                }
                if applied.len() == count {
                    break;
                }
            }
            for change in round {
                let hash =
                    ChangeHead::read(&change.change).map_or(memlet_core::id::ChangeHash([0; 32]), |head| head.hash);
                for _ in 0..open.waiting.push(hash, change) {
                    self.shared.count_refusal("WAITING_FULL");
                }
            }
            admission.waiting = (open.waiting.len() as u64).saturating_sub(before);
            admission.applied = applied.len() as u64;
            open.document.seal()?;
            for (actor, change) in &applied {
                open.append(write, *actor, change)?;
            }
            Ok(if applied.is_empty() { Outcome::Leave(admission) } else { Outcome::Commit(admission) })
        })?;
        Ok(admission)
    }

    /// Judges one change and, if it holds, applies it to the document in memory.
    fn judge(&self, open: &mut Open, stamped: &StampedChange) -> Result<Judged, AdmitError<Refused>> {
        let head = ChangeHead::read(&stamped.change).map_err(refused)?;
        if open.document.knows(&head.hash) {
            return Ok(Judged::Known);
        }
        let arrival = Arrival {
            epoch: open.document.epoch().1,
            actor: head.actor,
            change: head.hash,
            previous_ms: open.last_stamp_ms(&head.actor),
            now_ms: self.shared.now_ms(),
        };
        let stamp = match stamped.stamp.verify(&open.statements, &arrival).map_err(refused)? {
            Verdict::Verified(stamp) => stamp,
            Verdict::Parked(_) | Verdict::Held { .. } => return Ok(Judged::Waits),
        };
        let parsed = Parsed::from_bytes(&stamped.change).map_err(refused)?;
        let grant = stamp.grant();
        let admitted =
            open.document.admit::<Refused>(&parsed, &grant.id(), |effects| Ok(check_effects(grant, effects)?));
        match admitted {
            Ok(()) => {
                open.stamped(head.actor, stamped.stamp.time_ms);
                Ok(Judged::Applied(parsed))
            }
            Err(AdmitError::Refused(Refused::Claim(Refusal::MissingDependency))) => Ok(Judged::Waits),
            Err(error) => Err(error),
        }
    }

    /// Takes in grants from a peer.
    ///
    /// # Errors
    /// The store fails. A bad grant is no error: see [`Admission::refused`].
    pub fn admit_statements(&self, statements: &[Vec<u8>], peer: PublicKey) -> Result<Admission, NodeError> {
        use memlet_auth::statements::Insertion;
        let admission = self.transact(|open, write| {
            let mut admission = Admission::default();
            for statement in statements {
                match open.add_statement(write, statement, peer) {
                    Ok(Insertion::New { added, refused }) => {
                        admission.applied += added.len() as u64;
                        refused.iter().for_each(|refusal| admission.count(self, refusal.code()));
                    }
                    Ok(Insertion::Known(_)) => {}
                    Ok(Insertion::Parked(_)) => admission.waiting += 1,
                    Ok(Insertion::Dropped(_)) => self.shared.count_refusal("WAITING_FULL"),
                    Err(NodeError::Grant(refusal)) => admission.count(self, refusal.code()),
                    Err(error) => return Err(error),
                }
            }
            Ok(if admission.applied > 0 { Outcome::Commit(admission) } else { Outcome::Leave(admission) })
        })?;
        if admission.applied > 0 {
            // A change may have waited for one of them.
            self.admit(Vec::new())?;
        }
        Ok(admission)
    }
}

impl Admission {
    fn add(&mut self, other: Self) {
        self.applied += other.applied;
        self.waiting += other.waiting;
        self.refused.extend(other.refused);
    }

    fn refuse(&mut self, namespace: &Namespace, refused: &Refused) {
        tracing::debug!(%refused, "a change was refused");
        self.count(namespace, refused.code());
    }

    fn count(&mut self, namespace: &Namespace, code: &'static str) {
        namespace.shared.count_refusal(code);
        self.refused.push(code);
    }
}

fn refused<E: Into<Refused>>(error: E) -> AdmitError<Refused> {
    AdmitError::Refused(error.into())
}

/// Adding and editing needs `write`, removing `forget`, each at its path and in every link of the chain.
pub(super) fn check_effects(grant: &VerifiedGrant, effects: &Effects) -> Result<(), Denied> {
    let needed = effects.iter().map(|(effect, path)| {
        let ability = match effect {
            Effect::Write => Ability::Write,
            Effect::Forget => Ability::Forget,
        };
        (ability, path.clone())
    });
    effects::check_effects(grant, &needed.collect())
}
