//! The body of a restore: which revision, or none.

use crate::http::error::ApiError;
use crate::http::fields::Fields;

/// `{"revision":n}`, `{}` or nothing.
pub(super) fn wanted(bytes: &[u8]) -> Result<Option<i64>, ApiError> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let mut fields = Fields::body(bytes)?;
    let revision = fields.optional("revision", "the id of a revision");
    fields.finish()?;
    Ok(revision)
}

/// 404: the object has no such revision.
pub(super) fn absent(of: &str, revision: i64) -> ApiError {
    ApiError::not_found(format!("{of} has no revision {revision}"))
}

/// 409: it lives, and nothing came before what it is.
pub(super) fn nothing_before(of: &str) -> ApiError {
    ApiError::conflict(format!(
        "{of} lives and has no earlier revision, so there is nothing to restore"
    ))
}
