//! Stretches: tokens of the beginnings of sortable digits, which find ranges of numbers and times.

use super::decimal::Decimal;
use super::instant::Instant;
use super::token::{self, Kind};

/// Where the beginnings end: of times after one to four digits of the year, month, day and
/// hour; of numbers after the exponent and each of four digits.
const TIME: [usize; 7] = [1, 2, 3, 4, 6, 8, 10];
const NUMBER: [usize; 5] = [3, 4, 5, 6, 7];
/// Added to the exponent of a number, so that it has no sign.
const EXPONENT: i64 = 500;

/// Both ends of a range, either open.
pub type Range<T> = (Option<T>, Option<T>);

fn of_time(instant: Instant) -> String {
    let text = instant.to_string();
    let digits = text.chars().filter(char::is_ascii_digit);
    digits.take(10).collect()
}

/// Sign (`n`, `z` or `p`) and the sortable digits of the value without it.
fn of_number(decimal: &Decimal) -> (&'static str, String) {
    let text = decimal.canonical.as_str();
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => ("n", text),
        None => ("p", text),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return ("z", String::new());
    }
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let exponent = length(whole) - (length(&digits) - length(significant));
    let first: String = significant.chars().take(4).collect();
    (sign, format!("{:03}{first:0<4}", exponent + EXPONENT))
}

fn beginnings(sign: &str, digits: &str, levels: &[usize]) -> Vec<String> {
    let all = std::iter::once(sign.to_owned());
    all.chain(
        levels
            .iter()
            .map(|level| format!("{sign}{}", &digits[..*level])),
    )
    .collect()
}

/// The tokens under which a time is kept.
pub fn time_tokens(collection: i64, column: &str, instant: Instant) -> Vec<i32> {
    let made = beginnings("t", &of_time(instant), &TIME);
    tokens(collection, column, made)
}

/// The tokens under which a number is kept.
pub fn number_tokens(collection: i64, column: &str, decimal: &Decimal) -> Vec<i32> {
    let (sign, digits) = of_number(decimal);
    let made = if sign == "z" {
        vec![sign.to_owned()]
    } else {
        beginnings(sign, &digits, &NUMBER)
    };
    tokens(collection, column, made)
}

/// Tokens of which each time in a range, both ends in it, has at least one.
pub fn times(collection: i64, column: &str, (low, high): Range<Instant>) -> Vec<i32> {
    let low = low.map_or_else(|| "0".repeat(10), of_time);
    let high = high.map_or_else(|| "9".repeat(10), of_time);
    let mut cover = Vec::new();
    fill("t", "", &TIME, (&low, &high), &mut cover);
    tokens(collection, column, cover)
}

/// Tokens of which each number in a range, both ends in it, has at least one.
pub fn numbers(collection: i64, column: &str, (low, high): Range<&Decimal>) -> Vec<i32> {
    let (low, high) = (low.map(of_number), high.map(of_number));
    let rank = |end: &Option<(&str, String)>, open: i8| match end {
        Some(("n", _)) => -1,
        Some(("z", _)) => 0,
        Some(_) => 1,
        None => open,
    };
    let (from, to) = (rank(&low, -1), rank(&high, 1));
    let (zeros, nines) = ("0".repeat(7), "9".repeat(7));
    let digits = |end: &Option<(&str, String)>, of: &str, open: &str| match end {
        Some((sign, digits)) if *sign == of => digits.clone(),
        _ => open.to_owned(),
    };
    let mut cover = Vec::new();
    if from == -1 {
        // The larger a negative number is without its sign, the smaller it is.
        let least = digits(&high, "n", &zeros);
        let most = digits(&low, "n", &nines);
        fill("n", "", &NUMBER, (&least, &most), &mut cover);
    }
    if from <= 0 && to >= 0 {
        cover.push("z".to_owned());
    }
    if to == 1 {
        let least = digits(&low, "p", &zeros);
        let most = digits(&high, "p", &nines);
        fill("p", "", &NUMBER, (&least, &most), &mut cover);
    }
    tokens(collection, column, cover)
}

/// The fewest beginnings that hold everything between two digit texts of full length; at
/// the last level also what holds a part of it.
fn fill(sign: &str, prefix: &str, levels: &[usize], ends: (&str, &str), cover: &mut Vec<String>) {
    let (low, high) = ends;
    let (low_here, high_here) = (&low[..prefix.len()], &high[..prefix.len()]);
    if prefix < low_here || prefix > high_here {
        return;
    }
    let rest = |text: &str, digit: u8| text[prefix.len()..].bytes().all(|byte| byte == digit);
    let from_first = prefix > low_here || rest(low, b'0');
    let to_last = prefix < high_here || rest(high, b'9');
    let [level, deeper @ ..] = levels else {
        cover.push(format!("{sign}{prefix}"));
        return;
    };
    if from_first && to_last {
        cover.push(format!("{sign}{prefix}"));
        return;
    }
    let width = level - prefix.len();
    let part = |text: &str| text[prefix.len()..*level].parse::<u32>().unwrap_or(0);
    let first = if prefix == low_here { part(low) } else { 0 };
    let last = if prefix == high_here {
        part(high)
    } else {
        10_u32.pow(u32::try_from(width).unwrap_or(0)) - 1
    };
    for next in first..=last {
        fill(
            sign,
            &format!("{prefix}{next:0width$}"),
            deeper,
            ends,
            cover,
        );
    }
}

fn tokens(collection: i64, column: &str, texts: Vec<String>) -> Vec<i32> {
    texts
        .iter()
        .map(|text| token::of(collection, Kind::Stretch, column, text))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::records::decimal;

    fn at(text: &str) -> Instant {
        Instant::parse(text).unwrap()
    }

    #[test]
    fn a_day_is_one_stretch() {
        let mut cover = Vec::new();
        fill("t", "", &TIME, ("2026010200", "2026010299"), &mut cover);
        assert_eq!(cover, ["t20260102"]);
        let mut cover = Vec::new();
        fill("t", "", &TIME, ("2026010222", "2026010301"), &mut cover);
        assert!(cover.contains(&"t2026010223".to_owned()), "{cover:?}");
        assert!(cover.contains(&"t2026010300".to_owned()), "{cover:?}");
        assert!(cover.contains(&"t2026010301".to_owned()), "{cover:?}");
    }

    #[test]
    fn a_number_sorts_by_exponent_and_digits() {
        let of = |text| of_number(&decimal::parse(text).unwrap());
        assert_eq!(of("0.00"), ("z", String::new()));
        assert_eq!(of("1"), ("p", "5011000".to_owned()));
        assert_eq!(of("-12.5"), ("n", "5021250".to_owned()));
        assert_eq!(of("0.00123456"), ("p", "4981234".to_owned()));
    }

    #[test]
    fn every_number_of_a_range_has_a_token_of_it() {
        let numbers = [
            "-1000", "-12.5", "-12.25", "-1", "-0.001", "0", "0.001", "0.5", "1", "1.5", "9.99",
            "10", "99", "100", "12345", "12346", "99999999",
        ];
        let all: Vec<Decimal> = numbers.iter().map(|n| decimal::parse(n).unwrap()).collect();
        for low in 0..=all.len() {
            for high in low.saturating_sub(1)..=all.len() {
                let range = (all.get(low), all.get(high));
                let asked = super::numbers(1, "n", range);
                assert!(asked.len() < 1_500, "{}", asked.len());
                for (place, number) in all.iter().enumerate() {
                    let after = low == all.len() || place >= low;
                    let before = high == all.len() || place <= high;
                    let kept = number_tokens(1, "n", number);
                    let found = kept.iter().any(|token| asked.contains(token));
                    assert!(found || !(after && before), "{number:?} {low} {high}");
                }
            }
        }
    }

    #[test]
    fn every_time_of_a_range_has_a_token_of_it() {
        let all = [
            "0001-01-01T00:00:00Z",
            "1999-12-31T23:59:59Z",
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:06Z",
            "2026-02-28T23:00:00Z",
            "2027-01-01T00:00:00Z",
            "9999-12-30T21:00:00Z",
        ]
        .map(at);
        for low in 0..=all.len() {
            for high in low.saturating_sub(1)..=all.len() {
                let range = (all.get(low).copied(), all.get(high).copied());
                let asked = times(1, "t", range);
                assert!(asked.len() < 1_000, "{}", asked.len());
                for (place, time) in all.iter().enumerate() {
                    let inside =
                        (low == all.len() || place >= low) && (high == all.len() || place <= high);
                    let kept = time_tokens(1, "t", *time);
                    let found = kept.iter().any(|token| asked.contains(token));
                    assert!(found || !inside, "{time} {low} {high}");
                }
            }
        }
    }
}
