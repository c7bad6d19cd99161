//! The contract of [`Store`] as checks that run on every implementation.
//!
//! Only what the contract promises is checked; what a store does on faults is checked beside that store.

#![expect(clippy::unwrap_used, reason = "a failed check is a panic")]

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Barrier;

use memlet_core::id::NamespaceId;

use crate::{KEY_BYTES_MAX, Read, Record, Scope, Store, StoreError, Table, VALUE_BYTES_MAX};

/// Opens one and the same store, each time as another process would.
type Open<'a> = &'a dyn Fn() -> Box<dyn Store>;

const A: Scope = Scope::Namespace(NamespaceId([0xaa; 32]));
const B: Scope = Scope::Namespace(NamespaceId([0xbb; 32]));

/// Runs every check, each on a store of its own. `fresh` makes an empty store and returns what opens it.
///
/// # Panics
///
/// When a check fails.
pub fn run<S, O>(fresh: impl Fn() -> O)
where
    S: Store + 'static,
    O: Fn() -> S,
{
    let checks: [fn(Open<'_>); 11] = [
        records_are_kept_apart,
        keys_are_ordered_bytewise,
        a_scan_starts_and_stops_where_told,
        a_write_sees_its_own_changes,
        a_dropped_write_leaves_nothing,
        clear_takes_one_table_of_one_scope,
        commits_outlive_the_process,
        a_read_is_a_snapshot_that_blocks_nobody,
        one_writer_at_a_time,
        sizes_are_limited,
        random_writes_match_a_map,
    ];
    for check in checks {
        let open = fresh();
        check(&|| Box::new(open()));
    }
}

fn records_are_kept_apart(open: Open<'_>) {
    let store = open();
    assert_eq!(store.read().unwrap().namespaces().unwrap(), []);
    let places = [Scope::Store, A, B].into_iter().flat_map(|scope| Table::ALL.map(|table| (scope, table)));
    for (number, (scope, table)) in (0..).zip(places.clone()) {
        put(&*store, scope, table, b"key", &[number]);
    }
    let read = store.read().unwrap();
    for (number, (scope, table)) in (0..).zip(places) {
        assert_eq!(read.get(scope, table, b"key").unwrap(), Some(vec![number]));
        assert_eq!(records(&*read, scope, table), [(b"key".to_vec(), vec![number])]);
        assert_eq!(read.get(scope, table, b"ke").unwrap(), None);
    }
    assert_eq!(read.namespaces().unwrap(), [NamespaceId([0xaa; 32]), NamespaceId([0xbb; 32])]);
}

fn keys_are_ordered_bytewise(open: Open<'_>) {
    let store = open();
    let keys: [&[u8]; 9] = [b"", b"\0", b"\0\0", b"\x01", b"a", b"a\0", b"ab", b"\x7f\xff", b"\xff"];
    for key in keys.iter().rev() {
        put(&*store, A, Table::Changes, key, key);
    }
    let read = store.read().unwrap();
    assert_eq!(records(&*read, A, Table::Changes), keys.map(|key| (key.to_vec(), key.to_vec())));
    assert_eq!(read.last(A, Table::Changes).unwrap(), Some((b"\xff".to_vec(), b"\xff".to_vec())));
    assert_eq!(read.last(B, Table::Changes).unwrap(), None);
}

fn a_scan_starts_and_stops_where_told(open: Open<'_>) {
    let store = open();
    for key in [b"b", b"d", b"f"] {
        put(&*store, A, Table::Events, key, b"");
    }
    let read = store.read().unwrap();
    let keys = |from| {
        let mut found = Vec::new();
        let mut visit = |key: &[u8], _: &[u8]| {
            found.extend_from_slice(key);
            if key == b"f" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        read.scan(A, Table::Events, from, &mut visit).unwrap();
        String::from_utf8(found).unwrap()
    };
    assert_eq!(keys(Bound::Unbounded), "bdf");
    assert_eq!(keys(Bound::Included(b"b")), "bdf");
    assert_eq!(keys(Bound::Excluded(b"b")), "df");
    assert_eq!(keys(Bound::Included(b"c")), "df");
    assert_eq!(keys(Bound::Excluded(b"f")), "");

    let mut visits = 0;
    let mut stop = |_: &[u8], _: &[u8]| {
        visits += 1;
        ControlFlow::Break(())
    };
    read.scan(A, Table::Events, Bound::Unbounded, &mut stop).unwrap();
    assert_eq!(visits, 1, "a scan goes on after it was told to stop");
}

fn a_write_sees_its_own_changes(open: Open<'_>) {
    let store = open();
    for key in [b"a", b"b", b"c"] {
        put(&*store, A, Table::Peers, key, b"old");
    }
    let mut write = store.write(A).unwrap();
    write.put(Table::Peers, b"b", b"new").unwrap();
    write.delete(Table::Peers, b"c").unwrap();
    write.delete(Table::Peers, b"never there").unwrap();
    assert_eq!(write.get(A, Table::Peers, b"b").unwrap().as_deref(), Some(&b"new"[..]));
    assert_eq!(write.get(A, Table::Peers, b"c").unwrap(), None);
    assert_eq!(write.last(A, Table::Peers).unwrap(), Some((b"b".to_vec(), b"new".to_vec())));
    write.put(Table::Peers, b"aa", b"").unwrap();
    write.put(Table::Events, b"e", b"1").unwrap();
    let now = [(&b"a"[..], &b"old"[..]), (b"aa", b""), (b"b", b"new")].map(|(key, value)| (key.into(), value.into()));
    assert_eq!(records(&*write, A, Table::Peers), now);
    write.clear(Table::Events).unwrap();
    assert_eq!(write.last(A, Table::Events).unwrap(), None);
    write.put(Table::Events, b"e", b"2").unwrap();
    assert_eq!(store.read().unwrap().get(A, Table::Peers, b"c").unwrap().as_deref(), Some(&b"old"[..]));
    write.commit().unwrap();

    let read = store.read().unwrap();
    assert_eq!(records(&*read, A, Table::Peers), now);
    assert_eq!(records(&*read, A, Table::Events), [(b"e".to_vec(), b"2".to_vec())]);
}

fn a_dropped_write_leaves_nothing(open: Open<'_>) {
    let store = open();
    put(&*store, A, Table::Changes, b"kept", b"1");
    let mut write = store.write(A).unwrap();
    write.put(Table::Changes, b"kept", b"2").unwrap();
    write.put(Table::Changes, b"other", b"2").unwrap();
    write.clear(Table::Changes).unwrap();
    write.put(Table::Statements, b"other", b"2").unwrap();
    drop(write);
    for store in [store, open()] {
        let read = store.read().unwrap();
        assert_eq!(records(&*read, A, Table::Changes), [(b"kept".to_vec(), b"1".to_vec())]);
        assert_eq!(records(&*read, A, Table::Statements), []);
    }
}

fn clear_takes_one_table_of_one_scope(open: Open<'_>) {
    let store = open();
    for (scope, table) in [(A, Table::Changes), (A, Table::Events), (B, Table::Changes), (Scope::Store, Table::Changes)]
    {
        put(&*store, scope, table, b"1", b"");
        put(&*store, scope, table, b"2", b"");
    }
    let mut write = store.write(A).unwrap();
    write.clear(Table::Changes).unwrap();
    write.commit().unwrap();
    let count = |scope, table| records(&*store.read().unwrap(), scope, table).len();
    assert_eq!(count(A, Table::Changes), 0);
    assert_eq!(count(A, Table::Events), 2);
    assert_eq!(count(B, Table::Changes), 2);
    assert_eq!(count(Scope::Store, Table::Changes), 2);

    let mut write = store.write(A).unwrap();
    write.clear(Table::Events).unwrap();
    assert_eq!(write.namespaces().unwrap(), [NamespaceId([0xbb; 32])]);
    write.commit().unwrap();
    assert_eq!(store.read().unwrap().namespaces().unwrap(), [NamespaceId([0xbb; 32])]);
}

fn commits_outlive_the_process(open: Open<'_>) {
    let store = open();
    put(&*store, Scope::Store, Table::Node, b"", b"");
    put(&*store, A, Table::Changes, b"1", b"one");
    let other = open();
    put(&*other, A, Table::Changes, b"2", b"two");
    let all = [(b"1".to_vec(), b"one".to_vec()), (b"2".to_vec(), b"two".to_vec())];
    assert_eq!(records(&*store.read().unwrap(), A, Table::Changes), all, "a commit of another process is not seen");
    assert!(store.scrub().unwrap());
    drop((store, other));
    let reopened = open();
    let read = reopened.read().unwrap();
    assert_eq!(records(&*read, A, Table::Changes), all);
    assert_eq!(read.get(Scope::Store, Table::Node, b"").unwrap(), Some(Vec::new()));
}

fn a_read_is_a_snapshot_that_blocks_nobody(open: Open<'_>) {
    let (store, other) = (open(), open());
    put(&*store, A, Table::Changes, b"k", b"old");
    let before = store.read().unwrap();
    put(&*other, A, Table::Changes, b"k", b"new");
    let mut open_write = other.write(A).unwrap();
    open_write.put(Table::Changes, b"k", b"newer").unwrap();
    let after = store.read().unwrap();
    assert_eq!(before.get(A, Table::Changes, b"k").unwrap().as_deref(), Some(&b"old"[..]));
    assert_eq!(after.get(A, Table::Changes, b"k").unwrap().as_deref(), Some(&b"new"[..]));
    open_write.commit().unwrap();
    assert_eq!(before.get(A, Table::Changes, b"k").unwrap().as_deref(), Some(&b"old"[..]));
    assert_eq!(after.get(A, Table::Changes, b"k").unwrap().as_deref(), Some(&b"new"[..]));
}

fn one_writer_at_a_time(open: Open<'_>) {
    const THREADS: u64 = 6;
    const ROUNDS: u64 = 20;
    let stores = [open(), open()];
    let start = Barrier::new(usize::try_from(THREADS).unwrap());
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let store = &stores[usize::try_from(thread).unwrap() % stores.len()];
            let start = &start;
            threads.spawn(move || {
                start.wait();
                for _ in 0..ROUNDS {
                    let mut write = store.write(A).unwrap();
                    let number = count(&*write) + 1;
                    std::thread::yield_now();
                    write.put(Table::Counters, b"n", &number.to_be_bytes()).unwrap();
                    write.put(Table::Changes, &number.to_be_bytes(), b"").unwrap();
                    write.commit().unwrap();
                }
            });
        }
    });
    let read = stores[0].read().unwrap();
    assert_eq!(count(&*read), THREADS * ROUNDS, "a number was allotted twice");
    let keys: Vec<_> = records(&*read, A, Table::Changes).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, (1..=THREADS * ROUNDS).map(|number| number.to_be_bytes().to_vec()).collect::<Vec<_>>());
}

fn sizes_are_limited(open: Open<'_>) {
    let store = open();
    let (key, value) = (vec![1; KEY_BYTES_MAX], vec![2; VALUE_BYTES_MAX]);
    let mut write = store.write(A).unwrap();
    write.put(Table::Changes, &key, &value).unwrap();
    let key_error = write.put(Table::Changes, &vec![1; KEY_BYTES_MAX + 1], b"").unwrap_err();
    let value_error = write.put(Table::Changes, b"", &vec![2; VALUE_BYTES_MAX + 1]).unwrap_err();
    assert!(matches!(key_error, StoreError::Limit { what: "key", bytes: 257, bytes_max: 256 }));
    assert!(matches!(value_error, StoreError::Limit { what: "value", .. }));
    write.commit().unwrap();
    assert!(records(&*store.read().unwrap(), A, Table::Changes) == [(key, value)]);
}

fn random_writes_match_a_map(open: Open<'_>) {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut store = open();
    let mut committed: BTreeMap<(Scope, Table, Vec<u8>), Vec<u8>> = BTreeMap::new();
    for _ in 0..60 {
        let scope = if random.below(2) == 0 { A } else { Scope::Store };
        let mut write = store.write(scope).unwrap();
        let mut model = committed.clone();
        for _ in 0..random.below(12) {
            let table = if random.below(2) == 0 { Table::Changes } else { Table::Events };
            let key: Vec<u8> = (0..random.below(3)).map(|_| [0, 1, 0xff][random.below(3)]).collect();
            match random.below(10) {
                0 => {
                    write.clear(table).unwrap();
                    model.retain(|place, _| (place.0, place.1) != (scope, table));
                }
                1..4 => {
                    write.delete(table, &key).unwrap();
                    model.remove(&(scope, table, key));
                }
                _ => {
                    let value = vec![random.below(256).to_be_bytes()[7]; random.below(5000)];
                    write.put(table, &key, &value).unwrap();
                    model.insert((scope, table, key), value);
                }
            }
        }
        matches_map(&*write, &model);
        if random.below(4) > 0 {
            write.commit().unwrap();
            committed = model;
        } else {
            drop(write);
        }
        if random.below(8) == 0 {
            store = open();
        }
        matches_map(&*store.read().unwrap(), &committed);
    }
}

fn matches_map(read: &dyn Read, model: &BTreeMap<(Scope, Table, Vec<u8>), Vec<u8>>) {
    for scope in [Scope::Store, A] {
        for table in [Table::Changes, Table::Events] {
            let expected: Vec<_> = model
                .iter()
                .filter(|(place, _)| (place.0, place.1) == (scope, table))
                .map(|(place, value)| (place.2.clone(), value.clone()))
                .collect();
            assert_eq!(records(read, scope, table), expected);
            assert_eq!(read.last(scope, table).unwrap(), expected.last().cloned());
        }
    }
    let in_a = model.keys().any(|place| place.0 == A);
    assert_eq!(read.namespaces().unwrap().len(), usize::from(in_a));
}

/// Writes one record in a write of its own.
fn put(store: &dyn Store, scope: Scope, table: Table, key: &[u8], value: &[u8]) {
    let mut write = store.write(scope).unwrap();
    write.put(table, key, value).unwrap();
    write.commit().unwrap();
}

/// All records of a table.
fn records(read: &(impl Read + ?Sized), scope: Scope, table: Table) -> Vec<Record> {
    let mut found = Vec::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    read.scan(scope, table, Bound::Unbounded, &mut visit).unwrap();
    found
}

/// The number at `n`, zero before the first.
fn count(read: &(impl Read + ?Sized)) -> u64 {
    let value = read.get(A, Table::Counters, b"n").unwrap();
    value.map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap()))
}

/// Xorshift: the same numbers on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }
}
