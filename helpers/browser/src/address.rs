//! Addresses a model writes: what is missing is added, what is not a page is refused.

/// An address to open, and what was added to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Address {
    /// What Chrome is given.
    pub url: String,
    /// Told to the caller, when something was added.
    pub note: Option<String>,
}

/// Takes `http:`, `https:` and `about:blank`; an address without a scheme
/// becomes `https://`, on this machine `http://`.
pub fn read(written: &str) -> Result<Address, String> {
    let text = written.trim();
    if text.is_empty() {
        return Err("url is empty; give an address such as https://example.com/".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("url has a control character in it".to_owned());
    }
    if text.eq_ignore_ascii_case("about:blank") {
        return Ok(Address {
            url: "about:blank".to_owned(),
            note: None,
        });
    }
    if let Some(scheme) = scheme_of(text) {
        return if scheme == "http" || scheme == "https" {
            let rest = text[scheme.len() + 1..].trim_start_matches('/');
            if rest.is_empty() {
                return Err(format!(
                    "{text} names no host; give an address such as https://example.com/"
                ));
            }
            Ok(Address {
                url: text.to_owned(),
                note: None,
            })
        } else {
            Err(format!(
                "{scheme}: addresses can't be opened; allowed are http:, https: and about:blank"
            ))
        };
    }
    let rest = text.trim_start_matches('/');
    if rest.is_empty() {
        return Err(format!(
            "{text} names no host; give an address such as https://example.com/"
        ));
    }
    let scheme = if is_this_machine(rest) {
        "http"
    } else {
        "https"
    };
    Ok(Address {
        url: format!("{scheme}://{rest}"),
        note: Some(format!(
            "the address had no scheme, {scheme}:// was put before it"
        )),
    })
}

/// The scheme in lower case; `localhost:3000` has none.
fn scheme_of(text: &str) -> Option<String> {
    let (before, after) = text.split_once(':')?;
    let named = before.starts_with(|first: char| first.is_ascii_alphabetic())
        && before
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let port = after.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    (named && !is_port).then(|| before.to_ascii_lowercase())
}

fn is_this_machine(rest: &str) -> bool {
    let authority = rest
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") || host == "::1"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, url: &str) {
        assert_eq!(
            read(written).map(|address| address.url),
            Ok(url.to_owned()),
            "{written}"
        );
    }

    #[test]
    fn whole_addresses_stay_as_they_are() {
        check("https://example.com/a?b#c", "https://example.com/a?b#c");
        check(" http://example.com ", "http://example.com");
        check("ABOUT:blank", "about:blank");
    }

    #[test]
    fn a_missing_scheme_is_https_and_http_on_this_machine() {
        check("example.com/a", "https://example.com/a");
        check("example.com:8443", "https://example.com:8443");
        check("//example.com", "https://example.com");
        check("localhost:3000/x", "http://localhost:3000/x");
        check("127.0.0.1:8080", "http://127.0.0.1:8080");
        check("[::1]:8080/a", "http://[::1]:8080/a");
        let note = read("example.com").unwrap().note;
        assert_eq!(
            note.as_deref(),
            Some("the address had no scheme, https:// was put before it")
        );
    }

    #[test]
    fn other_schemes_are_refused_by_name() {
        for (written, scheme) in [
            ("file:///etc/passwd", "file"),
            ("javascript:alert(1)", "javascript"),
            ("chrome://settings", "chrome"),
            ("data:text/html,x", "data"),
        ] {
            assert_eq!(
                read(written).unwrap_err(),
                format!(
                    "{scheme}: addresses can't be opened; allowed are http:, https: and about:blank"
                )
            );
        }
        assert!(read("  ").is_err());
        assert!(read("https://").is_err());
    }
}
