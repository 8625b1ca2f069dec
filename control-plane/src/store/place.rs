//! A place in a list that is ordered by time and then by id, newest first: the cursor of such a list.

use std::fmt;

/// After whom a page goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Microseconds since 1970, as exact as the database keeps a time.
    pub at_us: i64,
    /// The id, as the list orders it.
    pub id: String,
}

impl Place {
    /// Reads what [`Place`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (at, id) = text.split_once('.')?;
        Some(Self {
            at_us: at.parse().ok()?,
            id: id.to_owned(),
        })
    }
}

/// Most bytes of a page; one entry always fits.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A page out of what was found for `limit + 1` entries, and the place of its last entry
/// when more follow.
#[must_use]
pub fn cut<T>(
    mut found: Vec<T>,
    limit: usize,
    weight: impl Fn(&T) -> usize,
    place: impl Fn(&T) -> Place,
) -> (Vec<T>, Option<String>) {
    let mut bytes = 0;
    let fits = found.iter().take(limit).take_while(|entry| {
        let first = bytes == 0;
        bytes += weight(entry).max(1);
        first || bytes <= PAGE_BYTES
    });
    let kept = fits.count();
    let more = found.len() > kept;
    found.truncate(kept);
    let last = found.last().filter(|_| more);
    let next = last.map(|entry| place(entry).to_string());
    (found, next)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at_us, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let place = Place {
            at_us: 1_700_000_000_000_001,
            id: "issue.7".to_owned(),
        };
        assert_eq!(place.to_string(), "1700000000000001.issue.7");
        assert_eq!(Place::parse("1700000000000001.issue.7"), Some(place));
        assert_eq!(Place::parse("issue"), None);
        assert_eq!(Place::parse("x.7"), None);
    }

    #[track_caller]
    fn check_cut(weights: &[usize], limit: usize, kept: usize, next: Option<&str>) {
        let place = |weight: &usize| Place {
            at_us: 0,
            id: weight.to_string(),
        };
        let (page, told) = cut(weights.to_vec(), limit, |weight| *weight, place);
        assert_eq!((page.len(), told.as_deref()), (kept, next));
    }

    #[test]
    fn a_page_ends_at_its_limit_or_at_4_mib_and_is_never_empty() {
        check_cut(&[1, 2, 3], 2, 2, Some("0.2"));
        check_cut(&[1, 2], 2, 2, None);
        check_cut(&[], 2, 0, None);
        check_cut(&[4_194_303, 1, 2], 9, 2, Some("0.1"));
        check_cut(&[5_000_000, 1], 9, 1, Some("0.5000000"));
    }
}
