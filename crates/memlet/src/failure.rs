//! Why a command did not do what it was asked: one mapping from every error to a code, a message and an exit code.

use std::io;
use std::path::PathBuf;

use memlet_node::{InvokeError, NodeError};
use memlet_server::home::HomeError;
use memlet_server::quic::{BindError, DialError};
use memlet_server::{InviteFailed, JoinFailed, ServeError, SyncOnceError};
use memlet_sync::invite::InviteError;
use serde_json::json;

/// A command that failed. Its text says what happened, why, and what to try next; it holds no memory text and no secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line, or what came on stdin, cannot be understood.
    #[error("{0}")]
    Usage(String),
    #[error(
        "there is no memory in {} yet; `memlet remember TEXT` begins one, `memlet join URI` brings that of another device",
        .0.display()
    )]
    NoMemory(PathBuf),
    #[error("there is nothing at {0}; `memlet ls` shows what there is")]
    Absent(String),
    #[error(
        "{} holds another memory already, and a data directory holds one; join from a new one with \
         `memlet --home DIR join URI`",
        .0.display()
    )]
    OtherMemory(PathBuf),
    #[error(
        "no other device is known here; `memlet invite` lets one in, `memlet sync --peer HOST:PORT` names one that holds this \
         memory already"
    )]
    NoPeers,
    #[error("{0}")]
    NotLevel(String),
    #[error("{found} of {checked} checks found damage; keep a copy of {} before you change anything in it", .dir.display())]
    Damage { found: usize, checked: usize, dir: PathBuf },
    #[error("this should be true and is not: {0}; please report it")]
    Untrue(String),
    #[error("reading stdin failed: {0}")]
    Stdin(io::Error),
    #[error("what came on stdin is no text: it is not UTF-8")]
    StdinNoText,
    #[error("the result could not be written: {0}; what the command did is kept")]
    Stdout(io::Error),
    #[error("memlet failed at {0}, through no fault of yours; please report this line. What was acknowledged is kept")]
    Panic(String),
    #[error("the system refused what memlet needs to run: {0}")]
    System(io::Error),
    #[error(transparent)]
    InviteUri(#[from] InviteError),
    #[error(transparent)]
    Invite(#[from] InviteFailed),
    #[error("this device has not joined: {0}")]
    Join(#[from] JoinFailed),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Sync(#[from] SyncOnceError),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Invoke(#[from] InvokeError),
}

impl From<NodeError> for Failure {
    fn from(error: NodeError) -> Self {
        Self::Invoke(error.into())
    }
}

impl Failure {
    /// A failure to read text from stdin.
    pub(crate) fn stdin(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::InvalidData { Self::StdinNoText } else { Self::Stdin(error) }
    }

    /// The stable code, as programs match on it.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Usage(_) => "USAGE",
            Self::NoMemory(_) => "NO_MEMORY",
            Self::Absent(_) => "NOT_FOUND",
            Self::OtherMemory(_) => "OTHER_MEMORY",
            Self::NoPeers => "NO_PEERS",
            Self::NotLevel(_) => "NOT_LEVEL",
            Self::Damage { .. } => "DAMAGE",
            Self::Untrue(_) => "UNTRUE",
            Self::Stdin(_) => "STDIN",
            Self::StdinNoText => "STDIN_NO_TEXT",
            Self::Stdout(_) => "STDOUT",
            Self::Panic(_) => "INTERNAL",
            Self::System(_) => "SYSTEM",
            Self::InviteUri(error) => error.code(),
            Self::Invite(error) => error.code(),
            Self::Join(error) => error.code(),
            Self::Serve(error) => error.code(),
            Self::Sync(error) => error.code(),
            Self::Bind(error) => error.code(),
            Self::Dial(error) => error.code(),
            Self::Home(error) => error.code(),
            Self::Invoke(error) => error.code(),
        }
    }

    /// 1 error, 2 usage, 3 not found, 4 denied, 5 conflict. A reader that went away is no error.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Usage(_) | Self::StdinNoText | Self::InviteUri(_) => 2,
            Self::NoMemory(_) | Self::Absent(_) | Self::NoPeers => 3,
            Self::Join(JoinFailed::Refused(_)) => 4,
            Self::OtherMemory(_) => 5,
            Self::NotLevel(_)
            | Self::Damage { .. }
            | Self::Untrue(_)
            | Self::Stdin(_)
            | Self::Stdout(_)
            | Self::Panic(_)
            | Self::System(_)
            | Self::Invite(_)
            | Self::Join(_)
            | Self::Serve(_)
            | Self::Sync(_)
            | Self::Bind(_)
            | Self::Dial(_)
            | Self::Home(_) => 1,
            Self::Invoke(error) => error.exit_code(),
        }
    }

    /// What stands on stderr: a sentence for people, one line of JSON for programs.
    pub(crate) fn report(&self, json: bool) -> String {
        let message = self.to_string();
        if json {
            json!({"error": {"code": self.code(), "message": message}}).to_string()
        } else {
            format!("memlet: {message}")
        }
    }
}

#[cfg(test)]
mod tests {
    use memlet_node::ops::{Code, OpError};

    use super::*;

    #[test]
    fn every_operation_error_keeps_its_code_and_exit_code() {
        for code in Code::ALL {
            let failure = Failure::from(InvokeError::from(OpError::new(*code, "why")));
            assert_eq!((failure.code(), failure.exit_code()), (code.name(), code.exit_code()));
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        assert_eq!(Failure::Stdout(io::ErrorKind::BrokenPipe.into()).exit_code(), 0);
        assert_eq!(Failure::Stdout(io::ErrorKind::StorageFull.into()).exit_code(), 1);
    }

    #[test]
    fn errors_are_one_line_of_json_for_programs() {
        let reported = Failure::Usage("first\nsecond".into()).report(true);
        assert_eq!(reported, r#"{"error":{"code":"USAGE","message":"first\nsecond"}}"#);
    }
}
