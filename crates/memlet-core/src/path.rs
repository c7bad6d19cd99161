//! Paths: arrays of segments, the unit in which memory is addressed and authority is granted.
//!
//! A path covers itself and what is below it by whole segments, so `w/mem` never covers `w/memory`. Nothing is repaired: a
//! segment that a signed grant could not name is refused.

use std::fmt;

use unicode_normalization::is_nfc;

use crate::codec::{Decode, DecodeError, Encode, Reader, Writer};
use crate::limits::{PATH_SEGMENTS_MAX, SEGMENT_BYTES_MAX};

/// A path of at most 16 valid segments. The empty path is the root of the namespace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Path(Vec<String>);

/// Why something is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// A segment is empty, longer than 128 bytes, not NFC, `.` or `..`, or has a character no grant could name safely.
    #[error(
        "a path segment must be 1 to 128 bytes of NFC text without / \\ % or invisible characters, and not . or .."
    )]
    Segment,
    /// More than 16 segments.
    #[error("a path has at most {PATH_SEGMENTS_MAX} segments")]
    TooDeep,
}

impl Path {
    /// The root of a namespace.
    pub const ROOT: Path = Path(Vec::new());

    /// Checks segments and makes a path of them.
    pub fn new<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Result<Self, PathError> {
        let segments: Vec<String> = segments.into_iter().map(Into::into).collect();
        if segments.len() > PATH_SEGMENTS_MAX {
            return Err(PathError::TooDeep);
        }
        if !segments.iter().all(|segment| is_segment(segment)) {
            return Err(PathError::Segment);
        }
        Ok(Self(segments))
    }

    /// Reads the written form: one leading and all trailing `/` are dropped, the rest is split at `/`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let text = text.strip_prefix('/').unwrap_or(text).trim_end_matches('/');
        if text.is_empty() {
            return Ok(Self::ROOT);
        }
        Self::new(text.split('/'))
    }

    /// The segments, outermost first.
    pub fn segments(&self) -> &[String] {
        &self.0
    }

    /// Whether `other` is this path or below it.
    pub fn covers(&self, other: &Path) -> bool {
        other.0.starts_with(&self.0)
    }

    /// This path with one more segment.
    pub fn child(&self, segment: &str) -> Result<Self, PathError> {
        Self::new(self.0.iter().map(String::as_str).chain([segment]))
    }

    /// The path above this one; none above the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }
}

/// Whether `segment` may stand in a path.
pub fn is_segment(segment: &str) -> bool {
    (1..=SEGMENT_BYTES_MAX).contains(&segment.len())
        && segment != "."
        && segment != ".."
        && !segment.chars().any(is_forbidden)
        && is_nfc(segment)
}

fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\' | '%') || c.is_control() || is_invisible(c)
}

/// Bidirectional controls and zero-width characters: two paths must not look the same (Unicode TR 36).
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({self})")
    }
}

impl Encode for Path {
    fn encode(&self, w: &mut Writer) {
        w.array(self.0.len());
        for segment in &self.0 {
            w.text(segment);
        }
    }
}

impl Decode for Path {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let len = r.array_up_to(PATH_SEGMENTS_MAX, "a path")?;
        let segments = (0..len).map(|_| r.text()).collect::<Result<Vec<_>, _>>()?;
        Self::new(segments).map_err(|_| DecodeError::Invalid("path segment"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_whole_segments_only() {
        let path = |text: &str| Path::parse(text).unwrap();
        assert!(path("w/memory").covers(&path("w/memory")));
        assert!(path("w").covers(&path("w/memory")));
        assert!(Path::ROOT.covers(&path("w")));
        assert!(!path("w/mem").covers(&path("w/memory")));
        assert!(!path("w/memory").covers(&path("w")));
    }

    #[test]
    fn refuses_what_could_be_read_two_ways() {
        for text in [
            "w//x",
            "w/./x",
            "w/../x",
            "w/%2F",
            "w/a\\b",
            "w/e\u{301}",
            "w/a\u{200B}",
            "w/\u{202E}a",
            "w/a\0",
            "w/\u{FEFF}",
        ] {
            assert!(Path::parse(text).is_err(), "{text:?}");
        }
        assert!(Path::parse(&format!("w/{}", "a".repeat(129))).is_err());
        assert!(Path::parse(&vec!["a"; 17].join("/")).is_err());
        assert_eq!(Path::parse("/w/memory//").unwrap(), Path::parse("w/memory").unwrap());
        assert!(Path::parse("w/full\u{FF0F}width and space").is_ok());
    }
}
