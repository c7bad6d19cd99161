//! Abilities, and capabilities: sets of them at a path.

use std::fmt;

use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};
use memlet_core::path::Path;

/// One thing that a grant can allow. The number is its bit in [`Abilities`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Ability {
    /// Read through a surface.
    Read = 1,
    /// Hold and relay the whole document.
    Sync = 2,
    /// Add and edit.
    Write = 4,
    /// Remove.
    Forget = 8,
    /// Pass on what the grant allows here.
    Grant = 16,
    /// Revoke grants here.
    Revoke = 32,
    /// Open an epoch.
    Compact = 64,
}

impl Ability {
    /// Every ability, by rising bit.
    pub const ALL: [Self; 7] =
        [Self::Read, Self::Sync, Self::Write, Self::Forget, Self::Grant, Self::Revoke, Self::Compact];

    /// The name by which people ask for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Sync => "sync",
            Self::Write => "write",
            Self::Forget => "forget",
            Self::Grant => "grant",
            Self::Revoke => "revoke",
            Self::Compact => "compact",
        }
    }

    /// The ability of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ability| ability.name() == name)
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of abilities, encoded as one unsigned integer. Unknown bits are refused, so a set always means the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Abilities(u8);

impl Abilities {
    /// No ability.
    pub const NONE: Self = Self(0);
    /// Every ability.
    pub const ALL: Self = Self(0x7f);

    /// The set of some abilities.
    pub fn of(abilities: &[Ability]) -> Self {
        abilities.iter().fold(Self::NONE, |set, ability| Self(set.0 | *ability as u8))
    }

    /// Whether `ability` is in the set.
    pub fn contains(self, ability: Ability) -> bool {
        self.0 & ability as u8 != 0
    }

    /// What is in either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The abilities of the set, by rising bit.
    pub fn iter(self) -> impl Iterator<Item = Ability> {
        Ability::ALL.into_iter().filter(move |ability| self.contains(*ability))
    }
}

impl fmt::Display for Abilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Ability::name).collect();
        f.write_str(&names.join(","))
    }
}

impl fmt::Debug for Abilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Abilities({self})")
    }
}

impl Encode for Abilities {
    fn encode(&self, w: &mut Writer) {
        w.uint(self.0.into());
    }
}

impl Decode for Abilities {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match u8::try_from(r.uint()?) {
            Ok(bits) if bits & !Self::ALL.0 == 0 => Ok(Self(bits)),
            _ => Err(DecodeError::Invalid("ability")),
        }
    }
}

/// Abilities at a path and everywhere below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cap {
    /// What is allowed.
    pub abilities: Abilities,
    /// Where it is allowed.
    pub path: Path,
}

impl Cap {
    /// What this capability allows at `path`.
    pub fn at(&self, path: &Path) -> Abilities {
        if self.path.covers(path) { self.abilities } else { Abilities::NONE }
    }
}

impl Encode for Cap {
    fn encode(&self, w: &mut Writer) {
        w.array(2);
        self.abilities.encode(w);
        self.path.encode(w);
    }
}

impl Decode for Cap {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.array(2)?;
        Ok(Self { abilities: Abilities::decode(r)?, path: Path::decode(r)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ability_has_its_bit_and_its_name() {
        for (index, ability) in Ability::ALL.into_iter().enumerate() {
            assert_eq!(ability as u8, 1 << index);
            assert_eq!(Ability::from_name(ability.name()), Some(ability));
        }
        assert_eq!(Ability::from_name("Read"), None);
        assert_eq!(Abilities::of(&Ability::ALL), Abilities::ALL);
        assert_eq!(Abilities::of(&[Ability::Forget, Ability::Read]).to_string(), "read,forget");
    }

    #[test]
    fn a_set_is_one_integer() {
        assert_eq!(Abilities::ALL.to_cbor(), [0x18, 0x7f]);
        assert_eq!(Abilities::from_cbor(&[0x05]), Ok(Abilities::of(&[Ability::Read, Ability::Write])));
        for unknown in [[0x18, 0x80].as_slice(), &[0x18, 0xff], &[0x19, 0x01, 0x00]] {
            assert_eq!(Abilities::from_cbor(unknown), Err(DecodeError::Invalid("ability")));
        }
    }
}
