//! Strict deterministic CBOR (RFC 8949, section 4.2.1): one value has exactly one encoding, and only that is read.
//!
//! Records are fixed-arity arrays. The reader refuses indefinite lengths, non-minimal integers and lengths, tags, trailing
//! bytes and lengths beyond the input, and it allocates nothing before a length has been checked against what is there.

use ciborium_ll::{Decoder, Encoder, Header, simple};

/// Why bytes are not an encoding this build accepts. The sender of the bytes is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The input ends inside an item, or a length points beyond it.
    #[error("the input ends inside an item")]
    Truncated,
    /// Bytes follow the value.
    #[error("bytes follow the value")]
    Trailing,
    /// The item is CBOR, but not in its one deterministic form.
    #[error("the item is not in deterministic form")]
    NotDeterministic,
    /// Another kind of item is needed here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A limit of this build is passed.
    #[error("{0} is beyond its limit")]
    Limit(&'static str),
    /// The item is well formed but its value is not allowed here.
    #[error("invalid {0}")]
    Invalid(&'static str),
}

/// A value with one CBOR encoding.
pub trait Encode {
    /// Writes the value behind what is already there.
    fn encode(&self, w: &mut Writer);

    /// The encoding of this value alone.
    fn to_cbor(&self) -> Vec<u8> {
        let mut w = Writer::default();
        self.encode(&mut w);
        w.into_bytes()
    }
}

/// A value that can be read from its one CBOR encoding.
pub trait Decode: Sized {
    /// Reads the value and leaves the reader behind it.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// Reads a value that takes up all of `bytes`.
    ///
    /// # Errors
    /// Any deviation from the one accepted encoding, [`DecodeError::Trailing`] included.
    fn from_cbor(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let value = Self::decode(&mut r)?;
        r.finish()?;
        Ok(value)
    }
}

/// Writes deterministic CBOR into memory.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    fn push(&mut self, header: Header) {
        Encoder::from(&mut self.0).push(header).expect("writing into a Vec cannot fail");
    }

    /// An unsigned integer.
    pub fn uint(&mut self, value: u64) {
        self.push(Header::Positive(value));
    }

    /// A signed integer.
    pub fn int(&mut self, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.push(Header::Positive(value)),
            Err(_) => self.push(Header::Negative(!value.cast_unsigned())),
        }
    }

    /// A floating-point number, in the shortest of the three widths that keeps its value.
    pub fn float(&mut self, value: f64) {
        self.push(Header::Float(value));
    }

    /// A byte string.
    pub fn bytes(&mut self, value: &[u8]) {
        self.push(Header::Bytes(Some(value.len())));
        self.0.extend_from_slice(value);
    }

    /// A text string.
    pub fn text(&mut self, value: &str) {
        self.push(Header::Text(Some(value.len())));
        self.0.extend_from_slice(value.as_bytes());
    }

    /// The head of an array of `len` items, which the caller writes next.
    pub fn array(&mut self, len: usize) {
        self.push(Header::Array(Some(len)));
    }

    /// The head of a map of `len` entries, which the caller writes next, keys ascending by their encoded bytes.
    pub fn map(&mut self, len: usize) {
        self.push(Header::Map(Some(len)));
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool) {
        self.push(Header::Simple(if value { simple::TRUE } else { simple::FALSE }));
    }

    /// Null.
    pub fn null(&mut self) {
        self.push(Header::Simple(simple::NULL));
    }

    /// An optional value: null when absent.
    pub fn option<T: Encode>(&mut self, value: Option<&T>) {
        match value {
            Some(value) => value.encode(self),
            None => self.null(),
        }
    }

    /// An array of values.
    pub fn list<'a, T: Encode + 'a>(&mut self, values: impl ExactSizeIterator<Item = &'a T>) {
        self.array(values.len());
        for value in values {
            value.encode(self);
        }
    }

    /// What has been written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The longest item head: one byte and a 64-bit number.
const HEAD_BYTES_MAX: usize = 9;

/// Reads deterministic CBOR from memory.
pub struct Reader<'a> {
    input: &'a [u8],
}

/// One item head, as [`Reader::head`] gives it. The reader stands behind it, or behind the string it announces.
#[derive(Debug, PartialEq)]
pub enum Head<'a> {
    /// An integer from 0 to 2^64 - 1.
    Uint(u64),
    /// A negative integer, as `-1 - n`.
    Negative(u64),
    /// A floating-point number.
    Float(f64),
    /// A byte string.
    Bytes(&'a [u8]),
    /// A text string.
    Text(&'a str),
    /// The head of an array of that many items.
    Array(usize),
    /// The head of a map of that many entries.
    Map(usize),
    /// A boolean.
    Bool(bool),
    /// Null.
    Null,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `input`.
    pub fn new(input: &'a [u8]) -> Self {
        Self { input }
    }

    /// Reads the next item head, strings whole.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], [`DecodeError::NotDeterministic`], or a kind of item that no memlet record has.
    pub fn head(&mut self) -> Result<Head<'a>, DecodeError> {
        let before = self.input;
        let mut decoder = Decoder::from(before);
        let header = decoder.pull().map_err(|error| match error {
            ciborium_ll::Error::Io(_) => DecodeError::Truncated,
            ciborium_ll::Error::Syntax(_) => DecodeError::NotDeterministic,
        })?;
        let used = decoder.offset();
        self.input = &before[used..];
        let mut again = [0; HEAD_BYTES_MAX];
        let mut rest = &mut again[..];
        Encoder::from(&mut rest).push(header).expect("a head fits its longest form");
        let len = HEAD_BYTES_MAX - rest.len();
        if again[..len] != before[..used] {
            return Err(DecodeError::NotDeterministic);
        }
        Ok(match header {
            Header::Positive(n) => Head::Uint(n),
            Header::Negative(n) => Head::Negative(n),
            Header::Float(n) => Head::Float(n),
            Header::Bytes(Some(len)) => Head::Bytes(self.take(len)?),
            Header::Text(Some(len)) => {
                Head::Text(std::str::from_utf8(self.take(len)?).map_err(|_| DecodeError::Invalid("UTF-8"))?)
            }
            Header::Array(Some(len)) => Head::Array(self.bounded(len)?),
            Header::Map(Some(len)) => Head::Map(self.bounded(len)?),
            Header::Simple(simple::TRUE) => Head::Bool(true),
            Header::Simple(simple::FALSE) => Head::Bool(false),
            Header::Simple(simple::NULL) => Head::Null,
            _ => return Err(DecodeError::NotDeterministic),
        })
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self.input.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.input = rest;
        Ok(head)
    }

    /// Every item takes a byte at least, so a longer array or map than the rest of the input cannot be.
    fn bounded(&self, len: usize) -> Result<usize, DecodeError> {
        if len > self.input.len() {
            return Err(DecodeError::Truncated);
        }
        Ok(len)
    }

    /// An unsigned integer.
    pub fn uint(&mut self) -> Result<u64, DecodeError> {
        match self.head()? {
            Head::Uint(n) => Ok(n),
            _ => Err(DecodeError::Expected("an unsigned integer")),
        }
    }

    /// A byte string.
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        match self.head()? {
            Head::Bytes(bytes) => Ok(bytes),
            _ => Err(DecodeError::Expected("a byte string")),
        }
    }

    /// A byte string of exactly `N` bytes.
    pub fn byte_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        self.bytes()?.try_into().map_err(|_| DecodeError::Expected("a byte string of another length"))
    }

    /// A text string.
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        match self.head()? {
            Head::Text(text) => Ok(text),
            _ => Err(DecodeError::Expected("a text string")),
        }
    }

    /// A boolean.
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        match self.head()? {
            Head::Bool(value) => Ok(value),
            _ => Err(DecodeError::Expected("a boolean")),
        }
    }

    /// The head of an array of exactly `len` items.
    pub fn array(&mut self, len: usize) -> Result<(), DecodeError> {
        match self.head()? {
            Head::Array(found) if found == len => Ok(()),
            _ => Err(DecodeError::Expected("an array of another arity")),
        }
    }

    /// The head of an array of at most `max` items; `what` names it in the error.
    pub fn array_up_to(&mut self, max: usize, what: &'static str) -> Result<usize, DecodeError> {
        match self.head()? {
            Head::Array(len) if len <= max => Ok(len),
            Head::Array(_) => Err(DecodeError::Limit(what)),
            _ => Err(DecodeError::Expected("an array")),
        }
    }

    /// An array of at most `max` values.
    pub fn list<T: Decode>(&mut self, max: usize, what: &'static str) -> Result<Vec<T>, DecodeError> {
        let len = self.array_up_to(max, what)?;
        (0..len).map(|_| T::decode(self)).collect()
    }

    /// An optional value: null when absent.
    pub fn option<T: Decode>(&mut self) -> Result<Option<T>, DecodeError> {
        const NULL: u8 = 0xf6;
        if self.input.first() == Some(&NULL) {
            self.input = &self.input[1..];
            return Ok(None);
        }
        T::decode(self).map(Some)
    }

    /// Nothing may be left.
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.input.is_empty() { Ok(()) } else { Err(DecodeError::Trailing) }
    }
}

impl Encode for u64 {
    fn encode(&self, w: &mut Writer) {
        w.uint(*self);
    }
}

impl Decode for u64 {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.uint()
    }
}
