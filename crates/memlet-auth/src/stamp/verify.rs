//! Judging a stamp: cheap checks first, and the receiver's clock last.
//!
//! All refusals depend on signed bytes alone, so every replica with the same statements refuses the same stamps. The
//! receiver's clock can only hold a change back.

use std::sync::Arc;

use memlet_core::id::{Actor, ChangeHash, EpochId, GrantId};

use super::{CompactStamp, Stamp, StampBody, StampContext};
use crate::chain::VerifiedGrant;
use crate::effects::{Effects, check_effects};
use crate::error::{Denied, StampRefusal};
use crate::limits::STAMP_AHEAD_MS_MAX;
use crate::statements::Statements;

/// What the receiver of a change knows about it without believing the stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The epoch it was sent for.
    pub epoch: EpochId,
    /// The actor it is written under.
    pub actor: Actor,
    /// Its hash, recomputed from its bytes.
    pub change: ChangeHash,
    /// The stamp time of the change before it in the actor's sequence, in Unix milliseconds; 0 for the first.
    pub previous_ms: u64,
    /// The receiver's clock, in Unix milliseconds.
    pub now_ms: u64,
}

/// What became of a stamp that was not refused.
#[derive(Debug, Clone)]
#[must_use]
pub enum Verdict {
    /// It holds. Whether its grant allows what the change does is still to be asked.
    Verified(VerifiedStamp),
    /// It waits for this grant, whose chain is not known. Of a compact stamp not even a signature could be checked yet.
    Parked(GrantId),
    /// Everything holds, but its time lies too far ahead. It must be neither shown nor relayed before.
    Held {
        /// When to judge it again, by the receiver's clock in Unix milliseconds.
        due_ms: u64,
    },
}

/// A stamp that holds: its author wrote the change on its device, under a chain of grants that held at its time.
#[derive(Debug, Clone)]
pub struct VerifiedStamp {
    body: StampBody,
    grant: Arc<VerifiedGrant>,
}

impl VerifiedStamp {
    /// What it says.
    pub fn body(&self) -> &StampBody {
        &self.body
    }

    /// The grant by which the author wrote.
    pub fn grant(&self) -> &Arc<VerifiedGrant> {
        &self.grant
    }

    /// Checks what the change does, as recomputed from its own operations, against the grant.
    ///
    /// # Errors
    /// The first effect that the grant does not allow: the change does not count as a whole.
    pub fn check_effects(&self, effects: &Effects) -> Result<(), Denied> {
        check_effects(&self.grant, effects)
    }
}

impl CompactStamp {
    /// Judges the stamp that this stands for, as [`Stamp::verify`] does.
    ///
    /// # Errors
    /// As [`Stamp::verify`]; a part that differs from what was signed shows as a bad signature.
    pub fn verify(&self, statements: &Statements, arrival: &Arrival) -> Result<Verdict, StampRefusal> {
        let Some(grant) = statements.get(&self.grant) else { return Ok(Verdict::Parked(self.grant)) };
        let context = StampContext { namespace: statements.namespace(), epoch: arrival.epoch };
        self.expand(context, grant.audience(), &arrival.actor, arrival.change).verify(statements, arrival)
    }
}

impl Stamp {
    /// Judges a stamp: what it is about, its keys and signatures, its chain, its time, in this order.
    ///
    /// # Errors
    /// The stamp is refused for good.
    pub fn verify(&self, statements: &Statements, arrival: &Arrival) -> Result<Verdict, StampRefusal> {
        self.check_subject(statements, arrival)?;
        self.check_signatures(statements)?;
        let body = self.body;
        let Some(grant) = statements.get(&body.grant) else { return Ok(Verdict::Parked(body.grant)) };
        if grant.audience() != body.author {
            return Err(StampRefusal::NotTheAudience);
        }
        if !grant.window().contains(body.time_ms) {
            return Err(StampRefusal::Window);
        }
        if body.time_ms < arrival.previous_ms {
            return Err(StampRefusal::Backwards);
        }
        let due_ms = body.time_ms.saturating_sub(STAMP_AHEAD_MS_MAX);
        if arrival.now_ms < due_ms {
            return Ok(Verdict::Held { due_ms });
        }
        Ok(Verdict::Verified(VerifiedStamp { body, grant: Arc::clone(grant) }))
    }

    /// The stamp must be about the change that it came with.
    fn check_subject(&self, statements: &Statements, arrival: &Arrival) -> Result<(), StampRefusal> {
        let body = &self.body;
        if body.context.namespace != statements.namespace() {
            return Err(StampRefusal::Namespace);
        }
        if body.context.epoch != arrival.epoch {
            return Err(StampRefusal::Epoch);
        }
        if body.change != arrival.change {
            return Err(StampRefusal::Change);
        }
        if body.device != arrival.actor.device {
            return Err(StampRefusal::Actor);
        }
        if self.signatures.device.is_some() != (body.author != body.device) {
            return Err(StampRefusal::SignatureCount);
        }
        Ok(())
    }

    fn check_signatures(&self, statements: &Statements) -> Result<(), StampRefusal> {
        let message = self.body.message();
        let author = statements.key(&self.body.author).map_err(StampRefusal::AuthorKey)?;
        author.verify(&message, &self.signatures.author).map_err(|_| StampRefusal::AuthorSignature)?;
        if let Some(signature) = &self.signatures.device {
            let device = statements.key(&self.body.device).map_err(StampRefusal::DeviceKey)?;
            device.verify(&message, signature).map_err(|_| StampRefusal::DeviceSignature)?;
        }
        Ok(())
    }
}
