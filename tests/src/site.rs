//! A small site of pages that a test writes, served on loopback.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// A running site; it ends with this value.
#[derive(Debug)]
pub struct Site {
    address: String,
    server: JoinHandle<()>,
}

impl Site {
    /// Serves `pages`, path to HTML; every other path is 404.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn serve(pages: &[(&str, &str)]) -> Result<Self> {
        let pages: Arc<BTreeMap<String, Bytes>> = Arc::new(
            pages
                .iter()
                .map(|(path, html)| ((*path).to_owned(), Bytes::from((*html).to_owned())))
                .collect(),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let server = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let pages = Arc::clone(&pages);
                connections.spawn(async move {
                    let service = service_fn(|request| {
                        let response = answer(&pages, &request);
                        async { Ok::<_, Infallible>(response) }
                    });
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await
                });
            }
        });
        Ok(Self { address, server })
    }

    /// URL of one of its pages.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn answer(pages: &BTreeMap<String, Bytes>, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let page = pages.get(request.uri().path());
    let mut response =
        Response::new(Full::new(page.cloned().unwrap_or_else(|| {
            Bytes::from_static(b"<title>Nothing here</title>")
        })));
    if page.is_none() {
        *response.status_mut() = hyper::StatusCode::NOT_FOUND;
    }
    response.headers_mut().insert(
        "content-type",
        hyper::header::HeaderValue::from_static("text/html; charset=utf-8"),
    );
    response
}
