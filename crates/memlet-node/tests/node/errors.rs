//! `docs/errors.md` names every code, and says of those of operations exactly what the code says.
//!
//! `UPDATE_DOCS=1 cargo test -p memlet-node --test node errors` writes the table of operations anew.

#![allow(clippy::disallowed_methods, reason = "documentation and sources are files")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use memlet_node::ops::Code;

const BEGIN: &str = "<!-- operations: generated -->\n";
const END: &str = "<!-- end -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> PathBuf {
    root().join("docs/errors.md")
}

fn operations() -> String {
    let mut table = String::from("| code | meaning | HTTP | exit |\n|---|---|---|---|\n");
    for code in Code::ALL {
        let (name, meaning) = (code.name(), code.meaning());
        writeln!(table, "| `{name}` | {meaning} | {} | {} |", code.http_status(), code.exit_code()).unwrap();
    }
    table
}

#[test]
fn the_table_of_operations_is_that_of_the_code() {
    let text = fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(page(), format!("{before}{BEGIN}{}{END}{after}", operations())).unwrap();
        return;
    }
    assert_eq!(table, operations());
}

#[test]
fn every_code_in_the_sources_is_on_the_page() {
    let text = fs::read_to_string(page()).unwrap();
    let mut sources = Vec::new();
    for krate in fs::read_dir(root().join("crates")).unwrap() {
        collect(&krate.unwrap().path().join("src"), &mut sources);
    }
    let mut codes = 0;
    for source in sources {
        for line in fs::read_to_string(&source).unwrap().lines() {
            for code in codes_in(line) {
                codes += 1;
                assert!(text.contains(&format!("`{code}`")), "{code} of {} is not in docs/errors.md", source.display());
            }
        }
    }
    assert!(codes > 100, "the sources were not read as meant");
}

fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
}

/// Strings of two or more upper-case words joined by `_`, as a match arm or a table gives them.
fn codes_in(line: &str) -> impl Iterator<Item = &str> {
    let is_table = line.contains("=> \"") || line.contains(", \"") || line.trim_start().starts_with('/');
    let strings = line.split('"').skip(1).step_by(2);
    strings.filter(move |text| {
        is_table
            && text.contains('_')
            && text.len() > 3
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
            && !["MEMLET_", "CARGO_", "NO_COLOR"].iter().any(|variable| text.starts_with(variable))
    })
}
