//! What `GUILDS_URL` may be: `http://` or `https://`, a host, a port, a path before every route.

use hyper::Uri;

use crate::error::Failure;

/// Where the control plane answers.
#[derive(Debug, Clone)]
pub(super) struct Address {
    authority: String,
    prefix: String,
    /// The name its certificate must have, when it is spoken to over TLS.
    tls: Option<String>,
}

impl Address {
    /// # Errors
    /// A usage failure that says what is wrong with the URL; one with a
    /// password in it is not repeated.
    pub(super) fn parse(url: &str) -> Result<Self, Failure> {
        if url.contains('@') {
            return Err(Failure::usage(
                "GUILDS_URL holds a user or a password; tokens go into GUILDS_OPERATOR_TOKEN and GUILDS_BACKEND_TOKEN",
            ));
        }
        let bad = |why: &str| Failure::usage(format!("GUILDS_URL `{url}` {why}"));
        let parsed: Uri = url.parse().map_err(|_| bad("is not a URL"))?;
        let port = match parsed.scheme_str() {
            Some("http") => 80,
            Some("https") => 443,
            _ => return Err(bad("is neither an http:// nor an https:// URL")),
        };
        if parsed.query().is_some() {
            return Err(bad("has a query; allowed are host, port and path"));
        }
        let host = parsed
            .host()
            .filter(|host| !host.is_empty())
            .ok_or_else(|| bad("has no host"))?;
        // The parser takes any number for a port, and gives those that are none as none.
        let after = parsed
            .authority()
            .and_then(|authority| authority.as_str().strip_prefix(host));
        let is_named = after.is_some_and(|after| after.len() > 1);
        if is_named && parsed.port_u16().is_none_or(|port| port == 0) {
            return Err(bad("has no such port; allowed are 1 to 65535"));
        }
        let name = host.trim_start_matches('[').trim_end_matches(']');
        Ok(Self {
            authority: format!("{host}:{}", parsed.port_u16().unwrap_or(port)),
            prefix: parsed.path().trim_end_matches('/').to_owned(),
            tls: (port == 443).then(|| name.to_owned()),
        })
    }

    /// `host:port`.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// What stands before every route's path.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name in the certificate; nothing where there is no TLS.
    pub(super) fn tls(&self) -> Option<&str> {
        self.tls.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_scheme_host_port_and_prefix() {
        for (url, authority, prefix, tls) in [
            ("http://127.0.0.1:8440/", "127.0.0.1:8440", "", None),
            (
                "http://guilds.example/api/",
                "guilds.example:80",
                "/api",
                None,
            ),
            (
                "https://guilds.example",
                "guilds.example:443",
                "",
                Some("guilds.example"),
            ),
            ("https://[::1]:8440/a/b", "[::1]:8440", "/a/b", Some("::1")),
            ("http://127.0.0.1:65535", "127.0.0.1:65535", "", None),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!(address.authority(), authority, "{url}");
            assert_eq!(address.prefix(), prefix, "{url}");
            assert_eq!(address.tls(), tls, "{url}");
        }
    }

    #[test]
    fn what_is_no_such_url_is_refused() {
        for (url, message) in [
            ("", "GUILDS_URL `` is not a URL"),
            (
                "127.0.0.1:8440",
                "GUILDS_URL `127.0.0.1:8440` is neither an http:// nor an https:// URL",
            ),
            (
                "ftp://guilds.example",
                "GUILDS_URL `ftp://guilds.example` is neither an http:// nor an https:// URL",
            ),
            (
                "/v1",
                "GUILDS_URL `/v1` is neither an http:// nor an https:// URL",
            ),
            (
                "http://guilds.example?a=b",
                "GUILDS_URL `http://guilds.example?a=b` has a query; allowed are host, port and path",
            ),
            (
                "http://127.0.0.1:99999",
                "GUILDS_URL `http://127.0.0.1:99999` has no such port; allowed are 1 to 65535",
            ),
            (
                "https://[::1]:0/",
                "GUILDS_URL `https://[::1]:0/` has no such port; allowed are 1 to 65535",
            ),
            (
                "http://ann:word@guilds.example",
                "GUILDS_URL holds a user or a password; tokens go into GUILDS_OPERATOR_TOKEN and GUILDS_BACKEND_TOKEN",
            ),
        ] {
            let failure = Address::parse(url).unwrap_err();
            assert_eq!(failure.exit, crate::error::Exit::Usage, "{url}");
            assert_eq!(failure.message(), message);
        }
    }
}
