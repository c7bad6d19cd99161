//! Changes from outside: judged one by one, made durable together, and only then shown or acknowledged.
//!
//! The order of the checks is that of the gate: signature and grant before anything is parsed, then what the change claims,
//! then what it does against what its author may do.

use memlet_auth::chain::VerifiedGrant;
use memlet_auth::effects;
use memlet_auth::error::{Denied, StampRefusal};
use memlet_auth::grant::Ability;
use memlet_auth::stamp::{Arrival, CompactStamp, Verdict};
use memlet_auth::statements::Insertion;
use memlet_core::document::{AdmitError, ChangeHead, Effect, Effects, MalformedChange, Parsed, Refusal};
use memlet_core::id::PublicKey;
use memlet_store::Write;
use memlet_sync::clock::{ActorRef, ChangeRef, StatementRef, Tip};
use memlet_sync::replica::{Admission, StampedChange, StatementAdmission};

use super::log::StoredChange;
use super::open::Open;
use super::waiting::WaitsFor;
use super::{Namespace, Outcome};
use crate::error::NodeError;

/// Why a change is not applied, for good.
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

/// What became of a change that was not refused.
#[derive(Clone, Copy)]
enum Judged {
    Applied(ChangeHead),
    Known(ChangeHead),
    /// It waits for something; with its head if its stamp holds, but for the time it claims.
    Waits(WaitsFor, Option<ChangeHead>),
}

/// Why a change was not judged.
enum Failure {
    /// The change is at fault.
    Refused(Refused),
    /// This side is at fault: nothing of the batch may be kept.
    Node(NodeError),
}

impl Namespace {
    /// Takes in changes from a peer, in the order they came. When it returns, what was applied is durable.
    ///
    /// # Errors
    /// The store or the document fails; nothing was taken in then. A bad change is no error, but counted.
    pub fn admit(&self, changes: Vec<StampedChange>) -> Result<Admission, NodeError> {
        match self.admit_together(&changes) {
            // Automerge choked on one of them: find out on which, so that the others are not lost for it.
            Err(NodeError::Document(_)) if changes.len() > 1 => {
                let mut total = Admission::default();
                for change in changes {
                    add(&mut total, self.admit(vec![change])?);
                }
                Ok(total)
            }
            Err(NodeError::Document(broken)) if changes.len() == 1 => {
                tracing::warn!(%broken, "a change passed the gate and broke the document; it was refused");
                self.shared.count_refusal("CHANGE_BROKEN");
                Ok(Admission { refused: vec!["CHANGE_BROKEN"], ..Admission::default() })
            }
            admitted => admitted,
        }
    }

    fn admit_together(&self, changes: &[StampedChange]) -> Result<Admission, NodeError> {
        self.transact(|open, write| {
            let now_ms = self.shared.now_ms();
            let mut admission = Admission::default();
            let waited = open.waiting.take(|reason| match reason {
                WaitsFor::Grant => true,
                WaitsFor::Time(due_ms) => due_ms <= now_ms,
                WaitsFor::Dependency => false,
            });
            // What waited says nothing of what this peer holds, and was counted when it came.
            let waited = waited.into_iter().map(|change| (change, false));
            let mut queue: Vec<_> = waited.chain(changes.iter().map(|change| (change.clone(), true))).collect();
            let mut undecided = Vec::new();
            while !queue.is_empty() {
                let before = admission.applied;
                for (change, is_new) in queue {
                    match self.judge(open, write, &change) {
                        Ok(Judged::Applied(head)) => {
                            admission.applied += 1;
                            carry(&mut admission, is_new, &head);
                        }
                        Ok(Judged::Known(head)) => {
                            admission.known += u64::from(is_new);
                            carry(&mut admission, is_new, &head);
                        }
                        Ok(Judged::Waits(reason, head)) => undecided.push((change, is_new, reason, head)),
                        Err(Failure::Refused(refused)) => {
                            tracing::debug!(%refused, "a change was refused");
                            self.shared.count_refusal(refused.code());
                            admission.refused.extend(is_new.then(|| refused.code()));
                        }
                        Err(Failure::Node(error)) => return Err(error),
                    }
                }
                // What was applied may be what others waited for.
                let grown = admission.applied > before;
                let is_freed = |reason| grown && reason == WaitsFor::Dependency;
                let freed = open.waiting.take(is_freed).into_iter().map(|change| (change, false));
                let here = undecided.extract_if(.., |(_, _, reason, _)| is_freed(*reason));
                queue = freed.chain(here.map(|(change, is_new, ..)| (change, is_new))).collect();
            }
            for (change, is_new, reason, head) in undecided {
                match head {
                    Some(head) => {
                        admission.held += u64::from(is_new);
                        carry(&mut admission, is_new, &head);
                    }
                    None => admission.parked += u64::from(is_new),
                }
                for _ in 0..open.waiting.push(change, reason) {
                    self.shared.count_refusal("WAITING_FULL");
                }
            }
            Ok(if admission.applied > 0 { Outcome::Commit(admission) } else { Outcome::Leave(admission) })
        })
    }

    /// Judges one change and, if it holds, applies it in memory and puts it into the open write.
    fn judge(&self, open: &mut Open, write: &mut dyn Write, stamped: &StampedChange) -> Result<Judged, Failure> {
        let head = ChangeHead::read(&stamped.change)?;
        if open.documents.all().knows(&head.hash) {
            return Ok(Judged::Known(head));
        }
        let Some(grant) = open.statements.find(&stamped.grant).cloned() else {
            return Ok(Judged::Waits(WaitsFor::Grant, None));
        };
        let stamp = CompactStamp { grant: grant.id(), time_ms: stamped.time_ms, signatures: stamped.signatures };
        let arrival = Arrival {
            epoch: open.document().epoch().1,
            actor: head.actor,
            change: head.hash,
            previous_ms: open.index.stamped_ms(&head.actor),
            now_ms: self.shared.now_ms(),
        };
        match stamp.verify(&open.statements, &arrival)? {
            Verdict::Verified(_) => {}
            Verdict::Parked(_) => return Ok(Judged::Waits(WaitsFor::Grant, None)),
            Verdict::Held { due_ms } => return Ok(Judged::Waits(WaitsFor::Time(due_ms), Some(head))),
        }
        let parsed = Parsed::from_bytes(&stamped.change)?;
        let permits = |effects: &Effects| Ok(check_effects(&grant, effects)?);
        match open.documents.admit::<Refused>(&parsed, &grant, open.statements.revoked(), permits) {
            Ok(()) => {
                let stored = StoredChange { stamp, change: stamped.change.clone() };
                open.append(write, &head, &stored).map_err(Failure::Node)?;
                Ok(Judged::Applied(head))
            }
            Err(AdmitError::Refused(Refused::Claim(Refusal::MissingDependency))) => {
                Ok(Judged::Waits(WaitsFor::Dependency, None))
            }
            Err(AdmitError::Refused(refused)) => Err(Failure::Refused(refused)),
            Err(AdmitError::Broken(broken)) => Err(Failure::Node(broken.into())),
        }
    }

    /// Takes in grants from a peer. When it returns, those that hold are durable.
    ///
    /// # Errors
    /// The store fails. A bad grant is no error, but counted.
    pub fn admit_statements(&self, statements: &[Vec<u8>], peer: PublicKey) -> Result<StatementAdmission, NodeError> {
        let (admission, is_news) = self.transact(|open, write| {
            let mut admission = StatementAdmission::default();
            let mut is_news = false;
            for statement in statements {
                match open.add_statement(write, statement, peer) {
                    Ok(Insertion::New { added, refused }) => {
                        is_news = true;
                        admission.held.extend(added.iter().map(StatementRef::of));
                        admission.refused.extend(refused.iter().map(|refusal| refusal.code()));
                    }
                    Ok(Insertion::Known(id)) => admission.held.push(StatementRef::of(&id)),
                    Ok(Insertion::Parked(_)) => admission.parked += 1,
                    Ok(Insertion::Dropped(_)) => admission.refused.push("WAITING_FULL"),
                    Err(NodeError::Statement(refusal)) => admission.refused.push(refusal.code()),
                    Err(error) => return Err(error),
                }
            }
            let outcome = (admission, is_news);
            Ok(if is_news { Outcome::Commit(outcome) } else { Outcome::Leave(outcome) })
        })?;
        admission.refused.iter().for_each(|code| self.shared.count_refusal(code));
        if is_news {
            // A change may have waited for one of them.
            self.admit(Vec::new())?;
        }
        Ok(admission)
    }
}

/// Notes that the peer holds a change which it has just brought.
fn carry(admission: &mut Admission, is_new: bool, head: &ChangeHead) {
    if !is_new {
        return;
    }
    let tip = Tip { seq: head.seq, change: ChangeRef::of(&head.hash) };
    admission.carried.raise(ActorRef::of(&head.actor), tip);
}

fn add(total: &mut Admission, one: Admission) {
    total.carried.join(&one.carried);
    total.applied += one.applied;
    total.known += one.known;
    total.parked += one.parked;
    total.held += one.held;
    total.refused.extend(one.refused);
}

impl<E: Into<Refused>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
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
