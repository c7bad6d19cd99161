//! One replica of memlet: the embedding API.
//!
//! A [`Node`] opens a store and the [`Namespace`]s in it, runs the operations of the surfaces, takes in the changes of other
//! replicas, and tells subscribers what has changed. It has no sockets and no tasks: calls block until they are durable, and
//! any number of threads and processes may use one store at once.

mod caller;
mod environment;
mod error;
mod namespace;
mod node;
pub mod ops;
mod peers;
mod replica;

pub use caller::{Agent, Caller};
pub use environment::Environment;
pub use error::{InvokeError, NodeError};
pub use namespace::{
    Cut, DeviceInfo, Keep, ListEntry, Namespace, NamespaceReplica, Role, Status, WAITING_BYTES_MAX, WAITING_CHANGES_MAX,
};
pub use node::Node;
pub use peers::Peer;
