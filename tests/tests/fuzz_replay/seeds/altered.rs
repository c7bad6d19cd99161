//! Right changes that say something else in one place, encoded as Automerge itself would encode that: all are refused.

use std::num::NonZeroU64;

use automerge::legacy::{ElementId, Key, ObjectId, Op, OpId, OpType};
use automerge::{ActorId, ExpandedChange, ObjType, ScalarValue};
use memlet_core::codec::Encode as _;
use memlet_core::document::Document;
use memlet_core::hlc::Hlc;
use memlet_tests::fuzzing::{NAMESPACE, author, history};

use super::changes::{Named, WRITTEN_MS, an_item};

/// A change with an edit, encoded anew.
pub(super) fn alter(change: &[u8], edit: &dyn Fn(&mut ExpandedChange)) -> Vec<u8> {
    let mut change = automerge::Change::from_bytes(change.to_vec()).unwrap().decode();
    edit(&mut change);
    automerge::Change::from(change).raw_bytes().to_vec()
}

/// Gives every body and generation that was written at [`super::changes::WRITTEN_MS`] another time.
pub(super) fn at(change: &mut ExpandedChange, hlc: u64) {
    let now = Hlc::default().tick(WRITTEN_MS).to_cbor();
    let hlc = hlc.to_cbor();
    for op in &mut change.operations {
        if let OpType::Put(ScalarValue::Bytes(bytes)) = &mut op.action
            // Heads of arrays stand before the time, and the counter of the time is small.
            && let Some(at) = bytes.windows(now.len() - 1).position(|window| *window == now[..now.len() - 1])
        {
            bytes.splice(at..at + now.len(), hlc.clone());
        }
    }
}

/// One alteration each.
pub(super) fn seeds() -> Vec<Named> {
    let original = an_item();
    let alter = |edit: &dyn Fn(&mut ExpandedChange)| alter(&original, edit);
    // Its operations: the replica's binding, the run of one body, the list.
    let op = |edit: &dyn Fn(&mut Op)| alter(&|change| edit(&mut change.operations[2]));
    let put = |value: &dyn Fn() -> ScalarValue| op(&|op| op.action = OpType::Put(value()));
    let actor = ActorId::from(&author(1).actor.to_bytes()[..]);
    vec![
        ("a known change", history().remove(0)),
        ("the genesis change", Document::genesis_change(&NAMESPACE)),
        ("a time", alter(&|change| change.time = i64::MIN)),
        ("a message", alter(&|change| change.message = Some("hello".into()))),
        ("extra bytes", alter(&|change| change.extra_bytes = vec![1, 2, 3])),
        ("no operations", alter(&|change| change.operations.clear())),
        ("no past", alter(&|change| change.deps.clear())),
        ("a past twice", alter(&|change| change.deps = [change.deps.clone(), change.deps.clone()].concat())),
        ("a gap in the numbers", alter(&|change| change.seq = 2)),
        ("the highest number", alter(&|change| change.seq = u64::MAX)),
        ("a gap in the operations", alter(&|change| change.start_op = change.start_op.saturating_add(1))),
        ("the highest operation", alter(&|change| change.start_op = NonZeroU64::new(u32::MAX.into()).unwrap())),
        ("another author", alter(&|change| change.actor_id = actor.clone())),
        ("an author of no device", alter(&|change| change.actor_id = ActorId::from(&[1, 2, 3][..]))),
        ("the root's author", alter(&|change| change.actor_id = ActorId::from(&[0][..]))),
        ("one key twice", alter(&|change| change.operations.push(change.operations[2].clone()))),
        ("a body that nothing names", alter(&|change| drop(change.operations.remove(2)))),
        ("a member without a body", alter(&|change| drop(change.operations.remove(1)))),
        (
            "the last dot there can be",
            alter(&|change| rename(&mut change.operations[1], "AwMDAwMDAwMffffffffffffffff")),
        ),
        ("a dot of another replica", alter(&|change| rename(&mut change.operations[1], "AQEBAQEBAQE1"))),
        ("a dot far ahead", alter(&|change| rename(&mut change.operations[1], "AwMDAwMDAwM2"))),
        ("the last moment there can be", alter(&|change| at(change, u64::MAX))),
        ("a key of the root", op(&|op| op.obj = ObjectId::Root)),
        ("a map that is not there", op(&|op| op.obj = ObjectId::Id(OpId(6, ActorId::from(&[0][..]))))),
        ("a map of another author", op(&|op| op.obj = ObjectId::Id(OpId(2, actor.clone())))),
        ("an element", op(&|op| op.key = Key::Seq(ElementId::Head))),
        ("an element behind another", op(&|op| op.key = Key::Seq(ElementId::Id(OpId(9, actor.clone()))))),
        ("an insertion", op(&|op| op.insert = true)),
        ("a deletion", op(&|op| op.action = OpType::Delete)),
        ("an increment", op(&|op| op.action = OpType::Increment(1))),
        ("a new map", op(&|op| op.action = OpType::Make(ObjType::Map))),
        ("a new list", op(&|op| op.action = OpType::Make(ObjType::List))),
        ("a new text", op(&|op| op.action = OpType::Make(ObjType::Text))),
        ("a null", put(&|| ScalarValue::Null)),
        ("a text", put(&|| ScalarValue::Str("x".into()))),
        ("a counter", put(&|| ScalarValue::counter(1))),
        ("a timestamp", put(&|| ScalarValue::Timestamp(1))),
        ("a float", put(&|| ScalarValue::F64(f64::NAN))),
        ("a value of no known kind", put(&|| ScalarValue::Unknown { type_code: 15, bytes: vec![1] })),
        ("empty bytes", put(&|| ScalarValue::Bytes(Vec::new()))),
        ("nothing replaced", op(&|op| op.pred = Vec::new().into())),
        ("a replaced operation that is not there", op(&|op| op.pred = vec![OpId(8, actor.clone())].into())),
        ("a replaced operation of the future", op(&|op| op.pred = vec![OpId(1 << 31, actor.clone())].into())),
        (
            "a replaced operation twice",
            op(&|op| op.pred = [op.pred.iter(), op.pred.iter()].into_iter().flatten().cloned().collect()),
        ),
        ("a thousand replaced operations", op(&|op| op.pred = (1..=1_000).map(|n| OpId(n, actor.clone())).collect())),
    ]
}

fn rename(op: &mut Op, key: &str) {
    op.key = Key::Map(key.into());
}
