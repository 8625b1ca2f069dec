//! Lists as JSON that stays whole below the cap of a result: texts give room before an entry is left out.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

/// Room that is more than the texts of an entry ever need.
const MOST_ROOM: usize = 1 << 20;

/// Entries under their plural, and how many more there are.
struct Listing<'a, T> {
    plural: &'static str,
    entries: &'a [T],
    left_out: usize,
}

impl<T: Serialize> Serialize for Listing<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.plural, self.entries)?;
        if self.left_out > 0 {
            map.serialize_entry("left_out", &self.left_out)?;
        }
        map.end()
    }
}

/// The JSON text of a list in at most so many bytes. If it needs more, `shorter` makes each
/// entry again with as much room for its texts as all of them can have; if that is still
/// too much, the last entries are left out and counted.
///
/// Texts are redacted before: a part of a secret would be known no more.
///
/// # Errors
/// When an entry can't be JSON.
pub(super) fn whole<T: Serialize>(
    plural: &'static str,
    entries: &[T],
    most_bytes: usize,
    shorter: impl Fn(&T, usize) -> T,
) -> serde_json::Result<String> {
    let text = |entries: &[T], left_out: usize| -> serde_json::Result<Option<String>> {
        let text = serde_json::to_string(&Listing {
            plural,
            entries,
            left_out,
        })?;
        Ok((text.len() <= most_bytes || entries.is_empty()).then_some(text))
    };
    if let Some(all) = text(entries, 0)? {
        return Ok(all);
    }
    let with = |room| -> Vec<T> { entries.iter().map(|entry| shorter(entry, room)).collect() };
    let shortest = with(0);
    if let Some(mut best) = text(&shortest, 0)? {
        let (mut fits, mut over) = (0, MOST_ROOM);
        while over - fits > 1 {
            let room = fits.midpoint(over);
            match text(&with(room), 0)? {
                Some(text) => (best, fits) = (text, room),
                None => over = room,
            }
        }
        return Ok(best);
    }
    let (mut fits, mut over) = (0, shortest.len());
    while over - fits > 1 {
        let count = fits.midpoint(over);
        match text(&shortest[..count], shortest.len() - count)? {
            Some(_) => fits = count,
            None => over = count,
        }
    }
    Ok(text(&shortest[..fits], shortest.len() - fits)?.unwrap_or_default())
}

/// A text of at most so many characters, with `…` after it where it was cut.
pub(super) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], most_bytes: usize, expected: &str) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let found = whole("words", &texts, most_bytes, |text, room| cut(text, room)).unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_fits_is_whole() {
        check(&[], 3, r#"{"words":[]}"#);
        check(&["one", "twenty"], 26, r#"{"words":["one","twenty"]}"#);
    }

    #[test]
    fn long_texts_give_room_evenly() {
        // `…` has three bytes, so that a letter and `…` are four.
        check(&["one", "twenty"], 25, r#"{"words":["o…","t…"]}"#);
        check(
            &["é", "ééééééééé", "e"],
            32,
            r#"{"words":["é","ééé…","e"]}"#,
        );
    }

    #[test]
    fn what_does_not_fit_at_all_is_counted() {
        check(
            &["one", "two", "three", "four", "five"],
            40,
            r#"{"words":["…","…"],"left_out":3}"#,
        );
        check(&["one", "two"], 1, r#"{"words":[],"left_out":2}"#);
    }

    #[test]
    fn a_cut_is_at_a_character_and_says_so() {
        assert_eq!(cut("Büro heute", 10), "Büro heute");
        assert_eq!(cut("Büro heute", 9), "Büro heut…");
        assert_eq!(cut("Büro heute", 5), "Büro…");
        assert_eq!(cut("Büro", 0), "…");
    }
}
