//! A field of an entry, against what is stored.

use super::reader::{Place, Problems, Table};

/// A field of the document. Absent and refused are told apart, so that one fault is told once.
#[derive(Debug, Clone)]
pub(super) enum Field<T> {
    /// It is left out.
    Absent,
    /// It was refused already.
    Refused,
    /// It reads so.
    Given(Place, T),
}

/// What an object was before the document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Before<T> {
    /// There is none.
    New,
    /// This.
    Stored(T),
    /// The entry does not say which object it is.
    Unknown,
}

impl<T> Before<T> {
    /// Something of it.
    pub(super) fn map<U>(self, part: impl FnOnce(T) -> U) -> Before<U> {
        match self {
            Self::New => Before::New,
            Self::Stored(object) => Before::Stored(part(object)),
            Self::Unknown => Before::Unknown,
        }
    }

    /// It, when there is one.
    pub(super) fn stored(self) -> Option<T> {
        match self {
            Self::Stored(object) => Some(object),
            Self::New | Self::Unknown => None,
        }
    }
}

impl<T> Field<T> {
    /// A field that was read from a key of a table.
    pub(super) fn of(table: &Table<'_>, key: &str, value: Option<T>) -> Self {
        match (table.get(key), value) {
            (None, _) => Self::Absent,
            (Some(_), None) => Self::Refused,
            (Some((at, _)), Some(value)) => Self::Given(at, value),
        }
    }

    /// The value, when there is one.
    pub(super) const fn given(&self) -> Option<&T> {
        match self {
            Self::Given(_, value) => Some(value),
            Self::Absent | Self::Refused => None,
        }
    }

    /// The value, else what is stored; a new object without either is told to need it.
    pub(super) fn or_stored(
        self,
        before: Before<T>,
        at: &Place,
        key: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        match (self, before) {
            (Self::Given(_, value), _) | (Self::Absent, Before::Stored(value)) => Some(value),
            (Self::Absent, Before::New) => {
                problems.add(&at.key(key), "is missing (required for a new object)");
                None
            }
            (Self::Refused, _) | (Self::Absent, Before::Unknown) => None,
        }
    }

    /// The value, else what is stored, else the kind's default.
    pub(super) fn or_default(self, before: Before<T>) -> T
    where
        T: Default,
    {
        match (self, before) {
            (Self::Given(_, value), _) | (_, Before::Stored(value)) => value,
            _ => T::default(),
        }
    }
}
