//! The contract of the memory and workspace operations, case by case, on real nodes over SQLite.
//!
//! The case file is `tests/contracts/memory-op-cases.json`. Every case whose parts exist in the library is run; the others are
//! listed, with what they lack, in `skipped.txt`, and a difference from that list fails. HTTP statuses are not looked at here.

#![expect(clippy::unwrap_used, reason = "a case that cannot go on has failed")]

mod matcher;
mod terms;
mod world;

use serde_json::{Map, Value as Json, json};

use matcher::check;
use terms::Terms;
use world::World;

const CASES: &str = include_str!("../../../../tests/contracts/memory-op-cases.json");
const SKIPPED: &str = include_str!("skipped.txt");

#[test]
fn every_case_holds_or_is_listed() {
    let cases: Vec<Json> = serde_json::from_str(CASES).unwrap();
    assert!(cases.len() > 100, "the case file is cut short");
    let mut skipped = String::new();
    let mut failed = Vec::new();
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        if let Some(lacks) = lacks(case) {
            skipped.push_str(&format!("{id}: {lacks}\n"));
        } else if let Err(error) = run(case) {
            failed.push(format!("{id} ({}): {error}", case["title"].as_str().unwrap()));
        }
    }
    assert!(failed.is_empty(), "{} of {} cases fail:\n{}", failed.len(), cases.len(), failed.join("\n"));
    assert_eq!(skipped, SKIPPED, "skipped.txt does not list the cases that were not run");
}

#[test]
fn a_change_that_is_too_large_leaves_everything_as_it_was() {
    let mut world = World::new();
    let mut call = |operation: &str, input: Json| world.act(&json!({"operation": operation, "input": input}));
    call("v/ops/memory", json!({"command": "remember", "text": "a"})).unwrap();
    let large = json!({"path": "w/memory", "value": vec!["x".repeat(1 << 20); 5]});
    assert_eq!(call("v/ops/covia/write", large).unwrap_err().code(), "TOO_LARGE");
    assert_eq!(call("v/ops/memory", json!({"command": "recall"})).unwrap(), json!("1. a"));
    let again = call("v/ops/memory", json!({"command": "remember", "text": "b"})).unwrap();
    assert_eq!(again, json!({"remembered": true, "n": 2, "count": 2}));
}

/// What a case needs that the library does not have.
fn lacks(json: &Json) -> Option<&'static str> {
    match json {
        Json::Object(entries) if entries.contains_key("url") => Some("HTTP"),
        Json::Object(entries) if entries.get("caller") == Some(&Json::Null) => Some("credentials"),
        Json::Object(entries) => match entries.get("do").and_then(Json::as_str) {
            Some("compact" | "residue") => Some("compaction"),
            Some("grant") => Some("grants between users"),
            _ => entries.values().find_map(lacks),
        },
        Json::Array(items) => items.iter().find_map(lacks),
        _ => None,
    }
}

fn run(case: &Json) -> Result<(), String> {
    let mut run = Run { world: World::new(), terms: Terms::default() };
    for step in list(case, "setup") {
        run.step(step).map_err(|error| format!("setup: {error}"))?;
    }
    run.expect(&case["call"], &case["expect"])?;
    for (then, at) in list(case, "then").iter().zip(1..) {
        run.expect(&then["call"], &then["expect"]).map_err(|error| format!("then {at}: {error}"))?;
    }
    Ok(())
}

fn list<'a>(case: &'a Json, name: &str) -> &'a [Json] {
    case.get(name).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// One case under way.
struct Run {
    world: World,
    terms: Terms,
}

impl Run {
    fn step(&mut self, step: &Json) -> Result<(), String> {
        let nothing = Json::Object(Map::new());
        match (step.get("call"), step.get("repeat")) {
            (Some(call), Some(rounds)) => (1..=rounds.as_u64().unwrap()).try_for_each(|round| {
                self.terms.round = round;
                self.expect(call, &nothing)
            }),
            (Some(call), None) => self.expect(call, &step["expect"]),
            (None, _) => self.expect(step, &nothing),
        }
    }

    /// Makes a call and holds its outcome against what is expected; nothing more than success by `{}`.
    fn expect(&mut self, call: &Json, expected: &Json) -> Result<(), String> {
        let call = self.terms.fill(call, &self.world);
        let expected = self.terms.fill(expected, &self.world);
        let outcome = self.world.act(&call);
        let held = match (outcome, expected.get("error_code")) {
            (Ok(output), None) => match expected.get("output") {
                Some(pattern) => check(pattern, &output, &mut self.terms.saved),
                None => Ok(()),
            },
            (Err(error), Some(code)) => check(code, &Json::from(error.code()), &mut self.terms.saved).and_then(|()| {
                let message = Json::from(error.to_string());
                expected.get("message").map_or(Ok(()), |pattern| check(pattern, &message, &mut self.terms.saved))
            }),
            (Ok(output), Some(code)) => Err(format!("{output} instead of {code}")),
            (Err(error), None) => Err(format!("{}: {error}", error.code())),
        };
        held.map_err(|error| format!("{}: {error}", short(&call)))
    }
}

fn short(json: &Json) -> String {
    json.to_string().chars().take(200).collect()
}
