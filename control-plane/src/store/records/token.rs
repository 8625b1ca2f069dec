//! Tokens: numbers that stand for pieces of records in an index.

/// What a token is a piece of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A word of any column.
    Word,
    /// A word of one column.
    ColumnWord,
    /// Three characters in a row of one column.
    Gram,
    /// A value of one column.
    Value,
    /// The beginning of a value's sortable form, of one column.
    Stretch,
    /// What one deletion leaves of a word.
    OneDeletion,
    /// What two deletions leave of a word.
    TwoDeletions,
}

/// The token of a text in a collection. They are stored: this function never changes.
///
/// FNV-1a of 64 bits over the parts, folded to 32.
#[must_use]
pub fn of(collection: i64, kind: Kind, column: &str, text: &str) -> i32 {
    let kind: u8 = match kind {
        Kind::Word => 1,
        Kind::ColumnWord => 2,
        Kind::Gram => 3,
        Kind::Value => 4,
        Kind::Stretch => 5,
        Kind::OneDeletion => 6,
        Kind::TwoDeletions => 7,
    };
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let head = collection.to_le_bytes();
    let parts = [&head[..], &[kind], column.as_bytes(), &[0], text.as_bytes()];
    for byte in parts.into_iter().flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    // The low bits of this hash know little of the last bytes.
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    let [a, b, c, d, ..] = hash.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Every three characters in a row of a text, white space between them apart.
pub fn grams(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().flat_map(|run| {
        let starts: Vec<usize> = run
            .char_indices()
            .map(|(at, _)| at)
            .chain([run.len()])
            .collect();
        (3..starts.len()).map(move |end| &run[starts[end - 3]..starts[end]])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_of_its_collection_kind_column_and_text() {
        let one = of(1, Kind::Gram, "name", "abc");
        for other in [
            of(2, Kind::Gram, "name", "abc"),
            of(1, Kind::Value, "name", "abc"),
            of(1, Kind::Gram, "nam", "abc"),
            of(1, Kind::Gram, "name", "abd"),
            of(1, Kind::Gram, "namea", "bc"),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn stored_tokens_keep_their_numbers() {
        assert_eq!(of(1, Kind::Gram, "name", "abc"), 737_873_572);
        assert_eq!(of(7, Kind::Word, "", "größe"), -1_358_941_435);
    }

    #[test]
    fn grams_are_three_characters_in_a_row() {
        let all = |text| grams(text).collect::<Vec<_>>();
        assert_eq!(all("größe a@b ab"), ["grö", "röß", "öße", "a@b"]);
        assert_eq!(all("ab"), [""; 0]);
        assert_eq!(all(""), [""; 0]);
    }
}
