//! The methods of the MCP face.

use axum::http::StatusCode;
use rmcp::model::{
    DiscoverResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult,
    MetaObject, RequestId, ServerCapabilities, SubscriptionsListenRequestParams, ToolsCapability,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::envelope::Message;
use super::era::{Era, VERSIONS, negotiate};
use super::reply::{Fault, Reply, result_text};
use super::{Cx, calling, listening};
use crate::run::error::RunError;
use crate::run::offer::OfferedTool;
use crate::telemetry::chain;

/// What a client is told of the server as a whole.
const INSTRUCTIONS: &str = "These are the tools of one agent in one run. Every result ends in a line that says how many calls remain.";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Answers one message.
pub(super) async fn answer(cx: &Cx, message: Message<'_>) -> Reply {
    let reply = route(cx, &message).await;
    let method = label(message.method.as_deref());
    let fine = !matches!(reply, Reply::Fault(_));
    cx.api.engine.metrics().mcp(method, fine);
    if let Reply::Fault(fault) = &reply {
        tracing::debug!(method, code = fault.code(), "a message was refused");
    }
    reply
}

async fn route(cx: &Cx, message: &Message<'_>) -> Reply {
    let Some(method) = message.method.as_deref() else {
        // An answer to a question that nobody asked.
        return Reply::Taken;
    };
    let Some(id) = &message.id else {
        if method == "notifications/cancelled" {
            cancel(cx, message);
        }
        return Reply::Taken;
    };
    let answered = match (method, &cx.era) {
        ("initialize", _) => initialize(cx, message, id),
        ("ping", Era::Initialized(_)) => Ok(Reply::result(id, &Map::new())),
        ("server/discover", Era::Stateless) => Ok(discover(id)),
        ("tools/list", _) => list(cx, message, id).await,
        ("tools/call", _) => calling::call(cx, message, id).await,
        ("subscriptions/listen", Era::Stateless) => listen(cx, message, id).await,
        _ => Err(no_method(method, &cx.era)),
    };
    answered.unwrap_or_else(|fault| Reply::Fault(fault.about(Some(id))))
}

/// Unknown methods are 404 to clients that ask without a handshake.
fn no_method(method: &str, era: &Era) -> Fault {
    let method = &method[..method.floor_char_boundary(100)];
    let status = match era {
        Era::Stateless => StatusCode::NOT_FOUND,
        Era::Initialized(_) => StatusCode::OK,
    };
    let message = format!("there is no method {method}");
    Fault::new(status, ErrorCode::METHOD_NOT_FOUND, message)
}

fn capabilities() -> ServerCapabilities {
    let mut tools = ToolsCapability::default();
    tools.list_changed = Some(true);
    let mut capabilities = ServerCapabilities::default();
    capabilities.tools = Some(tools);
    capabilities
}

fn server() -> Implementation {
    Implementation::new("guilds", env!("CARGO_PKG_VERSION")).with_title("Guilds")
}

/// What goes with every result of the second era.
pub(super) fn server_meta() -> Map<String, Value> {
    let server = serde_json::to_value(server()).unwrap_or_default();
    Map::from_iter([(SERVER_INFO.to_owned(), server)])
}

fn initialize(cx: &Cx, message: &Message<'_>, id: &RequestId) -> Result<Reply, Fault> {
    let asked: InitializeRequestParams = message.read_params()?;
    let result = InitializeResult::new(capabilities())
        .with_protocol_version(negotiate(&asked.protocol_version))
        .with_server_info(server())
        .with_instructions(INSTRUCTIONS);
    let text = result_text(id, &result)?;
    Ok(Reply::Session(text, cx.api.engine.new_session(cx.run)))
}

fn discover(id: &RequestId) -> Reply {
    let mut result =
        DiscoverResult::new(VERSIONS.to_vec(), capabilities()).with_server_info(server());
    result.instructions = Some(INSTRUCTIONS.to_owned());
    Reply::result(id, &result)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolList<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Map<String, Value>>,
}

/// A tool with its schema as it is offered: byte for byte.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default)]
    cursor: Option<&'a RawValue>,
}

async fn list(cx: &Cx, message: &Message<'_>, id: &RequestId) -> Result<Reply, Fault> {
    let page: Page<'_> = message.read_params()?;
    if page.cursor.is_some() {
        return Err(Fault::refused(
            ErrorCode::INVALID_PARAMS,
            "`cursor` names no page; the list has one page",
        ));
    }
    let offered = cx.api.engine.tools(cx.run).await;
    let offered = offered.map_err(|error| failed(cx, error))?;
    let is_stateless = cx.era == Era::Stateless;
    let result = ToolList {
        result_type: is_stateless.then_some("complete"),
        tools: offered.iter().map(shown).collect(),
        // The next turn may change it, and other tokens have other offers.
        ttl_ms: is_stateless.then_some(0),
        cache_scope: is_stateless.then_some("private"),
        meta: is_stateless.then(server_meta),
    };
    Ok(Reply::result(id, &result))
}

fn shown(tool: &OfferedTool) -> Tool<'_> {
    Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.input_schema,
    }
}

#[derive(Deserialize)]
struct Cancelled<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a RawValue,
}

/// A cancel that makes no sense is ignored, as the protocol asks.
fn cancel(cx: &Cx, message: &Message<'_>) {
    let Ok(cancelled) = message.read_params::<Cancelled<'_>>() else {
        return;
    };
    let Ok(id) = serde_json::from_str::<RequestId>(cancelled.request_id.get()) else {
        return;
    };
    let key = cx.request_key(&id_text(&id));
    cx.api.engine.cancel_request(cx.run, key);
}

/// An id as JSON text, so that `1` and `"1"` are two.
pub(super) fn id_text(id: &RequestId) -> String {
    id.clone().into_json_value().to_string()
}

async fn listen(cx: &Cx, message: &Message<'_>, id: &RequestId) -> Result<Reply, Fault> {
    let params: SubscriptionsListenRequestParams = message.read_params()?;
    if !cx.media.takes_streams {
        return Err(Fault::new(
            StatusCode::NOT_ACCEPTABLE,
            ErrorCode::INVALID_REQUEST,
            "a subscription is a stream: the header `Accept` has to list text/event-stream",
        ));
    }
    let wants_tools = params.notifications.tools_list_changed == Some(true);
    listening::subscription(cx, id, wants_tools).await
}

/// What a failure of the run's engine is to a client of MCP.
pub(super) fn failed(cx: &Cx, error: RunError) -> Fault {
    match error {
        RunError::Ended(run) => Fault::ended(run),
        error @ (RunError::NotFound(_)
        | RunError::Invalid(_)
        | RunError::Conflict(_)
        | RunError::CallIdReused(_)) => {
            Fault::refused(ErrorCode::INVALID_PARAMS, error.to_string())
        }
        error => {
            tracing::warn!(run = %cx.run, error = chain(&error), "a request over MCP failed");
            Fault::new(
                StatusCode::SERVICE_UNAVAILABLE,
                ErrorCode::INTERNAL_ERROR,
                "the control plane could not answer; ask again",
            )
            .with(serde_json::json!({ "code": "unavailable" }))
        }
    }
}

/// Metadata of the library's type.
pub(super) const fn meta(fields: Map<String, Value>) -> MetaObject {
    MetaObject(fields)
}

/// A bounded word for a method.
fn label(method: Option<&str>) -> &'static str {
    const KNOWN: [&str; 8] = [
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "subscriptions/listen",
        "notifications/initialized",
        "notifications/cancelled",
    ];
    let known = KNOWN.into_iter().find(|known| Some(*known) == method);
    known.unwrap_or("other")
}
