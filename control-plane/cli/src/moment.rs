//! Times, durations and sizes in words that fit a table.

use jiff::{SignedDuration, Timestamp};

use crate::error::Failure;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How long ago a time of the API was, or how soon it comes; what is no time is shown as it is.
pub(crate) fn relative(time: &str, now: Timestamp) -> String {
    let Ok(time) = time.parse::<Timestamp>() else {
        return time.to_owned();
    };
    let seconds = now.duration_since(time).as_secs();
    match seconds {
        -4..=4 => "now".to_owned(),
        past if past > 0 => format!("{} ago", span(past)),
        future => format!("in {}", span(-future)),
    }
}

/// What remains until a time of the API: `29 days`, or since when it is over.
pub(crate) fn remaining(time: &str, now: Timestamp) -> String {
    match time.parse::<Timestamp>() {
        Err(_) => time.to_owned(),
        Ok(end) => match end.duration_since(now).as_secs() {
            over if over <= 0 => format!("ended {} ago", span(-over)),
            short if short < 2 * DAY => span(short),
            long => format!("{} days", long / DAY),
        },
    }
}

fn span(seconds: i64) -> String {
    match seconds {
        ..MINUTE => format!("{seconds}s"),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h", seconds / HOUR),
        _ => format!("{}d", seconds / DAY),
    }
}

/// A duration: `340 ms`, `3.2 s`, `2m 05s`, `1h 02m`.
pub(crate) fn duration(milliseconds: i64) -> String {
    let seconds = milliseconds / 1_000;
    match milliseconds {
        ..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{seconds}.{} s", milliseconds % 1_000 / 100),
        60_000..3_600_000 => format!("{}m {:02}s", seconds / MINUTE, seconds % MINUTE),
        _ => format!("{}h {:02}m", seconds / HOUR, seconds % HOUR / MINUTE),
    }
}

/// A size: `812 B`, `64 KiB`, `1.2 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut unit = 1_u64;
    for name in ["B", "KiB", "MiB", "GiB"] {
        let is_last = name == "GiB";
        if bytes < unit * 1_024 || is_last {
            // Tenths, rounded down, where there are few of the unit.
            let tenths = (u128::from(bytes) * 10 / u128::from(unit)) as u64;
            return match (tenths / 10, tenths % 10) {
                (whole, 0) => format!("{whole} {name}"),
                (whole, _) if whole >= 10 => format!("{whole} {name}"),
                (whole, tenth) => format!("{whole}.{tenth} {name}"),
            };
        }
        unit *= 1_024;
    }
    format!("{bytes} B")
}

/// The time that `--since` names: `7d`, `12h`, `30m`, `2w`, or a time itself.
///
/// # Errors
/// A usage failure that says what is allowed.
pub(crate) fn since(text: &str, now: Timestamp) -> Result<String, Failure> {
    let bad = || {
        Failure::usage(format!(
            "--since is `{text}`; allowed are a number with m, h, d or w (`7d`), or a time such as 2026-03-01T12:00:00Z"
        ))
    };
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time.to_string());
    }
    let unit = match text.chars().last() {
        Some('m') => MINUTE,
        Some('h') => HOUR,
        Some('d') => DAY,
        Some('w') => 7 * DAY,
        _ => return Err(bad()),
    };
    let number: i64 = text[..text.len() - 1].parse().map_err(|_| bad())?;
    let seconds = number.checked_mul(unit).filter(|_| number >= 0);
    let before = seconds
        .and_then(|seconds| now.checked_sub(SignedDuration::from_secs(seconds)).ok())
        .ok_or_else(bad)?;
    Ok(before.to_string())
}

/// Milliseconds from one time of the API to another.
pub(crate) fn between(from: &str, to: &str) -> Option<i64> {
    let from: Timestamp = from.parse().ok()?;
    let to: Timestamp = to.parse().ok()?;
    i64::try_from(to.duration_since(from).as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn times_are_told_from_now() {
        for (time, told) in [
            ("2026-03-01T11:59:58Z", "now"),
            ("2026-03-01T11:59:20Z", "40s ago"),
            ("2026-03-01T11:00:30Z", "59m ago"),
            ("2026-02-28T13:00:00Z", "23h ago"),
            ("2026-02-22T12:00:00Z", "7d ago"),
            ("2026-03-01T12:09:59Z", "in 9m"),
            ("soon", "soon"),
        ] {
            assert_eq!(relative(time, now()), told, "{time}");
        }
        assert_eq!(remaining("2026-03-31T11:00:00Z", now()), "29 days");
        assert_eq!(remaining("2026-03-02T13:00:00Z", now()), "1d");
        assert_eq!(remaining("2026-02-27T12:00:00Z", now()), "ended 2d ago");
    }

    #[test]
    fn durations_and_sizes_are_short() {
        for (milliseconds, told) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (3_249, "3.2 s"),
            (125_000, "2m 05s"),
            (3_720_000, "1h 02m"),
        ] {
            assert_eq!(duration(milliseconds), told);
        }
        for (bytes, told) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (65_536, "64 KiB"),
            (1_259_000, "1.2 MiB"),
            (52_428_800, "50 MiB"),
            (5_905_580_032, "5.5 GiB"),
        ] {
            assert_eq!(size(bytes), told);
        }
    }

    #[test]
    fn since_is_a_span_or_a_time() {
        assert_eq!(since("7d", now()).unwrap(), "2026-02-22T12:00:00Z");
        assert_eq!(since("30m", now()).unwrap(), "2026-03-01T11:30:00Z");
        assert_eq!(
            since("2026-01-01T00:00:00Z", now()).unwrap(),
            "2026-01-01T00:00:00Z"
        );
        for text in ["", "d", "7", "-1d", "7y", "yesterday", "9é"] {
            assert_eq!(
                since(text, now()).unwrap_err().exit,
                crate::error::Exit::Usage
            );
        }
        assert_eq!(
            between("2026-03-01T12:00:00Z", "2026-03-01T12:00:01.5Z"),
            Some(1_500)
        );
    }
}
