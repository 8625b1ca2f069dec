//! The demonstration's site: a few real pages on loopback.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use crate::error::Failure;

/// Connections served at once; more wait.
const CONNECTIONS: usize = 64;

const HTML: &str = "text/html; charset=utf-8";
/// Path, type, body.
const PAGES: [(&str, &str, &str); 7] = [
    (
        "/",
        HTML,
        include_str!("../../../../packaging/demo/site/index.html"),
    ),
    (
        "/papers",
        HTML,
        include_str!("../../../../packaging/demo/site/papers.html"),
    ),
    (
        "/order",
        HTML,
        include_str!("../../../../packaging/demo/site/order.html"),
    ),
    (
        "/thanks",
        HTML,
        include_str!("../../../../packaging/demo/site/thanks.html"),
    ),
    (
        "/visit",
        HTML,
        include_str!("../../../../packaging/demo/site/visit.html"),
    ),
    (
        "/hours",
        HTML,
        include_str!("../../../../packaging/demo/site/hours.html"),
    ),
    (
        "/style.css",
        "text/css; charset=utf-8",
        include_str!("../../../../packaging/demo/site/style.css"),
    ),
];

/// The site, served until it is dropped.
#[derive(Debug)]
pub(crate) struct Site {
    port: u16,
    task: JoinHandle<()>,
}

impl Site {
    /// Serves it on `port`, or on any other when that is taken.
    ///
    /// # Errors
    /// When no port can be had.
    pub(crate) async fn start(port: u16) -> Result<Self, Failure> {
        let failed = |error| Failure::local(format!("the site can't be served: {error}"));
        let listener = match TcpListener::bind(("127.0.0.1", port)).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?,
        };
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            port,
            task: tokio::spawn(serve(listener)),
        })
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = room.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(async move {
                    let _place = place;
                    // A connection that breaks off is its browser's business.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .timer(TokioTimer::new())
                        .header_read_timeout(Duration::from_secs(30))
                        .serve_connection(TokioIo::new(stream), service_fn(answer))
                        .await;
                });
            }
            // Out of descriptors, most likely: some are given back soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(page(request.method(), request.uri().path()))
}

fn page(method: &Method, path: &str) -> Response<Full<Bytes>> {
    let found = PAGES.iter().find(|(known, _, _)| *known == path);
    let (status, kind, body) = match found {
        _ if method != Method::GET && method != Method::HEAD => {
            (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n")
        }
        Some((_, kind, body)) => (StatusCode::OK, *kind, *body),
        None => (
            StatusCode::NOT_FOUND,
            "text/plain",
            "there is no such page\n",
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    headers.insert(
        CACHE_CONTROL,
        hyper::header::HeaderValue::from_static("no-store"),
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_of_a_page_leads_to_one() {
        for (at, kind, body) in PAGES.iter().filter(|(_, kind, _)| *kind == HTML) {
            for attribute in ["href=\"", "src=\"", "action=\""] {
                for part in body.split(attribute).skip(1) {
                    let path = part.split('"').next().unwrap();
                    let status = page(&Method::GET, path).status();
                    assert_eq!(status, StatusCode::OK, "{at} ({kind}) leads to {path}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert_eq!(page(&Method::GET, "/nope").status(), StatusCode::NOT_FOUND);
        assert_eq!(
            page(&Method::POST, "/").status(),
            StatusCode::METHOD_NOT_ALLOWED
        );
    }
}
