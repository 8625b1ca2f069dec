//! A page of a list that an operator reads.

/// Which rows of a list are wanted; they come by id.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Those after this id.
    pub after: Option<&'a str>,
    /// The one of this id, with all that is known of it.
    pub only: Option<&'a str>,
    /// At most so many.
    pub limit: i64,
}
