//! One request at the front: its path, its two headers, and then either an answer of the front's own or the agent's runner.

use hyper::body::{Body as _, Incoming};
use hyper::{Request, Response, StatusCode};
use machine_agent_api::{EnsureAgentReply, HealthReply, Kind, ORGANISATION_HEADER, SLOT_HEADER};

use super::agents::Agents;
use super::keeper::Care;
use super::pass;
use super::places::Place;
use crate::answer::{Body, MOST_REQUEST, Refused, json};
use crate::names;
use crate::route::{AgentRoute, Route};

/// Answers one request, whatever comes.
pub async fn answer(agents: &Agents, request: Request<Incoming>) -> Response<Body> {
    match serve(agents, request).await {
        Ok(response) => response,
        Err(refused) => {
            tracing::debug!(
                status = refused.status.as_u16(),
                message = refused.message,
                "refused"
            );
            refused.into_response()
        }
    }
}

async fn serve(agents: &Agents, request: Request<Incoming>) -> Result<Response<Body>, Refused> {
    let uri = request.uri();
    let (agent, route) = match Route::parse(request.method(), uri.path(), uri.query())? {
        Route::Health => return Ok(health(agents)),
        Route::Agent(agent, route) => (agent, route),
    };
    let place = place(&request)?;
    if request.body().size_hint().lower() > MOST_REQUEST as u64 {
        return Err(Refused::too_large());
    }
    let handle = agents.handle(&agent)?;
    // Counted before anything is made ready, so that a flood waits for nothing.
    let _pass = handle.count(agents)?;
    let care = if route == AgentRoute::Ensure {
        Care::Whole
    } else {
        Care::Known
    };
    let ready = handle.ensure(agents, &place, care).await?;
    match route {
        AgentRoute::Ensure => {
            let reply = EnsureAgentReply {
                uid: ready.uid,
                home: ready.home.display().to_string(),
            };
            Ok(json(StatusCode::OK, &reply))
        }
        route => {
            if matches!(
                route,
                AgentRoute::Start {
                    kind: Kind::Browser,
                    ..
                }
            ) {
                agents.check_firewall(&place, ready.uid).await?;
            }
            pass::pass(agents, &handle, &place, ready, &route, request).await
        }
    }
}

fn health(agents: &Agents) -> Response<Body> {
    let front = agents.front();
    json(
        StatusCode::OK,
        &HealthReply {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: front.config.machine.clone(),
            certificate_not_after: front.certificate_not_after.clone(),
            agents: front.places.agents(),
        },
    )
}

/// The two headers of every agent operation.
fn place(request: &Request<Incoming>) -> Result<Place, Refused> {
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let slot = header(SLOT_HEADER)
        .and_then(|text| text.parse().ok())
        .filter(|slot: &u8| *slot < 100)
        .ok_or_else(|| Refused::invalid(format!("the header {SLOT_HEADER} is 0 to 99")))?;
    let organisation = header(ORGANISATION_HEADER)
        .filter(|text| names::is_id(text))
        .ok_or_else(|| {
            Refused::invalid(format!(
                "the header {ORGANISATION_HEADER} is an id, ^[a-z][a-z0-9-]{{0,30}}$"
            ))
        })?;
    Ok(Place {
        organisation: organisation.to_owned(),
        slot,
    })
}
