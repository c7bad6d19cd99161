//! `memlet`, the command line: arguments, calls, rendering, exit codes.
//!
//! Nothing is decided here: a command calls the node or the server and shows what they answer. Results go to stdout, all else
//! to stderr, and nothing is ever asked back.

mod args;
mod commands;
mod context;
mod failure;
mod network;
mod output;
mod panic;
mod time;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use args::Args;
use context::Context;
use failure::Failure;
use output::Output;

fn main() -> ExitCode {
    // Asked for before the arguments are understood, so that errors about them have the right form too.
    let json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    match panic::guard(|| run(std::env::args_os())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure.exit_code() != 0 {
                Output::new(json).report(&failure);
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(words: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    log_to_stderr()?;
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        // Help and version are results.
        Err(asked) if !asked.use_stderr() => return Output::new(false).raw(asked.render().to_string().as_bytes()),
        Err(error) => return Err(Failure::Usage(explained(&error))),
    };
    let context = Context::new(args.home, Output::new(args.json));
    commands::run(args.command, &context)
}

/// What is wrong with the command line, without the word that every report begins with.
fn explained(error: &clap::Error) -> String {
    let explained = error.render().to_string();
    explained.strip_prefix("error: ").unwrap_or(&explained).trim_end().to_owned()
}

/// Logs what `MEMLET_LOG` asks for, in the syntax of `tracing_subscriber::EnvFilter`; without it, nothing.
fn log_to_stderr() -> Result<(), Failure> {
    let Some(filter) = std::env::var_os("MEMLET_LOG").filter(|filter| !filter.is_empty()) else { return Ok(()) };
    let filter = filter.to_str().and_then(|filter| EnvFilter::try_new(filter).ok()).ok_or_else(|| {
        Failure::Usage("MEMLET_LOG is no filter; try MEMLET_LOG=debug, or MEMLET_LOG=memlet_server=trace".into())
    })?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    Ok(())
}
