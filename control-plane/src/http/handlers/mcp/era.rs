//! Which revision of MCP a request speaks, and the rules that come with it.

use axum::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ErrorCode, ErrorData, ProtocolVersion};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::envelope::Message;
use super::reply::Fault;
use crate::http::fields::kind;

const VERSION: &str = "mcp-protocol-version";
/// The revision of a client that names none (2025-11-25, "Protocol Version Header").
const UNNAMED: ProtocolVersion = ProtocolVersion::V_2025_03_26;
/// The only revision with batches.
const BATCHES: ProtocolVersion = ProtocolVersion::V_2025_03_26;
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Every revision that is spoken, newest first, as clients try them.
pub(super) const VERSIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::V_2026_07_28,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2024_11_05,
];

/// How a client speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Era {
    /// It began with `initialize`, at this revision.
    Initialized(ProtocolVersion),
    /// Each of its requests says all about itself.
    Stateless,
}

/// What every request of the second era carries.
#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct MetaFields<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
}

impl Era {
    /// The era of a message, once its headers and its metadata agree.
    pub(super) fn of(headers: &HeaderMap, message: &Message<'_>) -> Result<Self, Fault> {
        let named = named(headers)?;
        // The handshake is of the first era, whatever revision it asks for.
        if message.method.as_deref() == Some("initialize") {
            return Ok(Self::Initialized(named.unwrap_or(UNNAMED)));
        }
        let params: Meta<'_> = message.read_params()?;
        let meta = params.meta.filter(|meta| kind(meta) == "an object");
        let meta: MetaFields<'_> = meta
            .and_then(|meta| serde_json::from_str(meta.get()).ok())
            .unwrap_or_default();
        let declared = meta.version.and_then(text);
        let stateless = message.id.is_some()
            && (declared.is_some()
                || message.method.as_deref() == Some("server/discover")
                || named.as_ref().is_some_and(|named| !named.has_initialize()));
        if !stateless {
            return Ok(match named {
                Some(named) if !named.has_initialize() => Self::Stateless,
                named => Self::Initialized(named.unwrap_or(UNNAMED)),
            });
        }
        agree(named.as_ref(), declared.as_deref(), &meta)?;
        match declared.map(known).transpose()? {
            Some(declared) if declared.has_initialize() => Ok(Self::Initialized(declared)),
            _ => {
                mirrored(headers, message, &params)?;
                Ok(Self::Stateless)
            }
        }
    }

    /// The era of a batch: only one revision has any.
    pub(super) fn of_batch(headers: &HeaderMap) -> Result<Self, Fault> {
        let named = named(headers)?.unwrap_or(UNNAMED);
        if named != BATCHES {
            return Err(Fault::bad(
                ErrorCode::INVALID_REQUEST,
                format!(
                    "the body is an array; revision {} has no batches, send one message a request",
                    named.as_str()
                ),
            ));
        }
        Ok(Self::Initialized(named))
    }

    /// Whether the headers name a revision of the second era.
    pub(super) fn names_stateless(headers: &HeaderMap) -> bool {
        named(headers).is_ok_and(|named| named.is_some_and(|named| !named.has_initialize()))
    }

    /// Whether streams begin with an event that holds nothing but a place to resume from;
    /// clients of older revisions trip over it.
    pub(super) fn primes_streams(headers: &HeaderMap) -> bool {
        named(headers).is_ok_and(|named| named == Some(ProtocolVersion::V_2025_11_25))
    }
}

/// The revision for a client that asks for this one.
pub(super) fn negotiate(asked: &ProtocolVersion) -> ProtocolVersion {
    if asked.has_initialize() && VERSIONS.contains(asked) {
        return asked.clone();
    }
    ProtocolVersion::LATEST_WITH_INITIALIZE
}

/// The revision that the header names.
fn named(headers: &HeaderMap) -> Result<Option<ProtocolVersion>, Fault> {
    let Some(value) = headers.get(VERSION) else {
        return Ok(None);
    };
    let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
    known(value).map(Some)
}

fn known(version: String) -> Result<ProtocolVersion, Fault> {
    let found = VERSIONS.iter().find(|known| known.as_str() == version);
    found.cloned().ok_or_else(|| {
        let cut = &version[..version.floor_char_boundary(60)];
        let asked = serde_json::from_value(cut.into()).unwrap_or(ProtocolVersion::LATEST);
        Fault::of(ErrorData::unsupported_protocol_version(asked, &VERSIONS))
    })
}

/// Header and metadata name one revision, and the metadata is whole (2026-07-28, "Request
/// Metadata" and "Per-request protocol fields").
fn agree(
    named: Option<&ProtocolVersion>,
    declared: Option<&str>,
    meta: &MetaFields<'_>,
) -> Result<(), Fault> {
    let Some(declared) = declared else {
        return Err(incomplete(META_VERSION));
    };
    match named {
        None => {
            return Err(mismatch(
                "the header `MCP-Protocol-Version` is missing".to_owned(),
            ));
        }
        Some(named) if named.as_str() != declared => {
            let cut = &declared[..declared.floor_char_boundary(60)];
            return Err(mismatch(format!(
                "the header `MCP-Protocol-Version` is {} and `_meta` has {cut}",
                named.as_str()
            )));
        }
        Some(_) => {}
    }
    if meta.capabilities.map(kind) != Some("an object") {
        return Err(incomplete(META_CAPABILITIES));
    }
    Ok(())
}

/// `Mcp-Method` and `Mcp-Name` say what the body says ("Standard Request Headers").
fn mirrored(headers: &HeaderMap, message: &Message<'_>, params: &Meta<'_>) -> Result<(), Fault> {
    let method = message.method.as_deref().unwrap_or_default();
    same(headers, "Mcp-Method", method, false)?;
    if method == "tools/call"
        && let Some(name) = params.name.and_then(text)
    {
        same(headers, "Mcp-Name", &name, true)?;
    }
    Ok(())
}

fn same(headers: &HeaderMap, header: &str, body: &str, is_encoded: bool) -> Result<(), Fault> {
    let Some(value) = headers.get(header) else {
        return Err(mismatch(format!("the header `{header}` is missing")));
    };
    let value = value.to_str().ok();
    let value = value.and_then(|value| {
        if is_encoded {
            decoded(value)
        } else {
            Some(value.to_owned())
        }
    });
    match value {
        Some(value) if value == body => Ok(()),
        Some(_) => Err(mismatch(format!(
            "the header `{header}` is not what the body says"
        ))),
        None => Err(mismatch(format!("the header `{header}` can't be read"))),
    }
}

/// A header's value ("Value Encoding").
fn decoded(value: &str) -> Option<String> {
    let Some(encoded) = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Some(value.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn mismatch(message: String) -> Fault {
    Fault::of(ErrorData::header_mismatch(message, None))
}

fn incomplete(field: &str) -> Fault {
    Fault::new(
        StatusCode::BAD_REQUEST,
        ErrorCode::INVALID_PARAMS,
        format!("`_meta` of the request has no proper `{field}`"),
    )
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::super::envelope::Body;
    use super::*;

    fn era(headers: &[(&'static str, &'static str)], body: &str) -> Result<Era, i32> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        match Body::read(body.as_bytes()) {
            Ok(Body::One(message)) => Era::of(&map, &message).map_err(|fault| fault.code()),
            Ok(Body::Batch(_)) => Era::of_batch(&map).map_err(|fault| fault.code()),
            Err(fault) => panic!("{}", fault.text()),
        }
    }

    fn request(method: &str, params: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    }

    const NEW: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
    const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

    #[test]
    fn a_client_that_names_no_revision_speaks_the_first_of_this_transport() {
        let list = request("tools/list", "{}");
        let first = Era::Initialized(ProtocolVersion::V_2025_03_26);
        assert_eq!(era(&[], &list), Ok(first));
        let old = [("mcp-protocol-version", "2025-06-18")];
        let named = Era::Initialized(ProtocolVersion::V_2025_06_18);
        assert_eq!(era(&old, &list), Ok(named));
        let unknown = [("mcp-protocol-version", "1999-01-01")];
        assert_eq!(era(&unknown, &list), Err(-32_022));
    }

    #[test]
    fn the_handshake_is_of_the_first_era_whatever_it_asks_for() {
        let body = request("initialize", r#"{"protocolVersion":"2026-07-28"}"#);
        assert!(matches!(era(&[NEW], &body), Ok(Era::Initialized(_))));
        for (asked, answered) in [
            ("2025-03-26", "2025-03-26"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
        ] {
            let asked = serde_json::from_value(asked.into()).unwrap();
            assert_eq!(negotiate(&asked).as_str(), answered);
        }
    }

    #[test]
    fn a_stateless_request_says_the_same_in_its_headers_and_its_metadata() {
        let method = ("mcp-method", "tools/list");
        let list = request("tools/list", &format!(r#"{{"_meta":{META}}}"#));
        assert_eq!(era(&[NEW, method], &list), Ok(Era::Stateless));
        assert_eq!(era(&[method], &list), Err(-32_020));
        assert_eq!(era(&[NEW], &list), Err(-32_020));
        assert_eq!(era(&[NEW, ("mcp-method", "ping")], &list), Err(-32_020));
        let other = ("mcp-protocol-version", "2025-11-25");
        assert_eq!(era(&[other, method], &list), Err(-32_020));
        let bare = request("tools/list", "{}");
        assert_eq!(era(&[NEW, method], &bare), Err(-32_602));
        let half = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let half = request("tools/list", half);
        assert_eq!(era(&[NEW, method], &half), Err(-32_602));
        assert_eq!(era(&[], &request("server/discover", "{}")), Err(-32_602));
    }

    #[test]
    fn a_called_name_is_mirrored_and_may_be_encoded() {
        let method = ("mcp-method", "tools/call");
        let call = |name: &str| {
            let params = format!(r#"{{"name":"{name}","_meta":{META}}}"#);
            request("tools/call", &params)
        };
        let named = |value| ("mcp-name", value);
        let check = |header, name: &str| era(&[NEW, method, named(header)], &call(name));
        assert_eq!(check("note_find", "note_find"), Ok(Era::Stateless));
        assert_eq!(check("note_get", "note_find"), Err(-32_020));
        assert_eq!(
            check("=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界"),
            Ok(Era::Stateless)
        );
        assert_eq!(check("=?base64?%?=", "a"), Err(-32_020));
        assert_eq!(era(&[NEW, method], &call("note_find")), Err(-32_020));
    }

    #[test]
    fn one_revision_has_batches() {
        let body = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
        assert!(era(&[], body).is_ok());
        assert!(era(&[("mcp-protocol-version", "2025-03-26")], body).is_ok());
        assert_eq!(
            era(&[("mcp-protocol-version", "2025-06-18")], body),
            Err(-32_600)
        );
        assert_eq!(era(&[NEW], body), Err(-32_600));
    }
}
