//! Similar spelling: which words are an edit or two apart, and how they are found among many.

use std::collections::BTreeSet;

use super::token::{self, Kind};

/// Longest word that anything is similar to: a term has at most 200 characters.
const MAX_WORD: usize = 202;
/// Leading characters whose deletions are looked up, for one edit and for two.
const PREFIX: [usize; 2] = [7, 8];

/// How many edits a folded term may be away from a word: one with 4 to 7 letters, two from
/// 8; none with a digit or fewer letters.
#[must_use]
pub fn edits(term: &str) -> Option<usize> {
    if term.chars().any(char::is_numeric) {
        return None;
    }
    match term.chars().filter(|c| c.is_alphabetic()).count() {
        0..=3 => None,
        4..=7 => Some(1),
        _ => Some(2),
    }
}

/// Whether two texts are at most `most` edits apart: insert, delete, replace, and swap of
/// neighbours, no place edited twice.
#[must_use]
pub fn within(a: &str, b: &str, most: usize) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return false;
    }
    let far = most + 1;
    let mut before: Vec<usize> = vec![far; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).map(|edits| edits.min(far)).collect();
    for i in 1..=a.len() {
        let mut row = vec![far; b.len() + 1];
        row[0] = i.min(far);
        // Only near the diagonal can a number be small enough.
        for j in i.saturating_sub(most).max(1)..=(i + most).min(b.len()) {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row[j] = best.min(far);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()] <= most
}

/// Tokens under which a folded word is kept; none for one that no term is similar to.
#[must_use]
pub fn kept_under(collection: i64, word: &str) -> Vec<i32> {
    let letters: Vec<char> = word.chars().collect();
    let digits = letters.iter().filter(|c| c.is_numeric()).count();
    let mut tokens = BTreeSet::new();
    // A term has no digit, so each costs an edit; 4 letters less one, and 8 less two, are
    // the shortest words; a term for one edit has at most 8 characters.
    if (3..=9).contains(&letters.len()) && digits <= 1 {
        tokens.extend(deletions(collection, &letters, 1));
    }
    if (6..=MAX_WORD).contains(&letters.len()) && digits <= 2 {
        tokens.extend(deletions(collection, &letters, 2));
    }
    tokens.into_iter().collect()
}

/// Tokens of which a word within `edits` of a folded term has at least one.
#[must_use]
pub fn looked_up(collection: i64, term: &str, edits: usize) -> Vec<i32> {
    let letters: Vec<char> = term.chars().collect();
    deletions(collection, &letters, edits).into_iter().collect()
}

/// What is left of a word's first characters without up to `edits` of them.
///
/// Two words within that many edits keep, each without as many characters, one text in
/// common, and so its first characters, which stand among the first of both.
fn deletions(collection: i64, letters: &[char], edits: usize) -> BTreeSet<i32> {
    let prefix = &letters[..letters.len().min(PREFIX[edits - 1])];
    let mut left: BTreeSet<Vec<char>> = BTreeSet::from([prefix.to_vec()]);
    let mut newest = left.clone();
    for _ in 0..edits {
        let mut shorter = BTreeSet::new();
        for text in &newest {
            for at in 0..text.len() {
                let mut text = text.clone();
                text.remove(at);
                shorter.insert(text);
            }
        }
        left.extend(shorter.iter().cloned());
        newest = shorter;
    }
    let kind = if edits == 1 {
        Kind::OneDeletion
    } else {
        Kind::TwoDeletions
    };
    left.iter()
        .map(|text| token::of(collection, kind, "", &text.iter().collect::<String>()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_may_be_an_edit_or_two_away() {
        for (term, expected) in [
            ("jon", None),
            ("jonh", Some(1)),
            ("recieve", Some(1)),
            ("recieved", Some(2)),
            ("abc1d", None),
            ("a-b-c-d", Some(1)),
            ("жизнь", Some(1)),
        ] {
            assert_eq!(edits(term), expected, "{term}");
        }
    }

    #[track_caller]
    fn check(a: &str, b: &str, distance: usize) {
        for (a, b) in [(a, b), (b, a)] {
            assert!(within(a, b, distance), "{a} {b}");
            assert!(distance == 0 || !within(a, b, distance - 1), "{a} {b}");
        }
    }

    #[test]
    fn an_edit_inserts_deletes_replaces_or_swaps_neighbours() {
        check("john", "john", 0);
        check("jonh", "john", 1);
        check("recieve", "receive", 1);
        check("jon", "john", 1);
        check("joan", "john", 1);
        check("paid", "unpaid", 2);
        check("ca", "abc", 3);
        check("", "ab", 2);
        check("größe", "grösse", 2);
    }

    /// The whole table, without any bound or shortcut.
    fn plain(a: &str, b: &str) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut d = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                d[i][j] = match (i, j) {
                    (0, n) | (n, 0) => n,
                    _ => {
                        let mut ways = vec![
                            d[i - 1][j] + 1,
                            d[i][j - 1] + 1,
                            d[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]),
                        ];
                        if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                            ways.push(d[i - 2][j - 2] + 1);
                        }
                        ways.into_iter().min().unwrap()
                    }
                };
            }
        }
        d[a.len()][b.len()]
    }

    /// Numbers that are the same in each run.
    struct Numbers(u64);
    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(self.0 >> 33).unwrap() % end
        }
        fn word(&mut self, length: usize) -> Vec<char> {
            // Few letters, so that edits meet each other.
            let letters = ['a', 'b', 'c', 'd', 'é', 'ж'];
            (0..length).map(|_| letters[self.below(6)]).collect()
        }
    }

    #[test]
    fn ten_thousand_pairs_agree_with_the_plain_table() {
        let mut numbers = Numbers(7);
        let (mut near, mut far) = (0, 0);
        for _ in 0..10_000 {
            let length = 4 + numbers.below(12);
            let a = numbers.word(length);
            let mut b = a.clone();
            for _ in 0..numbers.below(4) {
                let at = numbers.below(b.len());
                match numbers.below(4) {
                    0 => b.insert(at, 'b'),
                    1 if b.len() > 1 => drop(b.remove(at)),
                    2 => b[at] = 'c',
                    _ => {
                        let next = (at + 1).min(b.len() - 1);
                        b.swap(at, next);
                    }
                }
            }
            let (a, b): (String, String) = (a.iter().collect(), b.iter().collect());
            let distance = plain(&a, &b);
            for most in 0..=3 {
                assert_eq!(within(&a, &b, most), distance <= most, "{a} {b} {most}");
            }
            // And what is similar is found by its tokens.
            if let Some(most) = edits(&a) {
                if distance <= most {
                    let kept = kept_under(1, &b);
                    let asked = looked_up(1, &a, most);
                    assert!(asked.iter().any(|token| kept.contains(token)), "{a} {b}");
                    near += 1;
                } else {
                    far += 1;
                }
            }
        }
        assert!(near > 1_000 && far > 1_000, "{near} near, {far} far");
    }
}
