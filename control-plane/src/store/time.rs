//! Times as the API writes them: RFC 3339, UTC, `Z`, milliseconds left out when 0.

use jiff::Timestamp;

/// The text of a time given in milliseconds since 1970. A time outside the
/// years that RFC 3339 knows reads as the epoch, which no row holds.
#[must_use]
pub fn rfc3339(unix_ms: i64) -> String {
    let at = Timestamp::from_millisecond(unix_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    if unix_ms % 1_000 == 0 {
        at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    } else {
        at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn milliseconds_are_left_out_when_zero() {
        assert_eq!(super::rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(
            super::rfc3339(1_700_000_000_007),
            "2023-11-14T22:13:20.007Z"
        );
    }
}
