//! What was promised survives: the storage contract of memlet and the stores that keep it.
//!
//! [`Store`] is an ordered key-value contract with one writer at a time, small enough that an embedded database, a server
//! and a simulated disk all keep it. [`SqliteStore`] is the store on disk, shared by any number of processes.
//! [`MemoryStore`] keeps its records on a [`MemoryDisk`] whose faults a simulation chooses. Both pass the same
//! [`conformance`] suite, and so must every store to come.
//!
//! ```
//! use memlet_store::{MemoryStore, Scope, Store, Table};
//!
//! # fn main() -> Result<(), memlet_store::StoreError> {
//! let store = MemoryStore::new();
//! let mut write = store.write(Scope::Store)?;
//! write.put(Table::Node, b"name", b"kitchen")?;
//! write.commit()?;
//!
//! assert_eq!(store.read()?.get(Scope::Store, Table::Node, b"name")?.as_deref(), Some(&b"kitchen"[..]));
//! # Ok(())
//! # }
//! ```

#[doc(hidden)]
pub mod conformance;
mod error;
mod memory;
mod record;
mod sqlite;
mod store;
mod turn;

pub use error::StoreError;
pub use memory::{Fault, MemoryDisk, MemoryStore};
pub use record::{KEY_BYTES_MAX, Scope, Table, VALUE_BYTES_MAX};
pub use sqlite::{FORMAT, SqliteStore};
pub use store::{Read, Record, Store, Visit, Write};
pub use turn::BUSY_TIMEOUT_DEFAULT;
