//! Chunks that lie about what they hold, chunks of other kinds, and such as Automerge itself cannot take: all are refused.

use automerge::transaction::{CommitOptions, Transactable as _};
use automerge::{ActorId, Automerge, ObjType, ROOT, ScalarValue};
use data_encoding::HEXLOWER;
use memlet_tests::fuzzing::{author, seal};

use super::changes::Named;
use super::chunk::{Chunk, column, leb, run, unsigned};

/// Found by searching: automerge 0.12 takes these changes in and encodes them the same again, but then cannot load what it
/// saves; the last makes it panic.
const BREAKING: [(&str, &str); 3] = [
    ("a change of nothing that breaks the document", "856f4a83a66161f10109000101010300000000"),
    (
        "a list element that breaks the document",
        "856f4a837f19075a014c00010101030000000c010402041104130515053403420456045702700471027302000102000001020300027f0000017e00\
         047f016c00020101017f0202017f000214010202007f017f007f06",
    ),
    (
        "a list element that breaks the reader",
        "856f4a834fa8cd29014c00010101030000000c010402041104130515053403420456045702700471027302000102000001020300027f0000017e00\
         047f016c00020101017f0202017f000214010202007f017f007f03",
    ),
];

/// One lie or one other kind each.
pub(super) fn seeds() -> Vec<Named> {
    const BILLION: i64 = 1_000_000_000;
    const ALL: i64 = 131_072;
    let puts = Chunk::puts;
    let replaced = |each: i64| {
        let with = puts(1, 12).with(column::REPLACED, run(1, each));
        with.with(column::REPLACED_ACTOR, run(each, 0)).with(column::REPLACED_COUNTER, run(each, 1))
    };
    let chunk = |edit: &dyn Fn(&mut Chunk)| {
        let mut chunk = puts(2, 12);
        edit(&mut chunk);
        chunk.to_bytes()
    };
    let whole = chunk(&|_| {});
    let with_tail = [&whole[..], b"tail"].concat();
    let mut other_checksum = whole.clone();
    other_checksum[4] ^= 1;
    let mut lying_length = whole.clone();
    lying_length[9] ^= 1;
    // 0x80 0x00 in place of 0 dependencies
    let mut not_minimal = chunk(&|chunk| chunk.deps.clear());
    not_minimal.splice(11..12, [0x80, 0x00]);
    let mut many_lengths = vec![0x85, 0x6f, 0x4a, 0x83, 0, 0, 0, 0, 1];
    many_lengths.extend([0xff; 16]);
    let columns: Vec<(u8, Vec<u8>)> = (0..=0x7f).map(|spec| (spec, Vec::new())).collect();
    let lies = [
        ("two puts", whole.clone()),
        ("a billion operations", puts(BILLION, 0).to_bytes()),
        ("all operations there may be without values", puts(ALL, 0).to_bytes()),
        ("a billion replaced operations", replaced(BILLION).to_bytes()),
        (
            "a billion replaced operations in a row",
            puts(2, 12).with(column::REPLACED, [leb(-2), unsigned(BILLION), unsigned(BILLION)].concat()).to_bytes(),
        ),
        ("all replaced operations there may be", replaced(ALL).to_bytes()),
        ("the least count", chunk(&|chunk| chunk.columns[4].1 = run(i64::MIN, 1))),
        ("the greatest count", chunk(&|chunk| chunk.columns[4].1 = run(i64::MAX, 1))),
        ("a count of nothing", chunk(&|chunk| chunk.columns[4].1 = [leb(0), unsigned(i64::MAX)].concat())),
        ("a value longer than all", chunk(&|chunk| chunk.columns[5].1 = run(2, i64::MAX))),
        ("a column twice", chunk(&|chunk| chunk.columns.insert(4, (column::ACTION, run(BILLION, 1))))),
        ("columns without end", chunk(&|chunk| chunk.columns = columns.clone())),
        ("columns backwards", chunk(&|chunk| chunk.columns.reverse())),
        ("a compressed column", chunk(&|chunk| chunk.columns[6].0 |= column::COMPRESSED)),
        ("a column longer than what is left", seal(&whole[..whole.len() - 5])),
        ("no columns", chunk(&|chunk| chunk.columns.clear())),
        ("a thousand empty actors", chunk(&|chunk| chunk.others = vec![Vec::new(); 1_000])),
        ("actors backwards", chunk(&|chunk| chunk.others = vec![vec![9; 40], vec![0]])),
        ("an actor that is not there", chunk(&|chunk| chunk.columns[0].1 = run(2, 7))),
        ("an action that is not there", chunk(&|chunk| chunk.columns[4].1 = run(2, 99))),
        ("no number", chunk(&|chunk| chunk.seq = 0)),
        ("no first operation", chunk(&|chunk| chunk.start_op = 0)),
        ("a first operation beyond all", chunk(&|chunk| chunk.start_op = i64::MAX)),
        ("a message that is no text", chunk(&|chunk| chunk.message = vec![0xff])),
        ("a document chunk", chunk(&|chunk| chunk.kind = 0)),
        ("a bundle", chunk(&|chunk| chunk.kind = 3)),
        ("a chunk of no known kind", chunk(&|chunk| chunk.kind = 255)),
        ("a cut", with_tail[..90].to_vec()),
        ("only a header", with_tail[..10].to_vec()),
        ("another checksum", other_checksum),
        ("bytes behind it", with_tail),
        ("another length", lying_length),
        ("a length without end", many_lengths),
        ("a number that is not minimal", seal(&not_minimal)),
        ("a compressed change of 16 MB", bomb(|change, _| change.bytes().into_owned())),
        ("a compressed document of 16 MB", bomb(|_, document| document.save())),
        ("texts and marks", texts()),
    ];
    let breaking = BREAKING.map(|(name, hex)| (name, HEXLOWER.decode(hex.as_bytes()).unwrap()));
    lies.into_iter().chain(breaking).collect()
}

/// A change that puts 16 MB of zeros, compressed to a thousandth of that.
fn bomb(encode: impl FnOnce(&mut automerge::Change, &Automerge) -> Vec<u8>) -> Vec<u8> {
    let mut document = Automerge::new().with_actor(ActorId::from(&author(3).actor.to_bytes()[..]));
    let mut transaction = document.transaction();
    transaction.put(ROOT, "zeros", ScalarValue::Bytes(vec![0; 16 << 20])).unwrap();
    transaction.commit_with(CommitOptions::default().with_time(0));
    let mut change = document.get_last_local_change().unwrap();
    encode(&mut change, &document)
}

/// A change of what Automerge has and documents do not: a text with a mark, a list, a counter.
fn texts() -> Vec<u8> {
    use automerge::marks::{ExpandMark, Mark};
    let mut document = Automerge::new().with_actor(ActorId::from(&author(3).actor.to_bytes()[..]));
    let mut transaction = document.transaction();
    let text = transaction.put_object(ROOT, "text", ObjType::Text).unwrap();
    transaction.splice_text(&text, 0, 0, "hello world").unwrap();
    transaction.mark(&text, Mark::new("bold".into(), true, 0, 5), ExpandMark::Both).unwrap();
    let list = transaction.put_object(ROOT, "list", ObjType::List).unwrap();
    transaction.insert(&list, 0, ScalarValue::counter(1)).unwrap();
    transaction.increment(&list, 0, 5).unwrap();
    transaction.commit_with(CommitOptions::default().with_time(0));
    document.get_last_local_change().unwrap().raw_bytes().to_vec()
}
