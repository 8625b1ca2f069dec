//! `tools/call`: the one path of a call, and a stream that keeps its client patient when it takes long.

use std::pin::Pin;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::StatusCode;
use futures_util::stream;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::envelope::Message;
use super::era::Era;
use super::methods::{failed, id_text, meta, server_meta};
use super::reply::{Fault, Reply, result_text};
use super::{Cx, listening};
use crate::run::call::{CallInput, CallResult};
use crate::run::error::RunError;
use crate::telemetry::chain;

/// Most characters of a name, as in a batch of calls.
const MAX_NAME: usize = 1_000;
/// A call that takes longer is answered with a stream, where the client takes one.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two signs of life: clients and proxies give up on silence after 30 s and more.
const SIGN_EVERY: Duration = Duration::from_secs(10);
/// Time for which a call is asked after when the database does not answer.
const ASK_FOR: Duration = Duration::from_secs(20);
const ASK_EVERY: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default, rename = "progressToken")]
    progress_token: Option<RequestId>,
}

type Answering = Pin<Box<dyn Future<Output = Result<String, Fault>> + Send>>;

/// Makes the call. It is work of its own: a client that goes away loses only the answer.
pub(super) async fn call(cx: &Cx, message: &Message<'_>, id: &RequestId) -> Result<Reply, Fault> {
    let params: Params<'_> = message.read_params()?;
    let name: String = serde_json::from_str(params.name.get()).map_err(|_| {
        Fault::refused(
            ErrorCode::INVALID_PARAMS,
            "`name` has to be a string, a tool's name",
        )
    })?;
    if name.chars().count() > MAX_NAME {
        let message = format!("`name` has more than {MAX_NAME} characters");
        return Err(Fault::refused(ErrorCode::INVALID_PARAMS, message));
    }
    let meta: Meta = params
        .meta
        .and_then(|meta| serde_json::from_str(meta.get()).ok())
        .unwrap_or_default();
    let mut answering = answer(
        cx,
        id.clone(),
        name,
        params.arguments.map(ToOwned::to_owned),
    );
    if !cx.media.takes_streams {
        return answering.await.map(Reply::Json);
    }
    if let Ok(answer) = timeout(PATIENCE, answering.as_mut()).await {
        return answer.map(Reply::Json);
    }
    let waiting = Waiting {
        answering: Some(answering),
        token: meta.progress_token,
        began: Instant::now(),
    };
    let events = stream::unfold(waiting, |mut waiting| async move {
        let event = waiting.next().await?;
        Some((Ok::<_, std::convert::Infallible>(event), waiting))
    });
    Ok(Reply::Other(listening::response(events)))
}

/// The response's text. Asked of the engine again with the same id while the database is
/// away, because a client of MCP can't ask for a call again without making another.
fn answer(cx: &Cx, id: RequestId, name: String, arguments: Option<Box<RawValue>>) -> Answering {
    let call_id = cx.request_key(&id_text(&id)).fresh_call_id();
    let cx = cx.share();
    Box::pin(async move {
        tracing::debug!(call = call_id, "a call over MCP");
        let until = Instant::now() + ASK_FOR;
        let error = loop {
            let input = CallInput {
                id: call_id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
            };
            match cx.api.engine.call(cx.run, vec![input]).await {
                Ok(batch) => {
                    let result = batch.into_first();
                    return match result {
                        Some(result) => result_text(&id, &shown(&cx, &result)?),
                        None => Err(lost(&call_id)),
                    }
                    .map_err(|fault| fault.about(Some(&id)));
                }
                Err(error @ (RunError::Store(_) | RunError::Unavailable(_)))
                    if Instant::now() < until =>
                {
                    tracing::debug!(error = chain(&error), "a call is asked after again");
                    sleep(ASK_EVERY).await;
                }
                Err(error) => break error,
            }
        };
        let fault = match error {
            error @ (RunError::Store(_) | RunError::Unavailable(_) | RunError::Fault(_)) => {
                tracing::warn!(
                    call = call_id,
                    error = chain(&error),
                    "a call over MCP has no answer"
                );
                lost(&call_id)
            }
            error => failed(&cx, error),
        };
        Err(fault.about(Some(&id)))
    })
}

/// A call whose message could not be read.
fn lost(call_id: &str) -> Fault {
    let message = format!(
        "the control plane could not answer, and the call may still run or have run: its result will be among the run's messages as {call_id}; look before you call again"
    );
    Fault::new(
        StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::INTERNAL_ERROR,
        message,
    )
    .with(json!({ "code": "unavailable", "call_id": call_id }))
}

/// A call's message as a client of MCP reads it.
fn shown(cx: &Cx, result: &CallResult) -> Result<CallToolResult, Fault> {
    let metadata: Value =
        serde_json::from_str(result.metadata.get()).map_err(|error| failed(cx, error.into()))?;
    let is_error = metadata.get("error").is_some_and(|error| !error.is_null());
    let content = vec![ContentBlock::text(result.content.clone())];
    let mut shown = if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    let mut fields = serde_json::Map::new();
    if cx.era == Era::Stateless {
        fields = server_meta();
    } else {
        shown.result_type = None;
    }
    fields.insert("guilds/call".to_owned(), result.id.clone().into());
    fields.insert("guilds/metadata".to_owned(), metadata);
    shown.meta = Some(meta(fields));
    Ok(shown)
}

/// A call that takes long, and its client.
struct Waiting {
    /// None once its message is out.
    answering: Option<Answering>,
    token: Option<RequestId>,
    began: Instant,
}

impl Waiting {
    /// The next event; the response is the last one.
    async fn next(&mut self) -> Option<Bytes> {
        let answering = self.answering.as_mut()?;
        let Ok(answer) = timeout(SIGN_EVERY, answering.as_mut()).await else {
            return Some(self.sign());
        };
        self.answering = None;
        let text = answer.unwrap_or_else(Fault::text);
        Some(listening::event(None, &text))
    }

    /// A sign of life: progress for whoever asked for it, else a comment.
    fn sign(&self) -> Bytes {
        let Some(token) = &self.token else {
            return listening::comment();
        };
        let seconds = self.began.elapsed().as_secs() + PATIENCE.as_secs();
        let progress = json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {
                "progressToken": token,
                "progress": seconds,
                "message": format!("running for {seconds} s"),
            },
        });
        listening::event(None, &progress.to_string())
    }
}
