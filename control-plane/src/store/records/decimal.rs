//! Exact decimals: JSON's numbers in plain digits, none lost.

/// Most digits of a number in plain form.
pub const MAX_DIGITS: usize = 60;

/// An exact decimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    /// Plain digits, those after the point as they were given: `1.50`, and `1500` for `1.5e3`.
    pub shown: String,
    /// One form of each value: `1.5`.
    pub canonical: String,
}

/// Why a text is no decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It is not written like a number of JSON.
    Form,
    /// It has more than [`MAX_DIGITS`] digits.
    Digits,
}

/// Reads a number as JSON writes it (RFC 8259, section 6).
///
/// # Errors
/// [`Refused`].
pub fn parse(text: &str) -> Result<Decimal, Refused> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)?),
        None => (rest, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((_, "")) => return Err(Refused::Form),
        Some(parts) => parts,
        None => (mantissa, ""),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = whole.len() > 1 && whole.starts_with('0');
    if whole.is_empty() || padded || !digits(whole) || !digits(fraction) {
        return Err(Refused::Form);
    }
    if whole.len() + fraction.len() > MAX_DIGITS {
        return Err(Refused::Digits);
    }
    let all = format!("{whole}{fraction}");
    let most = i64::try_from(MAX_DIGITS).unwrap_or(i64::MAX);
    let point = i64::try_from(whole.len()).unwrap_or(i64::MAX) + exponent;
    let zero = all.bytes().all(|byte| byte == b'0');
    if zero && exponent != 0 {
        return Ok(Decimal {
            shown: "0".to_owned(),
            canonical: "0".to_owned(),
        });
    }
    if point.abs() > most {
        return Err(Refused::Digits);
    }
    let (whole, fraction) = placed(&all, point);
    if whole.len() + fraction.len() > MAX_DIGITS {
        return Err(Refused::Digits);
    }
    let sign = if negative && !zero { "-" } else { "" };
    let written = |fraction: &str| {
        if fraction.is_empty() {
            format!("{sign}{whole}")
        } else {
            format!("{sign}{whole}.{fraction}")
        }
    };
    Ok(Decimal {
        shown: written(&fraction),
        canonical: written(fraction.trim_end_matches('0')),
    })
}

/// The exponent; one that no number of allowed length has is a large one.
fn exponent_of(text: &str) -> Result<i64, Refused> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Refused::Form);
    }
    let size = digits.parse::<i64>().unwrap_or(i64::MAX).min(1_000_000);
    Ok(if text.starts_with('-') { -size } else { size })
}

/// Digits with the point after the first `point` of them.
fn placed(digits: &str, point: i64) -> (String, String) {
    let (whole, fraction) = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => {
            let zeros = "0".repeat(point - digits.len());
            (format!("{digits}{zeros}"), String::new())
        }
        Ok(point) => (digits[..point].to_owned(), digits[point..].to_owned()),
        Err(_) => {
            let zeros = usize::try_from(-point).unwrap_or(0);
            (String::new(), format!("{}{digits}", "0".repeat(zeros)))
        }
    };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    (whole.to_owned(), fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(&str, &str), Refused>) {
        let found = parse(text);
        let found = found.as_ref().map(|d| (&*d.shown, &*d.canonical));
        assert_eq!(found, expected.as_ref().map(|e| *e), "{text}");
    }

    #[test]
    fn digits_stay_as_they_were_given() {
        check("0", Ok(("0", "0")));
        check("-0", Ok(("0", "0")));
        check("-0.0", Ok(("0.0", "0")));
        check("1.50", Ok(("1.50", "1.5")));
        check("-12.000", Ok(("-12.000", "-12")));
        check(
            "12345678901234567890.123456789",
            Ok((
                "12345678901234567890.123456789",
                "12345678901234567890.123456789",
            )),
        );
    }

    #[test]
    fn an_exponent_becomes_plain_digits() {
        check("1.5e3", Ok(("1500", "1500")));
        check("1.50e1", Ok(("15.0", "15")));
        check("1E-3", Ok(("0.001", "0.001")));
        check("0.5e1", Ok(("5", "5")));
        check("12e+2", Ok(("1200", "1200")));
        check("0e99999", Ok(("0", "0")));
        check("-25e-1", Ok(("-2.5", "-2.5")));
    }

    #[test]
    fn what_json_does_not_write_is_no_number() {
        for text in [
            "", "-", "+1", "01", ".5", "1.", "1e", "1e+", "0x1", "1 ", "NaN", "1_0", "١",
        ] {
            check(text, Err(Refused::Form));
        }
    }

    #[test]
    fn sixty_digits_are_the_most() {
        let most = "9".repeat(60);
        check(&most, Ok((&most, &most)));
        check(&"9".repeat(61), Err(Refused::Digits));
        for text in ["1e60", "1e400", "1e-60", "1e99999999999999999999"] {
            check(text, Err(Refused::Digits));
        }
        assert!(parse("1e59").is_ok() && parse("1e-58").is_ok());
    }
}
