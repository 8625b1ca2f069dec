//! The HTTP API: the only place that knows the web framework.

mod address;
mod auth;
mod error;
mod fields;
mod handlers;
mod middleware;
mod openapi;
mod payload;
mod routes;
mod server;
mod write_deadline;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;

use self::address::Address;
use self::handlers::mcp::seats::Seats;
use self::routes::Routes;
use crate::run::engine::Engine;

pub use server::{ServeError, serve};

/// What every handler is given.
#[derive(Clone)]
pub(crate) struct Api {
    engine: Arc<Engine>,
    address: Arc<Address>,
    seats: Seats,
    /// The API's own description, which never changes while it runs.
    document: Bytes,
}

/// The router of every route.
fn router(engine: Arc<Engine>, address: Address) -> Router {
    let (list, router) = routes().into_parts();
    let api = Api {
        engine,
        address: Arc::new(address),
        seats: Seats::default(),
        document: openapi::document(&list).into(),
    };
    router
        .fallback(handlers::fallback::not_found)
        .method_not_allowed_fallback(handlers::fallback::wrong_method)
        .layer(axum::middleware::from_fn_with_state(
            api.clone(),
            middleware::around,
        ))
        .with_state(api)
}

/// Every route; what each takes and answers is told in `openapi/`.
fn routes() -> Routes {
    Routes::default()
        .merge(runs())
        .merge(operating())
        .merge(secret_requests())
        .merge(kinds())
        .merge(reading())
        .get("/healthz/live", handlers::health::live)
        .get("/healthz/ready", handlers::health::ready)
        .get("/metrics", handlers::metrics::show)
        .get("/openapi.json", handlers::openapi::show)
}

/// What a chat backend does.
fn runs() -> Routes {
    use handlers::{calls, events, mcp, messages, runs, tools, turns};
    Routes::default()
        .post("/v1/runs", runs::start)
        .get("/v1/runs", runs::list)
        .get("/v1/runs/{run}", runs::show)
        .get("/v1/runs/{run}/tools", tools::list)
        .post("/v1/runs/{run}/turns", turns::begin)
        .post("/v1/runs/{run}/calls", calls::make)
        .post("/v1/runs/{run}/calls/{call}/cancel", calls::cancel)
        .get("/v1/runs/{run}/messages", messages::list)
        .post("/v1/runs/{run}/end", runs::end)
        .post("/v1/runs/{run}/mcp", mcp::post)
        .get("/v1/runs/{run}/mcp", mcp::get)
        .delete("/v1/runs/{run}/mcp", mcp::delete)
        .get("/v1/events", events::list)
}

/// What operators change.
fn operating() -> Routes {
    use handlers::operator::{apply, export, grants, inbox, issues};
    let grant = "/v1/operator/secrets/{name}/grants/{agent}";
    Routes::default()
        .post("/v1/operator/apply", apply::apply)
        .get("/v1/operator/export", export::export)
        .get("/v1/operator/inbox", inbox::list)
        .get("/v1/operator/issues", issues::list)
        .get("/v1/operator/issues/{id}", issues::show)
        .patch("/v1/operator/issues/{id}", issues::change)
        .put(grant, grants::give)
        .delete(grant, grants::take)
}

/// What agents ask operators for.
fn secret_requests() -> Routes {
    use handlers::operator::secret_requests;
    let path = "/v1/operator/secret-requests";
    Routes::default()
        .get(path, secret_requests::list)
        .get(&format!("{path}/{{id}}"), secret_requests::show)
        .post(&format!("{path}/{{id}}/fulfil"), secret_requests::fulfil)
        .post(&format!("{path}/{{id}}/deny"), secret_requests::deny)
}

/// The routes of the document's kinds, computed from their list.
fn kinds() -> Routes {
    use handlers::operator::{delete, kinds};
    crate::operator::words().fold(Routes::default(), |routes, kind| {
        let (all, one) = (
            format!("/v1/operator/{kind}"),
            format!("/v1/operator/{kind}/{{id}}"),
        );
        routes
            .get(&all, move |operator, api, query| {
                kinds::list(kind, operator, api, query)
            })
            .get(&one, move |operator, api, id, query| {
                kinds::show(kind, operator, api, id, query)
            })
            .delete(&one, move |operator, api, id, query| {
                delete::delete(kind, operator, api, id, query)
            })
    })
}

/// What the chat backend reads of agents, and operators of what agents did.
fn reading() -> Routes {
    use handlers::agents;
    use handlers::operator::{
        audit, notes_history, record_changes, records, runs, schedules, scripts, why,
    };
    let notes = "/v1/operator/notes/{path}";
    let all = "/v1/operator/collections/{name}/records";
    let one = &format!("{all}/{{id}}");
    Routes::default()
        .get("/v1/agents/{agent}/memory", agents::memory)
        .get("/v1/agents/{agent}/schedules", agents::schedules)
        .get("/v1/agents/{agent}/offer", agents::offer)
        .get("/v1/agents/{agent}/files", agents::file)
        .get("/v1/operator/runs", runs::list)
        .get("/v1/operator/runs/{run}", runs::show)
        .get("/v1/operator/audit", audit::list)
        .get("/v1/operator/scripts", scripts::list)
        .get("/v1/operator/scripts/{agent}/{name}", scripts::show)
        .get("/v1/operator/schedules", schedules::list)
        .get("/v1/operator/schedules/{id}", schedules::show)
        .patch("/v1/operator/schedules/{id}", schedules::change)
        .get("/v1/operator/why", why::explain)
        .get(&format!("{notes}/history"), notes_history::list)
        .get(
            &format!("{notes}/history/{{revision}}"),
            notes_history::show,
        )
        .post(&format!("{notes}/restore"), notes_history::restore)
        .get(all, records::list)
        .get(one, records::show)
        .get(&format!("{one}/history"), records::history)
        .post(all, record_changes::add)
        .patch(one, record_changes::change)
        .delete(one, record_changes::remove)
        .post(&format!("{one}/restore"), record_changes::restore)
}
