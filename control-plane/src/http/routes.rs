//! The list of routes: the router and the document of the API are both made from it.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};

use super::Api;

/// One method of one path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    /// Path with its parts in braces.
    pub(super) path: String,
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub(super) method: &'static str,
}

/// Routes, each one line: `.get("/v1/things", handlers::things::list)`.
#[derive(Default)]
pub(super) struct Routes {
    list: Vec<Route>,
    router: Router<Api>,
}

impl Routes {
    /// Routes that were made elsewhere.
    #[must_use]
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.list.extend(other.list);
        self.router = self.router.merge(other.router);
        self
    }

    /// A `GET`.
    #[must_use]
    pub(super) fn get<H: Handler<T, Api>, T: 'static>(self, path: &str, handler: H) -> Self {
        self.on("GET", MethodFilter::GET, path, handler)
    }

    /// A `POST`.
    #[must_use]
    pub(super) fn post<H: Handler<T, Api>, T: 'static>(self, path: &str, handler: H) -> Self {
        self.on("POST", MethodFilter::POST, path, handler)
    }

    /// A `PUT`.
    #[must_use]
    pub(super) fn put<H: Handler<T, Api>, T: 'static>(self, path: &str, handler: H) -> Self {
        self.on("PUT", MethodFilter::PUT, path, handler)
    }

    /// A `PATCH`.
    #[must_use]
    pub(super) fn patch<H: Handler<T, Api>, T: 'static>(self, path: &str, handler: H) -> Self {
        self.on("PATCH", MethodFilter::PATCH, path, handler)
    }

    /// A `DELETE`.
    #[must_use]
    pub(super) fn delete<H: Handler<T, Api>, T: 'static>(self, path: &str, handler: H) -> Self {
        self.on("DELETE", MethodFilter::DELETE, path, handler)
    }

    /// The list, and the router that serves it.
    pub(super) fn into_parts(self) -> (Vec<Route>, Router<Api>) {
        (self.list, self.router)
    }

    fn on<H: Handler<T, Api>, T: 'static>(
        mut self,
        method: &'static str,
        filter: MethodFilter,
        path: &str,
        handler: H,
    ) -> Self {
        self.list.push(Route {
            path: path.to_owned(),
            method,
        });
        self.router = self.router.route(path, on(filter, handler));
        self
    }
}
