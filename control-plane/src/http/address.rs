//! Where clients find this API: the address in the answers, and the origins of pages that may speak to it.

use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, Uri, header};

/// What is known of the API's address.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// The setting `public_url`, without a slash at its end.
    public_url: Option<String>,
    /// The scheme that this process speaks itself.
    scheme: &'static str,
    /// Where it listens, for requests that name no host.
    listen: String,
}

impl Address {
    pub(super) fn new(public_url: Option<&str>, is_tls: bool, listen: &str) -> Self {
        Self {
            public_url: public_url.map(|url| url.trim_end_matches('/').to_owned()),
            scheme: if is_tls { "https" } else { "http" },
            listen: listen.to_owned(),
        }
    }

    /// The URL before `/v1`: the setting, else the address by which the request came. What
    /// proxies add about the request is not believed, because anyone can add it.
    pub(super) fn base(&self, uri: &Uri, headers: &HeaderMap) -> String {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let host = uri.authority().map(Authority::as_str).or_else(|| {
            let host = headers.get(header::HOST)?.to_str().ok()?;
            host.parse::<Authority>().ok()?;
            Some(host)
        });
        let host = host.filter(|host| !host.contains('@'));
        format!("{}://{}", self.scheme, host.unwrap_or(&self.listen))
    }

    /// Whether a page of this origin may speak to the API: one of the API's own address, or
    /// of this machine. A page elsewhere could reach the API under a name of its own by
    /// rebinding it (MCP, "Streamable HTTP", Security).
    pub(super) fn allows_origin(&self, origin: &str) -> bool {
        let Some(origin) = Origin::read(origin) else {
            return false;
        };
        let own = self.public_url.as_deref().and_then(Origin::read);
        own.is_some_and(|own| own == origin) || origin.is_loopback()
    }
}

/// An origin (RFC 6454).
#[derive(PartialEq, Eq)]
struct Origin {
    scheme: Scheme,
    host: String,
    port: u16,
}

impl Origin {
    fn read(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let scheme = uri.scheme()?.clone();
        let usual = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let authority = uri.authority()?;
        if authority.as_str().contains('@') {
            return None;
        }
        Some(Self {
            scheme,
            host: authority.host().to_ascii_lowercase(),
            port: authority.port_u16().unwrap_or(usual),
        })
    }

    fn is_loopback(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        let address = host.parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn base(public_url: Option<&str>, is_tls: bool, host: Option<&'static str>, expected: &str) {
        let address = Address::new(public_url, is_tls, "127.0.0.1:8440");
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(header::HOST, HeaderValue::from_static(host));
        }
        headers.insert("x-forwarded-host", HeaderValue::from_static("evil.test"));
        assert_eq!(
            address.base(&Uri::from_static("/v1/runs"), &headers),
            expected
        );
    }

    #[test]
    fn the_address_is_the_setting_else_what_the_client_used() {
        let public = Some("https://guilds.test/api/");
        base(
            public,
            false,
            Some("10.0.0.1:8440"),
            "https://guilds.test/api",
        );
        base(None, false, Some("localhost:8440"), "http://localhost:8440");
        base(None, true, Some("guilds.test"), "https://guilds.test");
        base(None, false, None, "http://127.0.0.1:8440");
        base(None, false, Some("a b"), "http://127.0.0.1:8440");
        base(None, false, Some("me@evil.test"), "http://127.0.0.1:8440");
    }

    #[test]
    fn http_2_names_the_host_in_its_target() {
        let address = Address::new(None, true, "127.0.0.1:8440");
        let uri = Uri::from_static("https://guilds.test:8440/v1/runs");
        assert_eq!(
            address.base(&uri, &HeaderMap::new()),
            "https://guilds.test:8440"
        );
    }

    #[test]
    fn pages_of_this_machine_and_of_the_public_address_are_allowed() {
        let address = Address::new(Some("https://guilds.test/api"), false, "127.0.0.1:8440");
        for origin in [
            "http://localhost:6274",
            "https://localhost",
            "http://127.0.0.1:8440",
            "http://[::1]:3000",
            "https://guilds.test",
            "https://GUILDS.test:443",
        ] {
            assert!(address.allows_origin(origin), "{origin}");
        }
        for origin in [
            "",
            "null",
            "http://guilds.test",
            "https://guilds.test:8443",
            "https://evil.test",
            "http://localhost.evil.test",
            "http://localhost@evil.test",
            "ftp://localhost",
            "http://10.0.0.1",
            "localhost",
        ] {
            assert!(!address.allows_origin(origin), "{origin}");
        }
    }
}
