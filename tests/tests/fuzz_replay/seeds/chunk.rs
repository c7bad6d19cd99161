//! Chunks of Automerge's binary format, written by hand: what its own encoder would never write.

use memlet_tests::fuzzing::{author, history, seal};

/// A change whose every field can be told.
#[derive(Clone)]
pub(super) struct Chunk {
    pub(super) kind: u8,
    pub(super) deps: Vec<[u8; 32]>,
    pub(super) actor: Vec<u8>,
    pub(super) seq: i64,
    pub(super) start_op: i64,
    pub(super) time: i64,
    pub(super) message: Vec<u8>,
    pub(super) others: Vec<Vec<u8>>,
    pub(super) columns: Vec<(u8, Vec<u8>)>,
    pub(super) extra: Vec<u8>,
}

/// The columns of a change: 16 times the field, plus the kind of column.
pub(super) mod column {
    pub(crate) const OBJECT_ACTOR: u8 = 0x01;
    pub(crate) const OBJECT_COUNTER: u8 = 0x02;
    pub(crate) const KEY: u8 = 0x15;
    pub(crate) const INSERT: u8 = 0x34;
    pub(crate) const ACTION: u8 = 0x42;
    pub(crate) const VALUE_KIND: u8 = 0x56;
    pub(crate) const VALUE: u8 = 0x57;
    pub(crate) const REPLACED: u8 = 0x70;
    pub(crate) const REPLACED_ACTOR: u8 = 0x71;
    pub(crate) const REPLACED_COUNTER: u8 = 0x73;
    /// Added to a column's number if it is compressed.
    pub(crate) const COMPRESSED: u8 = 0x08;
}

impl Chunk {
    /// Replica 3's first change on top of the fixed history: `count` times the put of `value_bytes` zero bytes each under the key
    /// `w/x` of the lists.
    pub(super) fn puts(count: i64, value_bytes: usize) -> Self {
        const BYTES: i64 = 7;
        const PUT: i64 = 1;
        const LISTS: i64 = 2;
        let known: Vec<_> = history().into_iter().map(|bytes| automerge::Change::from_bytes(bytes).unwrap()).collect();
        let start_op = known.iter().map(automerge::Change::max_op).max().unwrap() + 1;
        let total = value_bytes.saturating_mul(usize::try_from(count).unwrap()).min(1 << 10);
        let mut deps: Vec<[u8; 32]> = known[1..].iter().map(|change| change.hash().0).collect();
        deps.sort();
        Self {
            kind: 1,
            deps,
            actor: author(3).actor.to_bytes().to_vec(),
            seq: 1,
            start_op: i64::try_from(start_op).unwrap(),
            time: 0,
            message: Vec::new(),
            others: vec![vec![0]],
            columns: vec![
                (column::OBJECT_ACTOR, run(count, 1)),
                (column::OBJECT_COUNTER, run(count, LISTS)),
                (column::KEY, [run(count, 3), b"w/x".to_vec()].concat()),
                (column::INSERT, unsigned(count)),
                (column::ACTION, run(count, PUT)),
                (column::VALUE_KIND, run(count, BYTES + (i64::try_from(value_bytes).unwrap() << 4))),
                (column::VALUE, vec![0; total]),
                (column::REPLACED, run(count, 0)),
            ],
            extra: Vec::new(),
        }
    }

    /// This change with another content of one column, which may be new.
    pub(super) fn with(mut self, spec: u8, bytes: Vec<u8>) -> Self {
        self.columns.retain(|(known, _)| *known != spec);
        self.columns.push((spec, bytes));
        self.columns.sort_by_key(|(spec, _)| *spec);
        self
    }

    /// The chunk, with the length and checksum of what it holds.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let counted = |parts: &[Vec<u8>]| [unsigned(parts.len() as i64), parts.concat()].concat();
        let sized = |bytes: &[u8]| [&unsigned(bytes.len() as i64), bytes].concat();
        let head = |(spec, bytes): &(u8, Vec<u8>)| [unsigned(i64::from(*spec)), unsigned(bytes.len() as i64)].concat();
        let body = [
            counted(&self.deps.iter().map(|dep| dep.to_vec()).collect::<Vec<_>>()),
            sized(&self.actor),
            unsigned(self.seq),
            unsigned(self.start_op),
            leb(self.time),
            sized(&self.message),
            counted(&self.others.iter().map(|actor| sized(actor)).collect::<Vec<_>>()),
            counted(&self.columns.iter().map(head).collect::<Vec<_>>()),
            self.columns.iter().flat_map(|(_, bytes)| bytes.clone()).collect(),
            self.extra.clone(),
        ];
        let magic_and_checksum = vec![0x85, 0x6f, 0x4a, 0x83, 0, 0, 0, 0];
        seal(&[magic_and_checksum, vec![self.kind, 0], body.concat()].concat())
    }
}

/// So many equal entries of a column. Automerge counts a single one as a row of different ones.
pub(super) fn run(count: i64, value: i64) -> Vec<u8> {
    [leb(if count == 1 { -1 } else { count }), unsigned(value)].concat()
}

/// Signed LEB128 (DWARF 5, section 7.6).
pub(super) fn leb(mut value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        if (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0) {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// Unsigned LEB128 of a number that is not negative: without the byte that only tells the sign.
pub(super) fn unsigned(value: i64) -> Vec<u8> {
    let mut bytes = leb(value);
    if bytes.len() > 1 && bytes.ends_with(&[0]) {
        bytes.pop();
        if let Some(last) = bytes.last_mut() {
            *last &= 0x7f;
        }
    }
    bytes
}
