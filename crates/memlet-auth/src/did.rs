//! The written form of a key, `did:key:z6Mk…` (W3C CCG did:key method): multibase base58btc of 0xed01 ‖ key.
//!
//! One key has one text: whatever would not be written again the same way is refused.

use memlet_core::id::PublicKey;

use crate::error::KeyError;
use crate::keys::VerifyingKey;

/// Scheme, method, and the multibase letter of base58btc.
const PREFIX: &str = "did:key:z";
/// The multicodec number of an ed25519 public key as a varint.
const CODEC: [u8; 2] = [0xed, 0x01];
/// Bytes of codec and key.
const LEN: usize = 34;

/// Why a text is not the `did:key` of an ed25519 key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DidError {
    /// The text does not have the form of an ed25519 `did:key`.
    #[error("an identity has the form did:key:z6Mk…, an ed25519 key in base58")]
    Form,
    /// The form is right, the key in it is not.
    #[error("the identity names no usable key: {0}")]
    Key(#[from] KeyError),
}

impl DidError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Form => "DID_FORM",
            Self::Key(error) => error.code(),
        }
    }
}

/// The `did:key` of a key.
pub fn to_did(key: &PublicKey) -> String {
    let mut bytes = [0; LEN];
    bytes[..2].copy_from_slice(&CODEC);
    bytes[2..].copy_from_slice(key.as_bytes());
    format!("{PREFIX}{}", bs58::encode(bytes).into_string())
}

/// Reads the `did:key` of a usable ed25519 key.
///
/// # Errors
/// [`DidError::Form`] for any other text, [`DidError::Key`] when the key may not be used.
pub fn from_did(text: &str) -> Result<VerifyingKey, DidError> {
    let digits = text.strip_prefix(PREFIX).ok_or(DidError::Form)?;
    let mut bytes = [0; LEN];
    // a longer text ends at the full buffer, so its length costs nothing
    let len = bs58::decode(digits).onto(&mut bytes).map_err(|_| DidError::Form)?;
    let key = bytes[..len].strip_prefix(&CODEC).and_then(PublicKey::from_slice).ok_or(DidError::Form)?;
    Ok(VerifyingKey::new(&key)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first key of the did:key method's published ed25519 examples.
    const TEXT: &str = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp";
    const KEY: &str = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29";

    #[test]
    fn one_key_has_one_text() {
        let key = from_did(TEXT).unwrap().public();
        assert_eq!(key.to_string(), KEY);
        assert_eq!(to_did(&key), TEXT);
    }

    #[test]
    fn refuses_any_other_text() {
        let x25519 = bs58::encode([[0xec, 0x01].as_slice(), &[7; 32]].concat()).into_string();
        for text in [
            String::new(),
            TEXT.replace("did:", "DID:"),
            TEXT.replace("key:z", "key:m"),
            TEXT.replace("6Mk", "6M0"),
            format!("{TEXT}1"),
            format!("{TEXT}#{TEXT}"),
            format!(" {TEXT}"),
            TEXT[..TEXT.len() - 1].to_owned(),
            TEXT.replace("key:z", "key:z1"),
            TEXT.replace("6Mk", &"z".repeat(1 << 20)),
            PREFIX.to_owned(),
            format!("{PREFIX}{x25519}"),
        ] {
            assert_eq!(from_did(&text), Err(DidError::Form), "{text:?}");
        }
    }

    #[test]
    fn refuses_a_key_that_may_not_be_used() {
        let identity = {
            let mut bytes = [0; 32];
            bytes[0] = 1;
            PublicKey(bytes)
        };
        assert_eq!(from_did(&to_did(&identity)), Err(DidError::Key(KeyError::SmallOrder)));
    }
}
