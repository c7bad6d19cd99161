//! What can be said on the command line. The help texts here are also the man pages.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Durable memory for AI agents that syncs between devices and forgets for real
///
/// One numbered list and a tree of values, kept on this device and level with your other devices, without a server and
/// without an account. The first `remember` makes everything that is needed, and says where.
#[derive(Debug, Parser)]
#[command(name = "memlet", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// The data directory [default: $MEMLET_HOME, or else memlet in the platform's data directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Print the result, or the error, as one line of JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 ok, 1 error, 2 wrong usage, 3 not found, 4 denied, 5 conflict.
Environment: MEMLET_HOME (data directory), MEMLET_LOG (what to log to stderr, for example debug), NO_COLOR.";

/// The list that is meant where none is named.
pub(crate) const LIST: &str = "w/memory";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add an item to the list
    Remember {
        #[command(flatten)]
        text: Text,
        #[command(flatten)]
        list: List,
        #[command(flatten)]
        retry: Retry,
    },
    /// Show the list, numbered
    Recall {
        #[command(flatten)]
        list: List,
    },
    /// Replace item N
    Update {
        #[command(flatten)]
        item: Item,
        #[command(flatten)]
        text: Text,
        #[command(flatten)]
        list: List,
        #[command(flatten)]
        retry: Retry,
    },
    /// Remove item N, on every device
    Forget {
        #[command(flatten)]
        item: Item,
        #[command(flatten)]
        list: List,
        #[command(flatten)]
        retry: Retry,
    },
    /// Show the list with times and authors
    List {
        #[command(flatten)]
        list: List,
    },
    /// Print the value at a path
    Read {
        /// Where, for example w/notes/today
        path: String,
    },
    /// Set the value at a path
    Write {
        /// Where, for example w/notes/today
        path: String,
        /// The value as JSON, or - to read it from stdin. Text needs its quotes: '"like this"'
        #[arg(value_name = "JSON", allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        retry: Retry,
    },
    /// List the names below a path
    Ls {
        /// Where; everything if left out
        #[arg(default_value = "")]
        path: String,
    },
    /// Delete what is at a path
    Rm {
        /// Where, for example w/notes/today
        path: String,
        #[command(flatten)]
        retry: Retry,
    },
    /// Say where the memory is, and how it stands
    Status,
    /// Print the identities of the memory and of this device
    Id,
    /// Let one other device in: prints an invite, then waits ten minutes for that device
    Invite {
        /// What to let it in as
        #[arg(long = "as", value_name = "ROLE", default_value = "device")]
        role: Role,
        /// Where to listen, as IP:PORT; may be repeated [default: a free port on all interfaces]
        #[arg(long = "addr", value_name = "ADDR")]
        listen: Vec<SocketAddr>,
    },
    /// Bring the memory of another device here, by the invite it printed
    Join {
        /// The whole memlet:// line
        uri: String,
    },
    /// Show the devices that may hold the memory
    #[command(alias = "device")]
    Devices {
        #[arg(value_name = "list", hide = true)]
        list: Option<ListWord>,
    },
    /// Cut off a device, and every device and agent that it let in; this cannot be undone
    Revoke {
        /// Its name or did:key, as `devices` shows them, or the first characters of the key
        device: String,
        /// What stays of what it wrote
        #[arg(long, value_name = "WHAT", default_value = "known")]
        keep: KeepWord,
    },
    /// Exchange with other devices until both sides are level
    Sync {
        #[arg(value_name = "now", hide = true)]
        now: Option<NowWord>,
        /// Only with this one: host:port, or did:key:…@host:port [default: every device met before]
        #[arg(long, value_name = "ADDR")]
        peer: Option<String>,
    },
    /// Stay reachable and keep level with other devices, until stopped
    Serve {
        /// Where to listen, as IP:PORT; may be repeated [default: a free port on all interfaces]
        #[arg(long = "quic", value_name = "ADDR")]
        listen: Vec<SocketAddr>,
    },
    /// Show on this machine what memlet does: two devices, and a late third
    Demo,
    /// Check keys, store and documents for damage
    Doctor,
    /// Print the completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the man page of memlet, or of one command
    Man {
        /// The command
        command: Option<String>,
    },
}

/// A text given by the user.
#[derive(Debug, clap::Args)]
pub(crate) struct Text {
    /// The text, or - to read it from stdin, without the line break at its end
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: String,
}

/// Which list.
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Another list than the usual one
    #[arg(long, value_name = "PATH", default_value = LIST)]
    pub(crate) path: String,
}

/// Which item.
#[derive(Debug, clap::Args)]
pub(crate) struct Item {
    /// Its number, as `recall` shows it
    #[arg(value_name = "N", allow_negative_numbers = true)]
    pub(crate) n: i64,
    /// Only if this is what it says now
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) expect: Option<String>,
}

/// How a call may be repeated.
#[derive(Debug, clap::Args)]
pub(crate) struct Retry {
    /// A name for this call: if it is repeated under the same name, it is done once
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Role {
    /// One of your own: it may do everything
    Device,
    /// A node that holds and relays, and can do nothing else
    Venue,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KeepWord {
    /// All that is here now; what it wrote and nobody brought here is lost
    Known,
    /// Nothing, but for what other devices have built on
    Nothing,
}

/// `device list` says the same as `devices`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ListWord {
    List,
}

/// `sync now` says the same as `sync`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NowWord {
    Now,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn texts_may_look_like_options_and_numbers_may_be_negative() {
        let parse = |words: &[&str]| Args::try_parse_from([&["memlet"], words].concat());
        for text in ["- milk", "-", "--milk", "-1"] {
            match parse(&["remember", text, "--json"]).unwrap() {
                Args { json: true, command: Command::Remember { text: given, .. }, .. } => assert_eq!(given.text, text),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(parse(&["forget", "-1"]).unwrap().command, Command::Forget { item: Item { n: -1, .. }, .. }));
        assert!(matches!(parse(&["device", "list"]).unwrap().command, Command::Devices { .. }));
        for wrong in [&["forget", "x"][..], &["forget", "9223372036854775808"], &["remember", "a", "b"], &["sync", "x"]]
        {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
