//! `/v1/agents`: what the chat backend reads of an agent.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::InPath;
use super::list::{answer, one_more, page};
use super::query::Parameters;
use crate::http::Api;
use crate::http::auth::Backend;
use crate::http::error::{ApiError, body};
use crate::run::offer::RunKind;

/// `GET /v1/agents/{agent}/memory`
pub(in crate::http) async fn memory(
    _: Backend,
    State(api): State<Api>,
    InPath(agent): InPath<String>,
    query: Parameters,
) -> Result<Response, ApiError> {
    query.finish()?;
    let memory = api.engine.memory_of(&agent).await?;
    Ok(body(StatusCode::OK, &memory))
}

/// `GET /v1/agents/{agent}/schedules?after=&limit=`
pub(in crate::http) async fn schedules(
    _: Backend,
    State(api): State<Api>,
    InPath(agent): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let after = query.uuid("after");
    let limit = query.limit();
    query.finish()?;
    let found = api
        .engine
        .schedules_of(&agent, after, one_more(limit))
        .await?;
    let (schedules, next) = page(found, limit, |schedule| schedule.schedule_id);
    Ok(answer("schedules", &schedules, next))
}

/// `GET /v1/agents/{agent}/offer?kind=`; a direct run when no kind is named.
pub(in crate::http) async fn offer(
    _: Backend,
    State(api): State<Api>,
    InPath(agent): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let kind = query.word("kind", &RunKind::ALL.map(RunKind::as_str));
    query.finish()?;
    let kind = kind.and_then(RunKind::parse).unwrap_or(RunKind::Direct);
    let tools = api.engine.offer_of(&agent, kind).await?;
    Ok(answer("tools", &tools, None::<()>))
}

/// `GET /v1/agents/{agent}/files?path=`; the answer is the file's bytes.
pub(in crate::http) async fn file(
    _: Backend,
    State(api): State<Api>,
    InPath(agent): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let path = query.required("path", "a path relative to the agent's home");
    query.finish()?;
    let path = path.unwrap_or_default();
    let contents = api.engine.file_of(&agent, &path).await?;
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static(media_type(&path)),
        ),
        (header::CONTENT_DISPOSITION, disposition(&path)),
        (header::CONTENT_LENGTH, HeaderValue::from(contents.length())),
        // The agent wrote it, so no browser may take it for a page of this address.
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; sandbox"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((StatusCode::OK, headers, Body::new(contents)).into_response())
}

/// By the end of its name: pictures that can't hold code, and text that is shown as such.
fn media_type(path: &str) -> &'static str {
    const TEXT: [&str; 23] = [
        "c", "cfg", "conf", "css", "csv", "htm", "html", "ini", "js", "json", "log", "md", "py",
        "rs", "sh", "sql", "svg", "toml", "ts", "txt", "xml", "yaml", "yml",
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some((_, end)) = name.rsplit_once('.') else {
        return "application/octet-stream";
    };
    match end.to_ascii_lowercase().as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        end if TEXT.contains(&end) => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// A file to keep, under its own name (RFC 6266, RFC 8187).
fn disposition(path: &str) -> HeaderValue {
    let name = path.rsplit('/').next().unwrap_or_default();
    let encoded = machine_agent_api::encode(name);
    // What `encode` leaves is ASCII that a header may hold.
    HeaderValue::try_from(format!("attachment; filename*=UTF-8''{encoded}"))
        .unwrap_or(HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_the_agents_is_never_shown_as_one() {
        for (path, expected) in [
            ("screenshots/latest.jpg", "image/jpeg"),
            ("a.PNG", "image/png"),
            ("notes.md", "text/plain; charset=utf-8"),
            ("evil.html", "text/plain; charset=utf-8"),
            ("evil.svg", "text/plain; charset=utf-8"),
            ("archive.tar.gz", "application/octet-stream"),
            ("png", "application/octet-stream"),
            ("a.html/none", "application/octet-stream"),
        ] {
            assert_eq!(media_type(path), expected, "{path}");
        }
        assert_eq!(
            disposition("a/ü \"b\".txt"),
            "attachment; filename*=UTF-8''%C3%BC%20%22b%22.txt"
        );
    }
}
