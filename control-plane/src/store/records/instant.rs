//! Instants: RFC 3339 in, one form in UTC out, to the microsecond.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A day of UTC, which has no leap seconds here.
const DAY_MICROS: i64 = 86_400_000_000;

/// A point in time, as every record holds it: its texts sort in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Timestamp);

/// What a text that means a time names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// An instant.
    At(Instant),
    /// A day of UTC: from its first instant to the first of the next.
    Day(Instant, Instant),
}

impl Instant {
    /// Reads a date-time of RFC 3339, section 5.6, in the years 0001 to 9999 of UTC. Digits
    /// after the microsecond are cut off.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let form = b"dddd-dd-ddTdd:dd:dd";
        let head = bytes.get(..form.len())?;
        let formed = head.iter().zip(form).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            b'T' => matches!(byte, b'T' | b't' | b' '),
            other => byte == other,
        });
        if !formed {
            return None;
        }
        let rest = &text[form.len()..];
        let (fraction, offset) = match rest.strip_prefix('.') {
            Some(rest) => {
                let end = rest.find(|c: char| !c.is_ascii_digit())?;
                (&rest[..end], &rest[end..])
            }
            None => ("", rest),
        };
        if rest.starts_with('.') && fraction.is_empty() {
            return None;
        }
        let offset_formed = match offset.as_bytes() {
            [b'Z' | b'z'] => true,
            [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|b| b.is_ascii_digit()),
            _ => false,
        };
        if !offset_formed {
            return None;
        }
        let mut plain = format!("{}T{}", &text[..10], &text[11..form.len()]);
        if !fraction.is_empty() {
            plain.push('.');
            plain.push_str(&fraction[..fraction.len().min(6)]);
        }
        plain.push_str(&offset.to_ascii_uppercase());
        let instant = Self(plain.parse().ok()?);
        (1..=9_999)
            .contains(&instant.civil().year())
            .then_some(instant)
    }

    fn civil(self) -> DateTime {
        TimeZone::UTC.to_datetime(self.0)
    }

    /// The later instant by microseconds; the last one there is stays.
    #[must_use]
    pub fn plus_micros(self, micros: i64) -> Self {
        let at = self.0.as_microsecond().saturating_add(micros);
        Self(Timestamp::from_microsecond(at).unwrap_or(self.0))
    }

    /// The last whole millisecond before or at it.
    #[must_use]
    pub fn floor_to_millisecond(self) -> Self {
        let at = self.0.as_microsecond();
        Self(Timestamp::from_microsecond(at - at.rem_euclid(1_000)).unwrap_or(self.0))
    }
}

/// UTC with `Z`; a fraction of three or six digits when it isn't 0.
impl std::fmt::Display for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = self.0.as_microsecond().rem_euclid(1_000_000);
        let form = match micros {
            0 => "%Y-%m-%dT%H:%M:%SZ",
            micros if micros % 1_000 == 0 => "%Y-%m-%dT%H:%M:%S.%3fZ",
            _ => "%Y-%m-%dT%H:%M:%S.%6fZ",
        };
        write!(f, "{}", self.civil().strftime(form.trim_end_matches('Z')))?;
        f.write_str("Z")
    }
}

/// Reads an instant, or a bare date as that day of UTC.
#[must_use]
pub fn parse(text: &str) -> Option<Moment> {
    if text.len() != 10 {
        return Instant::parse(text).map(Moment::At);
    }
    // The whole form keeps out what a date parser takes besides.
    let first = Instant::parse(&format!("{text}T00:00:00Z"))?;
    Some(Moment::Day(first, first.plus_micros(DAY_MICROS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let found = Instant::parse(text).map(|instant| instant.to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn a_date_time_is_an_instant_of_utc() {
        check("2026-01-02T10:00:00+02:00", Some("2026-01-02T08:00:00Z"));
        check("2026-01-02t10:00:00.5z", Some("2026-01-02T10:00:00.500Z"));
        check("2026-01-01 00:30:00+01:00", Some("2025-12-31T23:30:00Z"));
        check(
            "2026-01-02T10:00:00.123456789Z",
            Some("2026-01-02T10:00:00.123456Z"),
        );
        check("1969-12-31T23:59:59.999Z", Some("1969-12-31T23:59:59.999Z"));
        check("0001-01-01T00:00:00Z", Some("0001-01-01T00:00:00Z"));
        check("2024-02-29T00:00:00Z", Some("2024-02-29T00:00:00Z"));
    }

    #[test]
    fn what_has_no_offset_or_is_no_date_is_none() {
        for text in [
            "2026-01-02T10:00:00",
            "2026-01-02",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T10:00Z",
            "2026-01-02T10:00:00.Z",
            "2026-01-02T10:00:00+0200",
            "2026-01-02T10:00:00Z[UTC]",
            "20260102T100000Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59-01:00",
            "2026-01-02T10:00:00€",
            "yesterday",
            "",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_bare_date_is_a_day_of_utc() {
        let Some(Moment::Day(first, next)) = parse("2024-02-28") else {
            panic!("no day");
        };
        assert_eq!(first.to_string(), "2024-02-28T00:00:00Z");
        assert_eq!(next.to_string(), "2024-02-29T00:00:00Z");
        for text in ["2026-02-30", "2026-1-02", "26-01-0102", "0000-01-01"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_millisecond_has_a_first_microsecond() {
        let instant = Instant::parse("2026-01-02T10:00:00.123456Z").unwrap();
        assert_eq!(
            instant.floor_to_millisecond().to_string(),
            "2026-01-02T10:00:00.123Z"
        );
        assert_eq!(
            instant.plus_micros(44).to_string(),
            "2026-01-02T10:00:00.123500Z"
        );
    }
}
