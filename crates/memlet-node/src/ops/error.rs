//! What an operation answers instead of a result: one table of codes for every surface.
//!
//! Messages name the asked path and numbers, never stored text or keys.

use memlet_auth::grant::Ability;

/// Why an operation did not run, or did nothing. Nothing is stored when one is answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OpError {
    /// The stable code.
    pub code: Code,
    /// What happened and what to do, for people.
    pub message: String,
}

impl OpError {
    /// An error of this code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The caller's grant lacks `ability` at the path it asked for.
    pub(super) fn denied(ability: Ability, asked: &str) -> Self {
        Self::new(Code::PermissionDenied, format!("no grant of this caller allows {ability} at {asked:?}"))
    }
}

/// Defines the codes with all that is known of each, so that no surface keeps a table of its own.
macro_rules! codes {
    ($($(#[doc = $meaning:literal])+ $code:ident $name:literal $http:literal $exit:literal,)*) => {
        /// The code of an error.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $meaning])+ $code,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// The code as it stands on the wire.
            pub fn name(self) -> &'static str {
                match self { $(Self::$code => $name,)* }
            }

            /// What it says, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$code => concat!($($meaning),+).trim(),)* }
            }

            /// The HTTP status of the routes that read a value. `invoke` answers 200 whenever an operation ran or refused.
            pub fn http_status(self) -> u16 {
                match self { $(Self::$code => $http,)* }
            }

            /// The exit code of the command line: 1 error, 2 usage, 3 not found, 4 denied, 5 conflict.
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$code => $exit,)* }
            }
        }
    };
}

codes! {
    /// No valid credentials; checked before everything else.
    Unauthenticated "UNAUTHENTICATED" 401 4,
    /// No live grant covers what the call would do.
    PermissionDenied "PERMISSION_DENIED" 403 4,
    /// `command` is missing or none of the four.
    InvalidCommand "INVALID_COMMAND" 400 2,
    /// `text` is missing or no string.
    TextRequired "TEXT_REQUIRED" 400 2,
    /// `n` is missing or no 64-bit integer.
    NRequired "N_REQUIRED" 400 2,
    /// `value` is missing.
    ValueRequired "VALUE_REQUIRED" 400 2,
    /// No shown item has this number.
    NOutOfRange "N_OUT_OF_RANGE" 400 3,
    /// A write to a list position that is not there.
    IndexOutOfRange "INDEX_OUT_OF_RANGE" 400 3,
    /// What stands at the path is no flat list.
    NotAList "NOT_A_LIST" 400 1,
    /// A scalar on the way, a key where a position is needed, or a value that cannot be sliced.
    ShapeConflict "SHAPE_CONFLICT" 400 1,
    /// Not a path, or one too short for a mutation.
    InvalidPath "INVALID_PATH" 400 2,
    /// Nothing can be written below this first segment.
    NamespaceNotWritable "NAMESPACE_NOT_WRITABLE" 400 4,
    /// `n/` belongs to one agent, and the caller is not it.
    AgentScopeRequired "AGENT_SCOPE_REQUIRED" 400 4,
    /// The item is not the one that `expect` describes.
    Conflict "CONFLICT" 409 5,
    /// The request id was used with another input.
    RequestIdConflict "REQUEST_ID_CONFLICT" 409 5,
    /// Nothing stands at the path to copy from.
    NotFound "NOT_FOUND" 404 3,
    /// A size limit; nothing was stored.
    TooLarge "TOO_LARGE" 413 1,
    /// A guard or argument of the wrong type, or a number that cannot be kept exactly.
    InvalidInput "INVALID_INPUT" 400 2,
    /// The request itself cannot be read.
    InvalidRequest "INVALID_REQUEST" 400 2,
    /// No operation has this name.
    UnknownOperation "UNKNOWN_OPERATION" 404 2,
    /// A fault of memlet; what is stored is unchanged.
    Internal "INTERNAL" 500 1,
    /// `entries` of a context is no array.
    InvalidContext "INVALID_CONTEXT" 400 2,
    /// A required entry of a context failed or has nothing to show.
    ContextRequired "CONTEXT_REQUIRED" 400 1,
    /// A context entry names an operation that could write.
    NotReadOnly "NOT_READ_ONLY" 400 2,
    /// A kind of context entry that memlet does not have.
    Unsupported "UNSUPPORTED" 400 2,
    /// A context entry took longer than 10 seconds.
    Timeout "TIMEOUT" 504 1,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_a_name_of_its_own_in_upper_snake_case() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(code.name().bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{code:?}");
            assert!((1..=5).contains(&code.exit_code()) && (400..=599).contains(&code.http_status()), "{code:?}");
        }
    }
}
