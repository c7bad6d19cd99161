//! The head of a signed record: an array of fixed arity that begins with a version.

use memlet_core::codec::{DecodeError, Head, Reader};

/// Reads the head of a record of version `known`. Of another version nothing is interpreted, not even its arity.
pub(crate) fn read_head<E: From<DecodeError>>(
    r: &mut Reader<'_>,
    arity: usize,
    known: u64,
    unknown: impl FnOnce(u64) -> E,
) -> Result<(), E> {
    let Head::Array(found) = r.head()? else { return Err(DecodeError::Expected("an array").into()) };
    let version = r.uint()?;
    if version != known {
        return Err(unknown(version));
    }
    if found != arity {
        return Err(DecodeError::Expected("an array of another arity").into());
    }
    Ok(())
}
