//! Both stores keep the contract.

use memlet_store::{MemoryDisk, conformance};

use crate::support::open_patient;

#[test]
fn memory_keeps_the_contract() {
    conformance::run(|| {
        let disk = MemoryDisk::new();
        move || disk.open()
    });
}

#[test]
fn sqlite_keeps_the_contract() {
    conformance::run(|| {
        let dir = tempfile::tempdir().unwrap();
        move || open_patient(&dir.path().join("store.db"))
    });
}
