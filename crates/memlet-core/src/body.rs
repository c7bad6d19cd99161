//! Bodies: what was written under a dot, and who wrote it when.

use crate::codec::{Decode, DecodeError, Encode, Reader, Writer};
use crate::hlc::Hlc;
use crate::id::{Dot, GrantRef, ReplicaId};
use crate::limits::RUN_BODIES_MAX;
use crate::value::Value;

/// The content of one dot: a list item or a leaf value.
#[derive(Clone, PartialEq, Debug)]
pub struct Body {
    /// When the dot was written first. Never changes.
    pub birth: Hlc,
    /// The last rewrite in place and the replica that made it; none until the first.
    pub rewritten: Option<(Hlc, ReplicaId)>,
    /// The grant it was last written under; none for the one bound to the replica that wrote it.
    pub grant: Option<GrantRef>,
    /// What it says.
    pub value: Value,
}

impl Body {
    /// What decides between two versions of one dot: the higher (hlc, replica) is read.
    pub fn version(&self, dot: &Dot) -> (Hlc, ReplicaId) {
        self.rewritten.unwrap_or((self.birth, dot.replica))
    }
}

impl Encode for Body {
    fn encode(&self, w: &mut Writer) {
        w.array(4);
        self.birth.encode(w);
        match self.rewritten {
            Some((hlc, replica)) => {
                w.array(2);
                hlc.encode(w);
                replica.encode(w);
            }
            None => w.null(),
        }
        w.option(self.grant.as_ref());
        self.value.encode(w);
    }
}

impl Decode for Body {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        struct Rewrite(Hlc, ReplicaId);
        impl Decode for Rewrite {
            fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                r.array(2)?;
                Ok(Self(Hlc::decode(r)?, ReplicaId::decode(r)?))
            }
        }
        r.array(4)?;
        let birth = Hlc::decode(r)?;
        let rewritten = r.option::<Rewrite>()?.map(|Rewrite(hlc, replica)| (hlc, replica));
        if rewritten.is_some_and(|(hlc, _)| hlc <= birth) {
            return Err(DecodeError::Invalid("body: rewritten before its birth"));
        }
        Ok(Self { birth, rewritten, grant: r.option()?, value: Value::decode(r)? })
    }
}

/// The bodies of consecutive dots, stored together under the first of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Run(pub Vec<Body>);

impl Encode for Run {
    fn encode(&self, w: &mut Writer) {
        w.list(self.0.iter());
    }
}

impl Decode for Run {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bodies = r.list(RUN_BODIES_MAX, "a run of bodies")?;
        if bodies.is_empty() {
            return Err(DecodeError::Invalid("run: empty"));
        }
        Ok(Self(bodies))
    }
}
