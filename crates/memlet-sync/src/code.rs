//! Codes with which a stream or connection ends and an enrolment is refused: one table for messages and for QUIC.
//!
//! A code tells the peer what to do next, and nothing about what it may not see: an unknown namespace and a missing grant
//! read the same.

use std::fmt;

use memlet_core::codec::{Decode, DecodeError, Encode, Reader, Writer};

/// Defines an enum of numbered codes with stable names.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $number:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// A number this build does not know: a newer peer's.
            Other(u16),
        }

        impl $name {
            /// Every code this build knows, by rising number.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The number, as it stands in messages and in QUIC application errors.
            pub fn number(self) -> u16 {
                match self {
                    $(Self::$variant => $number,)*
                    Self::Other(number) => number,
                }
            }

            /// The code of that number.
            pub fn from_number(number: u16) -> Self {
                match number {
                    $($number => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            /// The stable name: what programs match on and counters are labelled with.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(_) => "UNKNOWN_CODE",
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::Other(number) => write!(f, "UNKNOWN_CODE {number}"),
                    known => f.write_str(known.code()),
                }
            }
        }

        impl Encode for $name {
            fn encode(&self, w: &mut Writer) {
                w.uint(self.number().into());
            }
        }

        impl Decode for $name {
            fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let number = u16::try_from(r.uint()?).map_err(|_| DecodeError::Limit("the number of a code"))?;
                Ok(Self::from_number(number))
            }
        }
    };
}

codes! {
    /// Why a stream or a connection ends. The number is also the QUIC application error code.
    CloseCode {
        /// All that was to be said has been said.
        Done = 0, "DONE";
        /// A message came out of order, twice, or from the wrong side. The sender has a fault.
        Protocol = 1, "PROTOCOL";
        /// Bytes are no encoded message. The sender has a fault.
        Malformed = 2, "MALFORMED";
        /// A limit of the protocol was passed. The sender has a fault.
        TooLarge = 3, "TOO_LARGE";
        /// The sides share no protocol version: upgrade the older one.
        Version = 4, "VERSION";
        /// The namespace is not here, or the peer holds no grant to sync it: ask its owner for an invite.
        Denied = 5, "DENIED";
        /// The sides stand in different epochs and this version cannot bring them together.
        Epoch = 6, "EPOCH";
        /// No room for another connection or stream: try again later.
        Busy = 7, "BUSY";
        /// This side is going away: connect again later.
        Shutdown = 8, "SHUTDOWN";
        /// The peer was silent for too long.
        Timeout = 9, "TIMEOUT";
        /// This side failed, for instance its disk: try again later.
        Internal = 10, "INTERNAL";
    }
}

codes! {
    /// Why an invite does not let a device in.
    RejectCode {
        /// The invite's time is over: ask for a new one.
        Expired = 1, "INVITE_EXPIRED";
        /// Another device has used the invite: ask for a new one.
        Used = 2, "INVITE_USED";
        /// The secret does not fit an invite that is open here: copy the whole URI again.
        WrongSecret = 3, "INVITE_WRONG_SECRET";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_written_and_an_unknown_one_is_kept() {
        for code in CloseCode::ALL.iter().copied().chain([CloseCode::Other(999)]) {
            assert_eq!(CloseCode::from_cbor(&code.to_cbor()), Ok(code));
        }
        for code in RejectCode::ALL.iter().copied().chain([RejectCode::Other(0)]) {
            assert_eq!(RejectCode::from_cbor(&code.to_cbor()), Ok(code));
        }
        assert_eq!(CloseCode::from_cbor(&[0x1a, 0, 1, 0, 0]), Err(DecodeError::Limit("the number of a code")));
        assert_eq!(CloseCode::Other(999).to_string(), "UNKNOWN_CODE 999");
    }
}
