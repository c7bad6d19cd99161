//! Addresses: paths as callers write them, and what they reach in one namespace for one caller.
//!
//! The first segment decides: `w/` and `o/` hold the user's data, `n/` is private to the calling agent and stored at
//! `n/<its did>`, `v/` is the catalogue. Anything else does not exist: it reads as absent and is never written.

use memlet_auth::did::{from_did, to_did};
use memlet_auth::grant::Ability;
use memlet_core::document::Document;
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_core::path::Path;
use serde_json::Value as Json;

use super::error::{Code, OpError};
use super::input::Fields;

/// What a caller may do in the namespace at hand, and who it is there.
pub trait Authority {
    /// Whether a live grant of the caller allows `ability` at `path` and everywhere below it.
    fn permits(&self, ability: Ability, path: &Path) -> bool;

    /// The key of the named agent that calls; none for the namespace's owner and devices.
    fn agent(&self) -> Option<PublicKey>;
}

/// The namespace and the caller of one operation.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) document: &'a Document,
    pub(super) caller: &'a dyn Authority,
}

impl Scope<'_> {
    /// Refuses a caller that may not read what it asks for. The catalogue and what does not exist are open to all.
    pub(super) fn require_read(&self, reach: &Reach) -> Result<(), OpError> {
        match reach {
            Reach::Root(asked) => self.require_at(Ability::Read, &Path::ROOT, asked),
            Reach::Stored(target) => self.require(Ability::Read, target),
            Reach::Catalogue(_) | Reach::Nothing => Ok(()),
        }
    }

    /// Refuses a caller without `ability` at a place.
    pub(super) fn require(&self, ability: Ability, target: &Target) -> Result<(), OpError> {
        self.require_at(ability, &target.path, &target.asked)
    }

    /// Refuses a caller without `ability` at `path`; the message names only what was asked.
    pub(super) fn require_at(&self, ability: Ability, path: &Path, asked: &str) -> Result<(), OpError> {
        if self.caller.permits(ability, path) { Ok(()) } else { Err(OpError::denied(ability, asked)) }
    }
}

/// A path that follows the grammar, and the namespace it names if it names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// As the caller wrote it.
    pub(super) asked: String,
    pub(super) namespace: Option<NamespaceId>,
    path: Path,
}

/// A place in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// As the caller wrote it.
    pub(super) asked: String,
    /// As it is stored and granted.
    pub(super) path: Path,
    /// How many segments of `path` are the caller's namespace, which always exists.
    pub(super) base: usize,
}

/// What an address reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reach {
    /// The root of the namespace: everything this caller can address.
    Root(String),
    /// A place in the document.
    Stored(Target),
    /// The catalogue, by the segments after `v`.
    Catalogue(Vec<String>),
    /// A prefix that does not exist.
    Nothing,
}

impl Address {
    /// Reads the written form.
    pub(super) fn parse(text: &str) -> Result<Self, OpError> {
        let inner = text.strip_prefix('/').unwrap_or(text).trim_end_matches('/');
        let segments = if inner.is_empty() { Vec::new() } else { inner.split('/').map(str::to_owned).collect() };
        Self::new(text.to_owned(), segments)
    }

    /// Reads a string, or an array of segments in which integers are list positions.
    pub(super) fn read(json: &Json) -> Result<Self, OpError> {
        let segment = |json: &Json| match json {
            Json::String(text) => Some(text.clone()),
            Json::Number(number) => number.as_u64().map(|position| position.to_string()),
            _ => None,
        };
        let segments = match json {
            Json::String(text) => return Self::parse(text),
            Json::Array(segments) => segments.iter().map(segment).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let segments = segments.ok_or_else(|| {
            OpError::new(Code::InvalidPath, "a path is a string, or an array of strings and positions from 0")
        })?;
        Self::new(segments.join("/"), segments)
    }

    /// The path in a field of workspace operations; `default` if there is none.
    pub(super) fn field(fields: Fields<'_>, name: &str, default: &str) -> Result<Self, OpError> {
        match fields.value(name) {
            None | Some(Json::Null) => Self::parse(default),
            Some(json) => Self::read(json),
        }
    }

    /// The path in a field of memory operations, which take no arrays.
    pub(super) fn text_field(fields: Fields<'_>, name: &str, default: &str) -> Result<Self, OpError> {
        let text = fields.guard(name).map_err(|_| OpError::new(Code::InvalidPath, "a path must be a string"))?;
        Self::parse(text.unwrap_or(default))
    }

    fn new(asked: String, mut segments: Vec<String>) -> Result<Self, OpError> {
        let invalid = |why: String| OpError::new(Code::InvalidPath, format!("{asked:?} is no path: {why}"));
        let mut namespace = None;
        if segments.first().is_some_and(|first| first.starts_with("did:")) {
            let key = from_did(&segments.remove(0)).map_err(|error| invalid(error.to_string()))?;
            namespace = Some(NamespaceId(key.public().0));
        }
        let path = Path::new(segments).map_err(|error| invalid(error.to_string()))?;
        Ok(Self { asked, namespace, path })
    }

    /// What a read of this address reaches.
    pub(super) fn reach(self, scope: &Scope<'_>) -> Result<Reach, OpError> {
        self.resolve(scope, Ability::Read)
    }

    /// The place that a mutation needing `ability` writes to.
    pub(super) fn writable(self, scope: &Scope<'_>, ability: Ability) -> Result<Target, OpError> {
        if self.path.segments().len() < 2 {
            let message =
                format!("{:?} is too short to write to: it needs a prefix and a name, like w/memory", self.asked);
            return Err(OpError::new(Code::InvalidPath, message));
        }
        let asked = self.asked.clone();
        match self.resolve(scope, ability)? {
            Reach::Stored(target) => Ok(target),
            Reach::Root(_) | Reach::Catalogue(_) | Reach::Nothing => {
                let message = format!("{asked:?} cannot be written to; use w/, o/ or, as an agent, n/");
                Err(OpError::new(Code::NamespaceNotWritable, message))
            }
        }
    }

    fn resolve(self, scope: &Scope<'_>, ability: Ability) -> Result<Reach, OpError> {
        let Self { asked, namespace, path } = self;
        if namespace.is_some_and(|namespace| namespace != scope.document.namespace()) {
            return Err(OpError::denied(ability, &asked));
        }
        let segments = path.segments();
        Ok(match segments.first().map(String::as_str) {
            None => Reach::Root(asked),
            Some("w" | "o") => Reach::Stored(Target { asked, path, base: 1 }),
            Some("n") => Reach::Stored(Target { path: private(&path, &asked, scope, ability)?, asked, base: 2 }),
            Some("v") => Reach::Catalogue(segments[1..].to_vec()),
            Some(_) => Reach::Nothing,
        })
    }
}

/// Where an agent's own `n/…` is stored. Whoever is no agent may read and remove `n/<did>` by its full path.
fn private(path: &Path, asked: &str, scope: &Scope<'_>, ability: Ability) -> Result<Path, OpError> {
    let rest = &path.segments()[1..];
    if let Some(agent) = scope.caller.agent() {
        return private_root(&agent, rest).map_err(|error| {
            OpError::new(Code::InvalidPath, format!("{asked:?} is no path below an agent's own: {error}"))
        });
    }
    let of_an_agent = rest.first().is_some_and(|first| from_did(first).is_ok());
    if of_an_agent && ability != Ability::Write {
        return Ok(path.clone());
    }
    let message = format!("{asked:?} is private to one agent; call as that agent");
    Err(OpError::new(Code::AgentScopeRequired, message))
}

/// The path of an agent's private data, and below it.
pub(super) fn private_root(agent: &PublicKey, rest: &[String]) -> Result<Path, memlet_core::path::PathError> {
    Path::new(["n".to_owned(), to_did(agent)].into_iter().chain(rest.iter().cloned()))
}

/// A list position as a segment: `0`, `1`, … without leading zeros.
pub(super) fn position(segment: &str) -> Option<usize> {
    let canonical = segment == "0" || !segment.starts_with('0') && segment.bytes().all(|byte| byte.is_ascii_digit());
    segment.parse().ok().filter(|_| canonical)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DID: &str = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp";

    #[test]
    fn strings_and_arrays_name_the_same_path() {
        let path = |json: Json| Address::read(&json).map(|address| (address.namespace, address.path.to_string()));
        assert_eq!(path(json!("/w/memory//")).unwrap(), (None, "w/memory".into()));
        assert_eq!(path(json!(["w", "memory", 0, "text"])).unwrap(), (None, "w/memory/0/text".into()));
        assert_eq!(path(json!("")).unwrap(), (None, String::new()));
        let key = from_did(DID).unwrap().public();
        assert_eq!(path(json!(format!("{DID}/w/x"))).unwrap(), (Some(NamespaceId(key.0)), "w/x".into()));
        assert_eq!(path(json!([DID])).unwrap(), (Some(NamespaceId(key.0)), String::new()));
    }

    #[test]
    fn nothing_is_repaired() {
        for bad in [
            json!("w//x"),
            json!("//w"),
            json!("w/../x"),
            json!("did:key:zNone/w"),
            json!("did:web:example.org/w"),
            json!(["w", "a/b"]),
            json!(["w", -1]),
            json!(["w", 1.0]),
            json!(["w", null]),
            json!({"w": 1}),
            json!(3),
        ] {
            assert_eq!(Address::read(&bad).unwrap_err().code, Code::InvalidPath, "{bad}");
        }
    }

    #[test]
    fn positions_have_one_spelling() {
        assert_eq!(["0", "7", "10", "65535"].map(position), [Some(0), Some(7), Some(10), Some(65_535)]);
        assert_eq!(["", "01", "+1", "-1", "1.0", "x", "99999999999999999999"].map(position), [None; 7]);
    }
}
