//! Pages of lists: `{"<plural>":[…],"next":…}`.

use axum::http::StatusCode;
use axum::response::Response;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::http::error::body;

/// Rows to ask for, so that the page is known not to be the last.
pub(super) fn one_more(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)
}

/// A page of [`one_more`] rows, and its cursor when there are more.
pub(super) fn page<T, C>(
    mut rows: Vec<T>,
    limit: usize,
    cursor: impl Fn(&T) -> C,
) -> (Vec<T>, Option<C>) {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(cursor);
    (rows, next)
}

/// The answer that is a page. It is written as it stands: a number in raw JSON
/// keeps its digits.
pub(super) fn answer<T: Serialize, C: Serialize>(
    plural: &'static str,
    rows: &[T],
    next: Option<C>,
) -> Response {
    body(StatusCode::OK, &Listed { plural, rows, next })
}

struct Listed<'a, T, C> {
    plural: &'static str,
    rows: &'a [T],
    next: Option<C>,
}

impl<T: Serialize, C: Serialize> Serialize for Listed<'_, T, C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(self.plural, self.rows)?;
        map.serialize_entry("next", &self.next)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_cursor_while_there_are_more() {
        assert_eq!(page(vec![1, 2, 3], 2, |n| *n), (vec![1, 2], Some(2)));
        assert_eq!(page(vec![1, 2], 2, |n| *n), (vec![1, 2], None));
        assert_eq!(page(Vec::<i32>::new(), 2, |n| *n), (vec![], None));
    }

    #[test]
    fn raw_numbers_keep_their_digits() {
        let raw = serde_json::value::RawValue::from_string("1.50e999".to_owned()).unwrap();
        let listed = Listed {
            plural: "rows",
            rows: &[raw],
            next: Some(7),
        };
        assert_eq!(
            serde_json::to_string(&listed).unwrap(),
            r#"{"rows":[1.50e999],"next":7}"#
        );
    }
}
