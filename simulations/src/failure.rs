//! Why a run failed: the checker that found it, and what it found.

/// The checkers, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Checker {
    /// Replicas that hold the same changes show the same, byte for byte.
    Convergence,
    /// What was forgotten is not shown where the forget is known.
    NoResurrection,
    /// What was acknowledged is shown unless a removal covers it.
    NoLoss,
    /// Nothing is shown that nobody wrote, nor an old text in place of the one that followed it.
    OnlyWhatWasWritten,
    /// What a replica has appended keeps its order.
    OwnOrder,
    /// No change counts but those that somebody with the right to it made here.
    Authority,
    /// Bytes of a namespace reach only devices that have a grant in it.
    Isolation,
    /// After a crash a store holds all that it acknowledged, and nothing that was not attempted.
    Durability,
    /// Every store has a name of its own, and keeps it.
    Identity,
    /// One number of one actor stands for one change.
    OneHash,
    /// A call is answered as the contract says.
    Answers,
    /// A repeated call with one request id has one effect.
    Repetition,
    /// A session that says it is level is.
    Level,
    /// Once the faults have ended the world comes to rest, with few messages.
    Liveness,
    /// The same changes in another order, some of them twice, give the same state.
    OrderFree,
    /// The state shown agrees with the Automerge document.
    Stored,
    /// Nothing panics.
    NoPanic,
}

/// A failed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is not as it must be.
    pub checker: Checker,
    /// How it showed.
    pub detail: String,
}

impl Failure {
    /// A failure that `checker` found.
    pub fn new(checker: Checker, detail: impl Into<String>) -> Self {
        Self { checker, detail: detail.into() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {}", self.checker, self.detail)
    }
}
