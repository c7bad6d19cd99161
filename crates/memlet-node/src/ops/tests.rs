//! Operations on one document, without a node. Every committed change is held against the caller's rights as any other
//! replica would, so that what a plan asks for and what the gate finds cannot drift apart.

use std::collections::BTreeMap;

use memlet_auth::did::to_did;
use memlet_auth::grant::{Abilities, Ability, Cap};
use memlet_auth::keys::SigningKey;
use memlet_core::document::{Author, Document, Effect};
use memlet_core::id::{Actor, GrantId, NamespaceId, PublicKey, ReplicaId};
use memlet_core::path::Path;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{Authority, Code, OpError, Operation, Request, Requests, Stored, mutate, read};

struct Caller {
    caps: Vec<Cap>,
    agent: Option<PublicKey>,
}

impl Authority for Caller {
    fn permits(&self, ability: Ability, path: &Path) -> bool {
        self.caps.iter().any(|cap| cap.at(path).contains(ability))
    }

    fn agent(&self) -> Option<PublicKey> {
        self.agent
    }
}

fn owner() -> Caller {
    Caller { caps: vec![Cap { abilities: Abilities::ALL, path: Path::ROOT }], agent: None }
}

/// Rights as pairs of letters for read, write, forget and a path.
fn token<const N: usize>(caps: [(&str, &str); N]) -> Caller {
    let ability = |letter| match letter {
        'r' => Ability::Read,
        'w' => Ability::Write,
        _ => Ability::Forget,
    };
    let cap = |(letters, path): (&str, &str)| Cap {
        abilities: Abilities::of(&letters.chars().map(ability).collect::<Vec<_>>()),
        path: Path::parse(path).unwrap(),
    };
    Caller { caps: caps.map(cap).to_vec(), agent: None }
}

fn key(name: &str) -> PublicKey {
    SigningKey::from_bytes(blake3::hash(name.as_bytes()).as_bytes()).public()
}

fn agent(name: &str) -> Caller {
    let private = format!("n/{}", to_did(&key(name)));
    Caller { agent: Some(key(name)), ..token([("rwf", "w"), ("rwf", &private)]) }
}

/// One namespace and the requests remembered for it.
struct Desk {
    document: Document,
    requests: BTreeMap<String, Stored>,
    now_ms: u64,
}

impl Requests for BTreeMap<String, Stored> {
    fn find(&self, id: &str) -> Result<Option<Stored>, OpError> {
        Ok(self.get(id).cloned())
    }
}

impl Desk {
    fn new() -> Self {
        Self { document: Document::new(NamespaceId(key("user").0)), requests: BTreeMap::new(), now_ms: 1_000 }
    }

    fn call(&mut self, caller: &Caller, name: &str, input: Json) -> Result<Json, Code> {
        let answer = match Operation::find(&format!("v/ops/{name}"), &input) {
            Ok(Operation::Reading(reading)) => read(reading, &input, &self.document, caller, &mut || 7),
            Ok(Operation::Mutation(mutation)) => {
                let actor = Actor { device: key("device"), replica: ReplicaId([1; 8]) };
                let mut draft = self.document.draft(Author { actor, grant: GrantId([2; 32]) }, self.now_ms);
                let done = mutate(mutation, &input, &mut draft, caller, &self.requests, self.now_ms);
                let written = draft.commit().unwrap();
                assert!(done.is_ok() || written.is_none(), "{name} failed and wrote");
                for (effect, path) in written.into_iter().flat_map(|written| written.effects) {
                    let ability = if effect == Effect::Write { Ability::Write } else { Ability::Forget };
                    assert!(caller.permits(ability, &path), "{name} did {effect:?} at {path} without the right");
                }
                done.map(|done| {
                    self.requests.extend(done.request.map(|Request { id, stored }| (id, stored)));
                    done.output
                })
            }
            Err(error) => Err(error),
        };
        answer.map_err(|error| error.code)
    }

    fn ok(&mut self, name: &str, input: Json) -> Json {
        self.call(&owner(), name, input).unwrap()
    }

    fn write(&mut self, path: &str, value: Json) {
        self.ok("covia/write", json!({"path": path, "value": value}));
    }

    fn at(&mut self, path: &str) -> Option<Json> {
        let mut found = self.ok("covia/read", json!({"path": path, "maxSize": 100_000_000}));
        (found["exists"] == json!(true)).then(|| found["value"].take())
    }
}

#[test]
fn a_write_that_replaces_what_was_there_needs_forget() {
    let adder = token([("rw", "w")]);
    for (before, after, adds_only) in [
        (json!("x"), json!("y"), true),
        (json!([1, 2]), json!([0, 1, 2, 3]), true),
        (json!({"a": 1}), json!({"a": 2, "b": [3]}), true),
        (json!([1, 2]), json!([2]), false),
        (json!([1, 2]), json!([2, 1]), false),
        (json!({"a": 1, "b": 2}), json!({"a": 1}), false),
        (json!("x"), json!(["x"]), false),
        (json!(["x"]), json!("x"), false),
        (json!({"a": 1}), json!({}), false),
    ] {
        let mut desk = Desk::new();
        desk.write("w/p", before.clone());
        let input = json!({"path": "w/p", "value": after});
        let tried = desk.call(&adder, "covia/write", input.clone());
        assert_eq!(tried.is_ok(), adds_only, "{before} to {after}: {tried:?}");
        desk.ok("covia/write", input);
        assert_eq!(desk.at("w/p"), Some(after));
    }
}

#[test]
fn rights_over_a_part_of_a_stored_value_are_not_enough_to_edit_it() {
    let mut desk = Desk::new();
    desk.write("w/l", json!([{"a": 1}]));
    let part = token([("rwf", "w/l/0")]);
    let write = json!({"path": "w/l/0/a", "value": 2});
    assert_eq!(desk.call(&part, "covia/write", write.clone()), Err(Code::PermissionDenied));
    assert_eq!(desk.call(&part, "covia/delete", json!({"path": "w/l/0/a"})), Err(Code::PermissionDenied));
    assert_eq!(desk.call(&part, "covia/read", json!({"path": "w/l/0/a"})).unwrap()["value"], json!(1));
    assert_eq!(desk.call(&token([("w", "w/l")]), "covia/write", write), Ok(json!({"existed": true})));
}

#[test]
fn deleting_a_position_is_an_edit_and_deleting_a_key_is_not() {
    let mut desk = Desk::new();
    desk.write("w/l", json!([{"a": 1, "t": [5, 6]}, 2]));
    let (writer, forgetter) = (token([("rw", "w")]), token([("rf", "w")]));
    let mut delete = |caller: &Caller, path: &str| desk.call(caller, "covia/delete", json!({"path": path}));
    assert_eq!(delete(&writer, "w/l/0/a"), Err(Code::PermissionDenied));
    assert_eq!(delete(&forgetter, "w/l/1"), Err(Code::PermissionDenied));
    assert_eq!(delete(&writer, "w/l/1"), Ok(json!({"deleted": true})));
    assert_eq!(delete(&writer, "w/l/1"), Ok(json!({"deleted": false})));
    assert_eq!(delete(&writer, "w/l/0/t/0"), Ok(json!({"deleted": true})));
    assert_eq!(delete(&writer, "w/l/9"), Ok(json!({"deleted": false})));
    assert_eq!(delete(&owner(), "w/l/0/a"), Ok(json!({"deleted": true})));
    assert_eq!(desk.at("w/l"), Some(json!([{"t": [null, 6]}, null])));
    assert_eq!(desk.call(&forgetter, "covia/delete", json!({"path": "w/l"})), Ok(json!({"deleted": true})));
    assert_eq!(desk.at("w"), None);
}

#[test]
fn a_write_below_a_list_names_a_position_that_is_there() {
    let mut desk = Desk::new();
    desk.write("w/l", json!(["x", {"k": null}]));
    desk.write("w/empty", json!([]));
    let mut write = |path: &str| desk.call(&owner(), "covia/write", json!({"path": path, "value": 1}));
    assert_eq!(write("w/l/2"), Err(Code::IndexOutOfRange));
    assert_eq!(write("w/empty/0"), Err(Code::IndexOutOfRange));
    assert_eq!(write("w/l/key"), Err(Code::ShapeConflict));
    assert_eq!(write("w/l/01"), Err(Code::ShapeConflict));
    assert_eq!(write("w/l/0/k"), Err(Code::ShapeConflict));
    assert_eq!(write("w/l/1/a/b"), Ok(json!({"existed": false, "pathCreated": true})));
    assert_eq!(desk.at("w/l"), Some(json!(["x", {"k": null, "a": {"b": 1}}])));
    let append = json!({"path": ["w", "l", 1, "k"], "value": "[2]"});
    assert_eq!(desk.ok("covia/append", append), json!({"existed": true, "index": 0, "newSize": 1}));
    assert_eq!(desk.at("w/l/1/k"), Some(json!([[2]])));
    let append = json!({"path": "w/l/0", "value": 2});
    assert_eq!(desk.call(&owner(), "covia/append", append), Err(Code::NotAList));
}

#[test]
fn a_written_empty_map_is_there_until_it_is_deleted() {
    let mut desk = Desk::new();
    desk.write("w/m", json!({}));
    assert_eq!(
        desk.call(&token([("rw", "w")]), "covia/write", json!({"path": "w/m/a", "value": 1})).unwrap()["existed"],
        json!(false)
    );
    assert_eq!(desk.at("w/m"), Some(json!({"a": 1})));
    desk.ok("covia/delete", json!({"path": "w/m/a"}));
    assert_eq!(desk.at("w/m"), Some(json!({})));
    desk.ok("covia/delete", json!({"path": "w/m"}));
    assert_eq!(desk.at("w/m"), None);
}

#[test]
fn remembering_over_a_null_replaces_it() {
    let mut desk = Desk::new();
    desk.write("w/n", Json::Null);
    let remember = json!({"command": "remember", "path": "w/n", "text": "a"});
    assert_eq!(desk.call(&token([("rw", "w")]), "memory", remember.clone()), Err(Code::PermissionDenied));
    assert_eq!(desk.ok("memory", remember)["n"], json!(1));
    assert_eq!(desk.ok("memory", json!({"command": "forget", "path": "w/n", "n": 1}))["count"], json!(0));
    assert_eq!(desk.at("w/n"), Some(json!([])));
}

#[test]
fn private_data_is_its_agents_and_the_owner_may_read_and_remove_it() {
    let mut desk = Desk::new();
    let remember = |path: &str| json!({"command": "remember", "path": path, "text": "mine"});
    desk.call(&agent("a"), "memory", remember("n/notes/x")).unwrap();
    let by_did = format!("n/{}/notes/x", to_did(&key("a")));
    let recall = |path: &str| json!({"command": "recall", "path": path});
    assert_eq!(desk.call(&agent("a"), "memory", recall("n/notes/x")), Ok(json!("1. mine")));
    assert_eq!(desk.call(&agent("b"), "memory", recall("n/notes/x")), Ok(Json::Null));
    assert_eq!(desk.call(&agent("b"), "memory", recall(&by_did)), Ok(Json::Null));
    assert_eq!(desk.call(&owner(), "memory", recall("n/notes/x")), Err(Code::AgentScopeRequired));
    assert_eq!(desk.call(&owner(), "memory", recall("n")), Err(Code::AgentScopeRequired));
    assert_eq!(desk.call(&owner(), "memory", remember(&by_did)), Err(Code::AgentScopeRequired));
    assert_eq!(desk.call(&owner(), "memory", recall(&by_did)), Ok(json!("1. mine")));
    assert_eq!(desk.call(&token([("r", "w")]), "memory", recall(&by_did)), Err(Code::PermissionDenied));
    assert_eq!(desk.ok("covia/delete", json!({"path": by_did})), json!({"deleted": true}));
    let write = json!({"path": "n/a", "value": 1});
    assert_eq!(desk.call(&agent("a"), "covia/write", write), Ok(json!({"existed": false})), "n/ itself is no parent");
}

#[test]
fn the_root_shows_all_that_its_caller_can_address() {
    let mut desk = Desk::new();
    desk.write("w/a", json!(1));
    desk.call(&agent("a"), "covia/write", json!({"path": "n/b", "value": 2})).unwrap();
    let all = desk.at("").unwrap();
    assert_eq!(all.as_object().unwrap().keys().collect::<Vec<_>>(), ["v", "w"]);
    let mut with_root = agent("a");
    with_root.caps = owner().caps;
    let all = desk.call(&with_root, "covia/list", json!({})).unwrap();
    assert_eq!(all["keys"], json!(["n", "v", "w"]));
    assert_eq!(desk.call(&agent("a"), "covia/read", json!({})), Err(Code::PermissionDenied));
    assert_eq!(desk.call(&token([]), "covia/read", json!({"path": "g/x"})).unwrap()["exists"], json!(false));
    assert_eq!(
        desk.call(&token([]), "covia/read", json!({"path": "v/ops/context/readOnly"})).unwrap()["value"],
        json!(true)
    );
}

#[test]
fn one_operation_works_in_one_namespace() {
    let (own, other) = (NamespaceId(key("user").0), NamespaceId(key("other").0));
    let did = |name: &str, path: &str| format!("{}/{path}", to_did(&key(name)));
    let named = |name: &str, input: Json| Operation::find(name, &input).unwrap().namespace(&input, own);
    assert_eq!(named("v/ops/covia/read", json!({"path": did("other", "w/a")})), Ok(other));
    assert_eq!(named("v/ops/covia/read", json!({"path": "w/a", "paths": [did("other", "w/a")]})), Ok(own));
    assert_eq!(named("v/ops/covia/read", json!({"path": "w//a"})), Ok(own));
    let copy = json!({"from": did("other", "w/a"), "to": did("user", "w/a")});
    assert_eq!(named("v/ops/covia/copy", copy.clone()).unwrap_err().code, Code::PermissionDenied);
    assert_eq!(Desk::new().call(&owner(), "covia/copy", copy), Err(Code::PermissionDenied));
    let inspect = json!({"paths": [did("other", "w"), did("other", "o")]});
    assert_eq!(named("v/ops/covia/inspect", inspect), Ok(other));
}

#[test]
fn a_repeated_request_has_its_first_answer_even_if_nothing_was_done() {
    let mut desk = Desk::new();
    let delete = json!({"path": "w/x", "request_id": "d1"});
    assert_eq!(desk.ok("covia/delete", delete.clone()), json!({"deleted": false}));
    desk.write("w/x", json!(1));
    assert_eq!(desk.ok("covia/delete", delete.clone()), json!({"deleted": false}));
    assert_eq!(desk.at("w/x"), Some(json!(1)));
    assert_eq!(desk.call(&token([("r", "w")]), "covia/delete", delete), Err(Code::PermissionDenied));
    let other = json!({"path": "w/x", "request_id": "d1", "value": 1});
    assert_eq!(desk.call(&owner(), "covia/append", other), Err(Code::RequestIdConflict));
    let long = json!({"path": "w/x", "request_id": "i".repeat(129)});
    assert_eq!(desk.call(&owner(), "covia/delete", long), Err(Code::InvalidInput));
}

#[test]
fn limits_are_met_exactly() {
    let mut desk = Desk::new();
    let mut write = |value: Json| desk.call(&owner(), "covia/write", json!({"path": "w/x", "value": value}));
    assert!(write(json!("x".repeat(1 << 20))).is_ok());
    assert_eq!(write(json!("x".repeat((1 << 20) + 1))), Err(Code::TooLarge));
    assert!(write(json!(["x".repeat(1 << 20)])).is_ok());
    assert_eq!(write(json!([{"k": "x".repeat(1 << 20)}])), Err(Code::TooLarge));
    assert!(write(json!(vec![1; 65_536])).is_ok());
    assert_eq!(write(json!(vec![1; 65_537])), Err(Code::TooLarge));
    assert_eq!(desk.call(&owner(), "covia/append", json!({"path": "w/x"})), Err(Code::TooLarge));
    let remember = json!({"command": "remember", "path": "w/x", "text": ""});
    assert_eq!(desk.call(&owner(), "memory", remember), Err(Code::TooLarge));
}

#[test]
fn a_value_cannot_be_nested_deeper_step_by_step() {
    let mut desk = Desk::new();
    let deep = (0..126).fold(json!(1), |inner, _| json!([inner]));
    desk.write("w/l", json!([{}]));
    desk.write("w/l/0/a", deep.clone());
    let deeper = json!({"path": "w/l/0/b/c", "value": deep});
    assert_eq!(desk.call(&owner(), "covia/write", deeper), Err(Code::InvalidInput));
}

#[test]
fn shown_times_never_fall_when_the_clock_does() {
    let mut desk = Desk::new();
    desk.now_ms = 5_000;
    desk.ok("memory", json!({"command": "remember", "text": "a"}));
    desk.now_ms = 10;
    desk.ok("memory", json!({"command": "remember", "text": "b"}));
    assert_eq!(desk.at("w/memory"), Some(json!([{"text": "a", "ts": 5_000}, {"text": "b", "ts": 5_000}])));
}

#[test]
fn a_context_shows_what_fails_and_stops_for_what_is_required() {
    let mut desk = Desk::new();
    desk.ok("memory", json!({"command": "remember", "text": "a"}));
    let entries = json!([
        "w//x", "w/none", "g/none", "", "just text", 5, {"label": "nothing"},
        {"ref": "w/memory/0/text"},
        {"op": "v/ops/nope"},
        {"op": "v/ops/memory", "input": {"command": "frobnicate"}, "label": "L"},
        {"op": "v/ops/covia/list", "input": {"path": "w/memory"}},
    ]);
    let messages = desk.ok("context", json!({"entries": entries}))["messages"].take();
    let contents: Vec<&str> = messages.as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert!(contents[0].starts_with("[Context: w//x]\nunavailable (INVALID_PATH): "), "{contents:?}");
    assert_eq!(contents[1..4], ["", "just text", "[Context: w/memory/0/text]\na"]);
    assert!(contents[4].starts_with("[Context: op:v/ops/nope]\nunavailable (UNKNOWN_OPERATION): "), "{contents:?}");
    assert!(contents[5].starts_with("[Context: L]\nunavailable (INVALID_COMMAND): "), "{contents:?}");
    assert_eq!(contents[6..], ["[Context: op:v/ops/covia/list]\n{\"count\":1,\"exists\":true,\"type\":\"Vector\"}"]);
    for needed in [json!({"ref": "w/none", "required": true}), json!({"ref": "w//x", "required": true})] {
        assert_eq!(desk.call(&owner(), "context", json!({"entries": [needed]})), Err(Code::ContextRequired));
    }
    let denied = desk.call(&token([]), "context", json!({"entries": ["w/memory"]})).unwrap();
    let content = denied["messages"][0]["content"].as_str().unwrap();
    assert!(content.starts_with("[Context: w/memory]\nunavailable (PERMISSION_DENIED): "), "{content}");
}

#[test]
fn several_inspected_paths_share_one_budget() {
    let mut desk = Desk::new();
    desk.write("w/small", json!(1));
    desk.write("w/big", json!(vec!["word"; 100]));
    let input = json!({"paths": ["w/small", ["w", "big"], "/w/big"], "budget": 120});
    let result = desk.ok("covia/inspect", input)["result"].take();
    let texts = result.as_object().unwrap();
    assert_eq!(texts["w/small"], json!("1"));
    assert_eq!(texts.len(), 3);
    assert!(texts.values().map(|text| text.as_str().unwrap().len()).sum::<usize>() <= 120, "{result}");
}

fn any_json() -> impl Strategy<Value = Json> {
    let key = prop_oneof![4 => "[a-c]", 1 => Just("100%".to_owned()), 1 => Just(String::new())];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        "[a-z]{0,3}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(key.clone(), inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_whatever_was_there(
        steps in prop::collection::vec((prop::sample::select(vec!["w/p", "w/p/a", "w/p/a/b", "w/p/0"]), any_json()), 1..8),
    ) {
        let mut desk = Desk::new();
        for (path, value) in steps {
            if desk.call(&owner(), "covia/write", json!({"path": path, "value": value.clone()})).is_ok() {
                prop_assert_eq!(desk.at(path), Some(value));
            }
        }
        desk.document.verify().unwrap();
        desk.ok("covia/delete", json!({"path": "w/p"}));
        prop_assert_eq!(desk.at(""), Some(json!({"v": desk.at("v").unwrap()})));
    }
}
