//! Names of things: namespaces, devices, replicas, actors, dots, grants and changes.
//!
//! All of them are plain bytes here; whether a key is a good key, or a grant a valid one, is `memlet-auth`'s business.

use std::fmt;

use crate::codec::{Decode, DecodeError, Encode, Reader, Writer};

/// Defines a fixed-size byte name that is shown as lower-case hex and encoded as a CBOR byte string.
macro_rules! byte_name {
    ($(#[$doc:meta])* $name:ident, $len:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $len]);

        impl $name {
            /// The bytes of this name.
            pub fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }

            /// Reads a name from exactly the right number of bytes.
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl Encode for $name {
            fn encode(&self, w: &mut Writer) {
                w.bytes(&self.0);
            }
        }

        impl Decode for $name {
            fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self(r.byte_array()?))
            }
        }
    };
}

byte_name! {
    /// An ed25519 public key: 32 bytes as they stand in grants, stamps and actor ids.
    PublicKey, 32
}
byte_name! {
    /// A namespace: the public half of its root key.
    NamespaceId, 32
}
byte_name! {
    /// The 8 random bytes minted with a store. With the device key they name the replica; values carry only these.
    ReplicaId, 8
}
byte_name! {
    /// A grant: blake3 of its signed body.
    GrantId, 32
}
byte_name! {
    /// The first 8 bytes of a grant id, as values and peers carry it; bound to the whole id in the statement set.
    GrantRef, 8
}
byte_name! {
    /// An Automerge change: SHA-256 of its contents, which include its dependencies.
    ChangeHash, 32
}
byte_name! {
    /// An epoch: blake3 of its last root change.
    EpochId, 32
}

impl GrantId {
    /// The short form of this id.
    pub fn short(&self) -> GrantRef {
        let mut short = [0; 8];
        short.copy_from_slice(&self.0[..8]);
        GrantRef(short)
    }
}

/// Names one written thing. Counters start at 1, never repeat, and have no gaps; a removal takes none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dot {
    /// The replica that wrote it.
    pub replica: ReplicaId,
    /// Its place in that replica's writing, from 1.
    pub counter: u64,
}

/// The author of an Automerge change: device key ‖ replica id, 40 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor {
    /// The device that vouches for the change.
    pub device: PublicKey,
    /// The store on that device that wrote it.
    pub replica: ReplicaId,
}

impl Actor {
    /// Bytes of an actor id.
    pub const LEN: usize = 40;

    /// The Automerge actor id of this actor.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..32].copy_from_slice(&self.device.0);
        bytes[32..].copy_from_slice(&self.replica.0);
        bytes
    }

    /// Reads an actor from an Automerge actor id.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        let (device, replica) = bytes.split_at_checked(32)?;
        Some(Self { device: PublicKey::from_slice(device)?, replica: ReplicaId::from_slice(replica)? })
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Actor({}/{})", self.device, self.replica)
    }
}

impl Encode for Actor {
    fn encode(&self, w: &mut Writer) {
        w.bytes(&self.to_bytes());
    }
}

impl Decode for Actor {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes: [u8; Self::LEN] = r.byte_array()?;
        Ok(Self::from_slice(&bytes).expect("40 bytes split into 32 and 8"))
    }
}
