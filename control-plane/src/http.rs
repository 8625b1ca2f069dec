//! The HTTP API: the only place that knows the web framework.

mod auth;
mod error;
mod fields;
mod handlers;
mod middleware;
mod payload;
mod server;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post, put};

use crate::run::engine::Engine;

pub use server::{ServeError, serve};

/// What every handler is given.
#[derive(Clone)]
pub(crate) struct Api {
    engine: Arc<Engine>,
}

/// Every route.
fn router(engine: Arc<Engine>) -> Router {
    let api = Api { engine };
    Router::new()
        .route(
            "/v1/runs",
            post(handlers::runs::start).get(handlers::runs::list),
        )
        .route("/v1/runs/{run}", get(handlers::runs::show))
        .route("/v1/runs/{run}/tools", get(handlers::tools::list))
        .route("/v1/runs/{run}/turns", post(handlers::turns::begin))
        .route("/v1/runs/{run}/calls", post(handlers::calls::make))
        .route(
            "/v1/runs/{run}/calls/{call}/cancel",
            post(handlers::calls::cancel),
        )
        .route("/v1/runs/{run}/messages", get(handlers::messages::list))
        .route("/v1/runs/{run}/end", post(handlers::runs::end))
        .route("/v1/events", get(handlers::events::list))
        .route("/v1/operator/apply", post(handlers::operator::apply::apply))
        .route(
            "/v1/operator/export",
            get(handlers::operator::export::export),
        )
        .route("/v1/operator/inbox", get(handlers::operator::inbox::list))
        .route("/v1/operator/issues", get(handlers::operator::issues::list))
        .route(
            "/v1/operator/issues/{id}",
            get(handlers::operator::issues::show).patch(handlers::operator::issues::change),
        )
        .merge(secret_requests())
        .merge(kinds())
        .route(
            "/v1/operator/secrets/{name}/grants/{agent}",
            put(handlers::operator::grants::give).delete(handlers::operator::grants::take),
        )
        .merge(reading())
        .route("/healthz/live", get(handlers::health::live))
        .route("/healthz/ready", get(handlers::health::ready))
        .route("/metrics", get(handlers::metrics::show))
        .fallback(handlers::fallback::not_found)
        .method_not_allowed_fallback(handlers::fallback::wrong_method)
        .layer(axum::middleware::from_fn_with_state(
            api.clone(),
            middleware::around,
        ))
        .with_state(api)
}

/// What agents ask operators for.
fn secret_requests() -> Router<Api> {
    use handlers::operator::secret_requests;
    let path = "/v1/operator/secret-requests";
    Router::new()
        .route(path, get(secret_requests::list))
        .route(&format!("{path}/{{id}}"), get(secret_requests::show))
        .route(
            &format!("{path}/{{id}}/fulfil"),
            post(secret_requests::fulfil),
        )
        .route(&format!("{path}/{{id}}/deny"), post(secret_requests::deny))
}

/// The routes of the document's kinds, computed from their list.
fn kinds() -> Router<Api> {
    use handlers::operator::{delete, kinds};
    crate::operator::words().fold(Router::new(), |router, kind| {
        router
            .route(
                &format!("/v1/operator/{kind}"),
                get(move |operator, api, query| kinds::list(kind, operator, api, query)),
            )
            .route(
                &format!("/v1/operator/{kind}/{{id}}"),
                get(move |operator, api, id, query| kinds::show(kind, operator, api, id, query))
                    .delete(move |operator, api, id, query| {
                        delete::delete(kind, operator, api, id, query)
                    }),
            )
    })
}

/// What the chat backend reads of agents, and operators of what agents did.
fn reading() -> Router<Api> {
    use handlers::agents;
    use handlers::operator::{audit, notes_history, records, runs, schedules, scripts, why};
    let notes = "/v1/operator/notes/{path}";
    let all = "/v1/operator/collections/{name}/records";
    let one = &format!("{all}/{{id}}");
    Router::new()
        .route("/v1/agents/{agent}/memory", get(agents::memory))
        .route("/v1/agents/{agent}/schedules", get(agents::schedules))
        .route("/v1/agents/{agent}/offer", get(agents::offer))
        .route("/v1/agents/{agent}/files", get(agents::file))
        .route("/v1/operator/runs", get(runs::list))
        .route("/v1/operator/runs/{run}", get(runs::show))
        .route("/v1/operator/audit", get(audit::list))
        .route("/v1/operator/scripts", get(scripts::list))
        .route("/v1/operator/scripts/{agent}/{name}", get(scripts::show))
        .route("/v1/operator/schedules", get(schedules::list))
        .route("/v1/operator/schedules/{id}", get(schedules::show))
        .route("/v1/operator/why", get(why::explain))
        .route(&format!("{notes}/history"), get(notes_history::list))
        .route(
            &format!("{notes}/history/{{revision}}"),
            get(notes_history::show),
        )
        .route(&format!("{notes}/restore"), post(notes_history::restore))
        .route(all, get(records::list))
        .route(one, get(records::show))
        .route(&format!("{one}/history"), get(records::history))
        .route(&format!("{one}/restore"), post(records::restore))
}
