//! HTTP/1.1 on the inherited socket, which only root can open.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use machine_agent_api::{CallRequest, CallState, Empty, SLOT_HEADER, Script};
use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::World;
use super::call::{self, Order};
use super::calls::Found;
use super::files;
use super::scripts::{self, ScriptError};
use crate::answer::{Body, Refused, json, read_body};
use crate::route::{AgentRoute, Route};

/// Path at which a runner introduces itself to the front.
pub const HELLO_PATH: &str = "/v1/hello";
/// Path at which the front asks a runner to end all it started and itself.
pub const STOP_PATH: &str = "/v1/stop";

/// What a runner says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hello {
    /// Version of its program.
    pub version: String,
    /// Calls that run or wait.
    pub calls: usize,
    /// Seconds since the last browser call; none when there was none.
    pub browser_idle_s: Option<u64>,
}

/// Connections served at once: the front's bound for one agent, and its kept one.
const MOST_CONNECTIONS: usize = 600;

/// Serves for ever.
pub async fn serve(listener: UnixListener, world: Arc<World>, stop: watch::Sender<bool>) {
    let stop = Arc::new(stop);
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= MOST_CONNECTIONS {
            connections.join_next().await;
        }
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, most likely: they come back.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
                async move { Ok::<_, Infallible>(answer(&world, &stop, request).await) }
            });
            // An error here is the front's leaving; no call depends on it.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    world: &Arc<World>,
    stop: &watch::Sender<bool>,
    request: Request<Incoming>,
) -> Response<Body> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, HELLO_PATH) => return json(StatusCode::OK, &world.hello()),
        (&Method::POST, STOP_PATH) => {
            stop.send_replace(true);
            return json(StatusCode::OK, &Empty {});
        }
        _ => {}
    }
    match serve_route(world, request).await {
        Ok(response) => response,
        Err(refused) => refused.into_response(),
    }
}

async fn serve_route(
    world: &Arc<World>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refused> {
    let uri = request.uri();
    let route = Route::parse(request.method(), uri.path(), uri.query())?;
    let Route::Agent(agent, route) = route else {
        return Err(Refused::not_found("a runner answers for its agent only"));
    };
    if agent != world.agent {
        return Err(Refused::not_found(format!(
            "this is the runner of {}, not of {agent}",
            world.agent
        )));
    }
    match route {
        AgentRoute::Ensure => Ok(json(StatusCode::OK, &Empty {})),
        AgentRoute::Start { kind, verb, id } => {
            let slot = slot(&request)?;
            let body = read_body(request.into_body()).await?;
            let request: CallRequest = parse(&body)?;
            let order = Order {
                kind,
                verb,
                slot,
                request,
            };
            order.check()?;
            let shared = Arc::clone(world);
            let begun = world.calls.begin(&id, body.len(), move |cancel| {
                shared.note_browser(kind);
                call::run(shared, order, cancel)
            })?;
            Ok(state(until_end(begun).await))
        }
        AgentRoute::Follow { id, wait_s } => {
            let found = world.calls.find(&id)?;
            let wait = Duration::from_secs(u64::from(wait_s));
            let ended = tokio::time::timeout(wait, until_end(found)).await;
            Ok(state(
                ended.unwrap_or_else(|_| Arc::new(CallState::Running)),
            ))
        }
        AgentRoute::Cancel(id) => Ok(state(until_end(world.calls.cancel(&id)?).await)),
        AgentRoute::Stored(id) => {
            world.calls.stored(&id);
            Ok(json(StatusCode::OK, &Empty {}))
        }
        AgentRoute::PutScript(name) => {
            let body = read_body(request.into_body()).await?;
            let script: Script = parse(&body)?;
            if script.name != name {
                return Err(Refused::invalid("`name` differs from the path's"));
            }
            scripts::check(&script)?;
            scripts::write(world.home.clone(), script).await?;
            Ok(json(StatusCode::OK, &Empty {}))
        }
        AgentRoute::DeleteScript(name) => {
            scripts::delete(world.home.clone(), name).await?;
            Ok(json(StatusCode::OK, &Empty {}))
        }
        AgentRoute::File(path) => files::answer(world.home.clone(), path).await,
    }
}

fn state(state: Arc<CallState>) -> Response<Body> {
    json(StatusCode::OK, state.as_ref())
}

async fn until_end(found: Found) -> Arc<CallState> {
    match found {
        Found::Ended(state) => state,
        Found::Unknown => Arc::new(CallState::Unknown),
        Found::Running(mut end) => {
            let ended = end.wait_for(Option::is_some).await;
            match ended.ok().and_then(|state| state.clone()) {
                Some(state) => state,
                // Only a panic of the call's task drops its end untold.
                None => Arc::new(CallState::Failed {
                    message: "the call broke off".to_owned(),
                    detail: "its task panicked".to_owned(),
                }),
            }
        }
    }
}

fn parse<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body)
        .map_err(|error| Refused::invalid(format!("the body is not what this path takes: {error}")))
}

fn slot(request: &Request<Incoming>) -> Result<u8, Refused> {
    request
        .headers()
        .get(SLOT_HEADER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .filter(|slot| *slot < 100)
        .ok_or_else(|| Refused::invalid(format!("the header {SLOT_HEADER} is 0 to 99")))
}

impl From<ScriptError> for Refused {
    fn from(error: ScriptError) -> Self {
        match error {
            ScriptError::Invalid(sentence) => Self::invalid(sentence),
            ScriptError::Home(sentence) => Self::conflict(sentence),
            ScriptError::System(error) => {
                tracing::warn!(%error, "a script's file");
                Self::failed("the script's file could not be changed")
            }
        }
    }
}

impl World {
    fn hello(&self) -> Hello {
        Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            calls: self.calls.running(),
            browser_idle_s: self.browser_used().map(|at| at.elapsed().as_secs()),
        }
    }
}
