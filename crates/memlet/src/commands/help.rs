//! Completions and man pages, made from the grammar of the command line.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Args;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn completions(output: Output, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "memlet", &mut script);
    output.raw(&script)
}

pub(super) fn man(output: Output, command: Option<&str>) -> Result<(), Failure> {
    let mut memlet = Args::command();
    memlet.build();
    let page = match command {
        None => memlet,
        Some(name) => {
            let found = memlet.find_subcommand(name).cloned();
            found.ok_or_else(|| Failure::Usage(format!("there is no command {name:?}; `memlet help` lists all")))?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(Failure::Stdout)?;
    output.raw(&text)
}
