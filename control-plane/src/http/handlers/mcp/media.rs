//! Content types: what a client sends, and which answers it takes.

use axum::http::{HeaderMap, StatusCode, header};

use crate::http::error::ApiError;

const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";

/// Which answers a client takes beside JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Media {
    /// Whether a call that takes long may be answered with a stream.
    pub(super) takes_streams: bool,
}

impl Media {
    /// Checks the headers of a `POST`.
    pub(super) fn of_post(headers: &HeaderMap) -> Result<Self, ApiError> {
        let sent = headers.get(header::CONTENT_TYPE);
        let sent = sent.and_then(|value| value.to_str().ok()).unwrap_or("");
        if !essence(sent).eq_ignore_ascii_case(JSON) {
            let sent = &sent[..sent.floor_char_boundary(60)];
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "invalid",
                format!("the body's content type is \"{sent}\"; allowed is {JSON}"),
            ));
        }
        if !accepts(headers, JSON) {
            return Err(not_acceptable("application/json and text/event-stream"));
        }
        Ok(Self {
            takes_streams: names(headers, STREAM),
        })
    }

    /// Checks the headers of a `GET`.
    pub(super) fn of_get(headers: &HeaderMap) -> Result<(), ApiError> {
        if names(headers, STREAM) {
            return Ok(());
        }
        Err(not_acceptable(STREAM))
    }
}

fn not_acceptable(allowed: &str) -> ApiError {
    ApiError::new(
        StatusCode::NOT_ACCEPTABLE,
        "invalid",
        format!("the header `Accept` has to list {allowed}"),
    )
}

/// Whether an answer of this type is taken. Without the header every one is.
fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = wanted.split('/').next().unwrap_or_default();
    let fits = |range: &str| range == "*/*" || range.strip_suffix("/*") == Some(kind);
    !headers.contains_key(header::ACCEPT) || names(headers, wanted) || ranges(headers).any(fits)
}

/// Whether an answer of this type is asked for by its name.
fn names(headers: &HeaderMap, wanted: &str) -> bool {
    ranges(headers).any(|range| range.eq_ignore_ascii_case(wanted))
}

/// The types that the client takes.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .filter(|range| !is_refused(range))
        .map(essence)
}

/// A weight of nothing (RFC 9110, section 12.4.2).
fn is_refused(range: &str) -> bool {
    let mut parameters = range.split(';').skip(1).map(str::trim);
    parameters.any(|parameter| {
        parameter
            .strip_prefix("q=")
            .is_some_and(|weight| weight.parse() == Ok(0.0))
    })
}

fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(
        content_type: &'static str,
        accept: Option<&'static str>,
        expected: Result<bool, u16>,
    ) {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(accept) = accept {
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        }
        let found = Media::of_post(&headers)
            .map(|media| media.takes_streams)
            .map_err(|error| error.status().as_u16());
        assert_eq!(found, expected, "{content_type} {accept:?}");
    }

    #[test]
    fn a_body_is_json_and_its_answer_at_least_json() {
        let both = Some("application/json, text/event-stream");
        check("application/json", both, Ok(true));
        check("Application/JSON; charset=utf-8", both, Ok(true));
        check("application/json", Some("application/json"), Ok(false));
        check("application/json", Some("*/*"), Ok(false));
        check("application/json", Some("application/*;q=0.5"), Ok(false));
        check("application/json", None, Ok(false));
        check(
            "application/json",
            Some("application/json, text/event-stream;q=0"),
            Ok(false),
        );
        check("application/json", Some("text/event-stream"), Err(406));
        check("application/json", Some("text/html"), Err(406));
        check("application/json", Some("application/json;q=0"), Err(406));
        check("text/plain", both, Err(415));
        check("", both, Err(415));
        check("application/jsonx", both, Err(415));
    }

    #[test]
    fn a_stream_is_asked_for_by_name() {
        let check = |accept: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            }
            Media::of_get(&headers).is_ok()
        };
        assert!(check(Some("text/event-stream")));
        assert!(!check(Some("application/json")));
        assert!(!check(None));
    }
}
