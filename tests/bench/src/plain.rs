//! Plain Automerge: the same texts in a list of native values, edited in place, and its own sync protocol.

use automerge::sync::{Message, State, SyncDoc as _};
use automerge::transaction::{CommitOptions, Transactable as _, Transaction};
use automerge::{ActorId, Automerge, ChangeHash, ObjId, ObjType, ROOT, ReadDoc as _, Value};

use crate::exchange::Side;
use crate::{NOW_MS, text};

/// The key of the list in its document.
const LIST: &str = "memory";

/// A document with `items` items, one change each, behind the one that makes the list.
pub fn document(items: u64) -> Automerge {
    let mut document = Automerge::new();
    edit(&mut document, |transaction| {
        transaction.put_object(ROOT, LIST, ObjType::List).expect("the root takes a list");
    });
    (0..items).for_each(|n| remember(&mut document, n));
    document
}

/// The same document at actor `actor`.
pub fn at(actor: u8, document: &Automerge) -> Automerge {
    document.clone().with_actor(ActorId::from([actor; 16]))
}

/// Adds item `n` at the end.
pub fn remember(document: &mut Automerge, n: u64) {
    let (list, end) = list(document);
    edit(document, |transaction| insert(transaction, &list, end, n));
}

/// Replaces the text of the item at `index`.
pub fn update(document: &mut Automerge, index: usize, text: &str) {
    let (list, _) = list(document);
    let item = item(document, &list, index);
    edit(document, |transaction| transaction.put(item, "text", text).expect("an item takes a text"));
}

/// Removes the item at `index`.
pub fn forget(document: &mut Automerge, index: usize) {
    let (list, _) = list(document);
    edit(document, |transaction| transaction.delete(list, index).expect("there is an item"));
}

/// Replaces the whole list by one of items `0..items`, as a program that keeps the list as one value does.
pub fn replace(document: &mut Automerge, items: u64) {
    edit(document, |transaction| {
        let list = transaction.put_object(ROOT, LIST, ObjType::List).expect("the root takes a list");
        (0..items).zip(0..).for_each(|(n, index)| insert(transaction, &list, index, n));
    });
}

/// The numbered list, as memlet shows it.
pub fn recall(document: &Automerge) -> String {
    let (list, items) = list(document);
    let line = |index| match document.get(item(document, &list, index), "text") {
        Ok(Some((text, _))) => format!("{}. {}", index + 1, text.as_str().expect("an item has a text")),
        other => panic!("an item has a text, but this one has {other:?}"),
    };
    (0..items).map(line).collect::<Vec<_>>().join("\n")
}

/// The bytes of the change made last, uncompressed.
pub fn change_bytes(document: &Automerge) -> usize {
    let heads = document.get_heads();
    heads.iter().filter_map(|head| document.get_change_by_hash(head)).map(|change| change.raw_bytes().len()).sum()
}

fn list(document: &Automerge) -> (ObjId, usize) {
    let (value, list) = document.get(ROOT, LIST).expect("the root can be read").expect("it has the list");
    assert!(matches!(value, Value::Object(ObjType::List)), "the list is a list");
    let items = document.length(&list);
    (list, items)
}

fn item(document: &Automerge, list: &ObjId, index: usize) -> ObjId {
    document.get(list, index).expect("the list can be read").expect("there is an item").1
}

fn insert(transaction: &mut Transaction<'_>, list: &ObjId, index: usize, n: u64) {
    let item = transaction.insert_object(list, index, ObjType::Map).expect("the list takes an item");
    transaction.put(&item, "text", text(n)).expect("an item takes a text");
    transaction.put(&item, "ts", (NOW_MS + n).cast_signed()).expect("an item takes a time");
}

/// Makes one change. Its time is 0, as that of a change of memlet, whose items carry their own.
fn edit(document: &mut Automerge, gather: impl FnOnce(&mut Transaction<'_>)) {
    let mut transaction = document.transaction();
    gather(&mut transaction);
    transaction.commit_with(CommitOptions::default().with_time(0));
}

/// One side of Automerge's sync protocol.
pub struct PlainSide {
    document: Automerge,
    state: State,
}

impl PlainSide {
    /// A side that knows nothing of the other.
    pub fn new(document: Automerge) -> Self {
        Self { document, state: State::new() }
    }

    /// A side that has kept, since it was last level with the other, what the protocol lets it keep.
    pub fn resumed(document: Automerge, level: Vec<ChangeHash>) -> Self {
        let state = State { shared_heads: level, ..State::new() };
        let state = State::decode(&state.encode()).expect("what was kept can be read");
        Self { document, state }
    }

    /// The document.
    pub fn document(&mut self) -> &mut Automerge {
        &mut self.document
    }
}

impl Side for PlainSide {
    type Held = Vec<ChangeHash>;

    fn say(&mut self) -> Vec<Vec<u8>> {
        let message = self.document.generate_sync_message(&mut self.state);
        message.into_iter().map(|message| framed(&message.encode())).collect()
    }

    fn hear(&mut self, message: &[u8]) {
        let message = Message::decode(&message[LENGTH_BYTES..]).expect("the peer sends sync messages");
        self.document.receive_sync_message(&mut self.state, message).expect("the peer keeps to the protocol");
    }

    fn held(&self) -> Vec<ChangeHash> {
        self.document.get_heads()
    }
}

/// Bytes of the length before a message, as memlet and samod have on a stream.
pub const LENGTH_BYTES: usize = 4;

fn framed(message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).expect("a message is below 4 GiB");
    [&len.to_be_bytes(), message].concat()
}
