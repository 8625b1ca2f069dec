//! What is stored beside a record so that searches find it: a pure function of its body.

use std::collections::BTreeSet;

use serde_json::value::{RawValue, to_raw_value};

use super::body::Body;
use super::instant::Instant;
use super::token::{self, Kind};
use super::{decimal, spelling, stretch};
use crate::store::collections::{Column, ColumnType};
use crate::store::words;

/// Longest value that is looked up whole; longer ones are in no list of values and no term.
const MAX_VALUE: usize = 200;

/// Stands before the mark of a column, and after its words.
const COLUMN: char = '\u{1e}';
/// Stands between the mark of a column and its words.
const OPENS: char = '\u{1f}';
/// Stands between the items of an array: no phrase runs over it.
const ITEM: char = '\u{1d}';

/// What searches read of a record.
#[derive(Debug, Default)]
pub struct Index {
    /// Folded values of the text columns that folding changes.
    pub folded: Body,
    /// The folded words of each column behind its mark.
    pub words: String,
    /// Tokens, each once.
    pub tokens: Vec<i32>,
    /// Distinct folded words that a term may be similar to.
    pub dictionary: Vec<String>,
}

/// The mark of a column in [`Index::words`]: no word holds a character of it, so that no
/// part of a word is found in a name.
#[must_use]
pub fn mark(column: &str) -> String {
    let letter = |byte: u8| match byte {
        b'a'..=b'z' => byte - b'a' + 1,
        b'0'..=b'9' => byte - b'0' + b'!',
        _ => b'-',
    };
    let name = column.bytes().map(|byte| char::from(letter(byte)));
    std::iter::once(COLUMN).chain(name).chain([OPENS]).collect()
}

/// Where the words of a column end.
#[must_use]
pub const fn end_of_column() -> char {
    COLUMN
}

/// Makes the index of a body whose values fit its columns.
#[must_use]
pub fn of(collection: i64, columns: &[Column], body: &Body) -> Index {
    let mut index = Index::default();
    let mut tokens = BTreeSet::new();
    let mut dictionary = BTreeSet::new();
    for (name, value) in body.iter() {
        let kind = columns
            .iter()
            .find(|column| column.name == name)
            .map_or(ColumnType::Text, |column| column.kind);
        let read = read(kind, value);
        index.words.push_str(&mark(name));
        for (nth, text) in read.texts.iter().enumerate() {
            if nth > 0 {
                index.words.push(ITEM);
            }
            let folded = words::fold(text);
            let split = words::split(text);
            tokens.extend(
                token::grams(&folded).map(|gram| token::of(collection, Kind::Gram, name, gram)),
            );
            for word in split.split_whitespace() {
                tokens.insert(token::of(collection, Kind::Word, "", word));
                if read.is_text {
                    tokens.insert(token::of(collection, Kind::ColumnWord, name, word));
                    dictionary.insert(word.to_owned());
                }
            }
            index.words.push_str(&split);
        }
        for value in &read.values {
            tokens.insert(token::of(collection, Kind::Value, name, value));
        }
        match &read.sorted {
            Sorted::Number(decimal) => {
                tokens.extend(stretch::number_tokens(collection, name, decimal));
            }
            Sorted::Time(instant) => {
                tokens.extend(stretch::time_tokens(collection, name, *instant));
            }
            Sorted::No => {}
        }
        if read.is_text
            && let Some(folded) = folded(kind, &read.texts)
        {
            index.folded.set(name, folded);
        }
    }
    if !index.words.is_empty() {
        index.words.push(COLUMN);
    }
    index.tokens = tokens.into_iter().collect();
    dictionary.retain(|word| !spelling::kept_under(collection, word).is_empty());
    index.dictionary = dictionary.into_iter().collect();
    index
}

/// The unique value of a record as one text for each value, the column's name in front, so
/// that values of two columns never meet while another column becomes the unique one.
#[must_use]
pub fn unique(columns: &[Column], unique: Option<&str>, body: &Body) -> Option<String> {
    let name = unique?;
    let value = body.get(name)?;
    let column = columns.iter().find(|column| column.name == name)?;
    let text = match column.kind {
        ColumnType::Text | ColumnType::Datetime => serde_json::from_str(value.get()).ok()?,
        ColumnType::Number => decimal::parse(value.get()).ok()?.canonical,
        ColumnType::Array | ColumnType::Boolean => return None,
    };
    Some(format!("{name}={text}"))
}

enum Sorted {
    No,
    Number(decimal::Decimal),
    Time(Instant),
}

struct Read {
    /// What a reader sees of the value, item by item.
    texts: Vec<String>,
    /// What is looked up whole.
    values: Vec<String>,
    sorted: Sorted,
    /// Whether a part of it or a similar spelling finds it.
    is_text: bool,
}

fn read(kind: ColumnType, value: &RawValue) -> Read {
    let text = || serde_json::from_str::<String>(value.get()).unwrap_or_default();
    let whole = |texts: &[String]| {
        let short = |text: &&String| text.chars().count() <= MAX_VALUE;
        texts.iter().filter(short).cloned().collect()
    };
    match kind {
        ColumnType::Text => {
            let texts = vec![text()];
            Read {
                values: whole(&texts),
                texts,
                sorted: Sorted::No,
                is_text: true,
            }
        }
        ColumnType::Array => {
            let texts: Vec<String> = serde_json::from_str(value.get()).unwrap_or_default();
            Read {
                values: whole(&texts),
                texts,
                sorted: Sorted::No,
                is_text: true,
            }
        }
        ColumnType::Number => {
            let decimal = decimal::parse(value.get()).ok();
            Read {
                texts: vec![value.get().to_owned()],
                values: decimal.iter().map(|d| d.canonical.clone()).collect(),
                sorted: decimal.map_or(Sorted::No, Sorted::Number),
                is_text: false,
            }
        }
        ColumnType::Datetime => {
            let text = text();
            // Both the way it is written and its parts are words.
            let parts = text.replace('T', " ").replace('Z', "");
            Read {
                texts: vec![text.clone(), parts],
                values: vec![text.clone()],
                sorted: Instant::parse(&text).map_or(Sorted::No, Sorted::Time),
                is_text: false,
            }
        }
        ColumnType::Boolean => Read {
            texts: vec![value.get().to_owned()],
            values: vec![value.get().to_owned()],
            sorted: Sorted::No,
            is_text: false,
        },
    }
}

/// The folded value, when folding changes it.
fn folded(kind: ColumnType, texts: &[String]) -> Option<Box<RawValue>> {
    let folded: Vec<String> = texts.iter().map(|text| words::fold(text)).collect();
    if folded == texts {
        return None;
    }
    match (kind, folded.as_slice()) {
        (ColumnType::Array, all) => to_raw_value(all).ok(),
        (_, [one]) => to_raw_value(one).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        [
            ("email", ColumnType::Text),
            ("amount", ColumnType::Number),
            ("met_at", ColumnType::Datetime),
            ("tags", ColumnType::Array),
            ("vip", ColumnType::Boolean),
        ]
        .map(|(name, kind)| Column {
            name: name.to_owned(),
            kind,
            required: false,
            values: None,
        })
        .to_vec()
    }

    fn index(body: &str) -> Index {
        of(5, &columns(), &serde_json::from_str(body).unwrap())
    }

    #[test]
    fn a_mark_holds_no_character_of_a_word() {
        assert_eq!(mark("az_09"), "\u{1e}\u{1}\u{1a}-!*\u{1f}");
        for byte in (b'a'..=b'z').chain(b'0'..=b'9').chain([b'_']) {
            let mark = mark(&char::from(byte).to_string());
            assert!(!mark.chars().any(words::in_word) && !mark.contains(' '));
        }
    }

    #[test]
    fn words_stand_behind_the_mark_of_their_column() {
        let index = index(r#"{"email":"Bob@Example.com","tags":["Red Car","x"],"vip":true}"#);
        let expected = format!(
            "{} bob example com {} red car \u{1d} x {} true \u{1e}",
            mark("email"),
            mark("tags"),
            mark("vip")
        );
        assert_eq!(index.words, expected);
        assert_eq!(
            serde_json::to_string(&index.folded).unwrap(),
            r#"{"email":"bob@example.com","tags":["red car","x"]}"#
        );
        assert_eq!(index.dictionary, ["bob", "car", "com", "example", "red"]);
    }

    #[test]
    fn what_folding_does_not_change_is_not_stored_twice() {
        let index = index(r#"{"email":"bob@example.com","amount":1.50}"#);
        assert_eq!(serde_json::to_string(&index.folded).unwrap(), "{}");
    }

    #[test]
    fn a_value_has_its_tokens() {
        let index = index(r#"{"email":"Ab","amount":1.50,"met_at":"2026-01-02T03:04:05Z"}"#);
        for (kind, column, text) in [
            (Kind::Word, "", "ab"),
            (Kind::ColumnWord, "email", "ab"),
            (Kind::Value, "email", "Ab"),
            (Kind::Value, "amount", "1.5"),
            (Kind::Word, "", "50"),
            (Kind::Gram, "amount", ".50"),
            (Kind::Word, "", "02"),
            (Kind::Stretch, "met_at", "t20260102"),
            (Kind::Stretch, "amount", "p501"),
        ] {
            let token = token::of(5, kind, column, text);
            assert!(index.tokens.contains(&token), "{kind:?} {column} {text}");
        }
    }

    #[test]
    fn a_unique_value_has_one_text() {
        let of = |name: &str, body: &str| {
            unique(&columns(), Some(name), &serde_json::from_str(body).unwrap())
        };
        assert_eq!(
            of("amount", r#"{"amount":1.50}"#).as_deref(),
            Some("amount=1.5")
        );
        assert_eq!(
            of("email", r#"{"email":"A\u0062"}"#).as_deref(),
            Some("email=Ab")
        );
        assert_eq!(of("email", r#"{"amount":1}"#), None);
    }
}
