//! Text that people paste and peers send: identities, invites, addresses, names and paths have one spelling each.

use memlet_auth::did::{from_did, to_did};
use memlet_core::path::Path;
use memlet_sync::invite::Invite;
use memlet_sync::name::{Address, DeviceName};

use super::records::strict_eq;

pub(super) fn run(data: &[u8]) {
    strict_eq::<Address>(data);
    strict_eq::<DeviceName>(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(key) = from_did(text) {
        assert_eq!(to_did(&key.public()), text);
    }
    if let Ok(invite) = Invite::parse(text) {
        assert_eq!(*invite.to_uri(), text.trim_ascii());
    }
    if let Ok(address) = Address::new(text) {
        assert_eq!(address.as_str(), text);
    }
    if let Ok(name) = DeviceName::new(text) {
        assert_eq!(name.as_str(), text);
    }
    if let Ok(path) = Path::parse(text) {
        assert_eq!(Path::parse(&path.to_string()).as_ref(), Ok(&path));
        assert!(path.parent().is_none_or(|parent| parent.covers(&path) && !path.covers(&parent)));
    }
}
