//! `navigate`: opens an address and tells where that led.

use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::page::{NavigateParams, StopLoadingParams};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::address;
use crate::problem::Problem;
use crate::session::Session;
use crate::wire::Declined;

/// How long a server may take to answer, and a document to arrive.
const ANSWER: Duration = Duration::from_secs(30);
const DOCUMENT: Duration = Duration::from_secs(15);

impl Session {
    /// Opens the address in the current tab.
    pub(crate) async fn navigate(&mut self, written: &str) -> Result<String, Problem> {
        let address = address::read(written).map_err(Problem::Refused)?;
        self.open_tab(true).await?;
        self.doing = "waiting for the server";
        let session = self.tab()?;
        let url = address.url.clone();
        if let Some(note) = address.note {
            self.notes.push(format!("note: {note}"));
        }
        // A tab that crashed comes back by navigating.
        self.wire.watch.crashed = false;
        let ticket = self
            .wire
            .submit(Some(&session), NavigateParams::new(url.clone()))?;
        let reply = match timeout(ANSWER, self.wire.reply(ticket)).await {
            Ok(reply) => reply?,
            Err(_) => {
                self.wire
                    .send(Some(&session), StopLoadingParams::default())?;
                self.wire.linger(Duration::from_millis(100)).await?;
                return Err(Problem::refused(format!(
                    "{url} did not answer within 30 s; the navigation was stopped"
                )));
            }
        };
        let reply = reply.map_err(|Declined(why)| {
            Problem::refused(format!("{url} could not be opened: {why}"))
        })?;
        self.arrive(&url, &reply).await
    }

    async fn arrive(&mut self, url: &str, reply: &Value) -> Result<String, Problem> {
        let text = |key: &str| reply.get(key).and_then(Value::as_str);
        let began_download = reply.get("isDownload").and_then(Value::as_bool) == Some(true);
        let loader = text("loaderId");
        let status = loader
            .and_then(|loader| self.wire.watch.navigation.status_of(loader))
            .map(|(status, _)| *status);
        if began_download || (text("errorText").is_some() && !self.wire.watch.downloads.is_empty())
        {
            self.download_comes().await?;
            return self
                .page_result("the address is a download, the page stayed as it was")
                .await;
        }
        match (text("errorText"), status) {
            (Some("net::ERR_ABORTED"), Some(status)) => {
                return self
                    .page_result(&format!(
                        "the server answered {status} without a page, the page stayed as it was"
                    ))
                    .await;
            }
            (Some(error), _) => {
                return Err(Problem::refused(format!(
                    "{url} could not be opened: {error}"
                )));
            }
            _ => {}
        }
        if loader.is_some() {
            self.loaded(Instant::now() + DOCUMENT).await?;
        }
        self.page_result("").await
    }

    /// The same for a tab that was entered after its document had come, and whose
    /// status is only the document's own to tell.
    pub(crate) async fn tab_result(&mut self, first: &str) -> Result<String, Problem> {
        if self.wire.watch.navigation.status().is_none() {
            let frame = self.main_frame().await?;
            let status = self.ask(&frame, "httpStatus", &[]).await?.as_u64();
            if let Some(status) = status.filter(|status| *status > 0) {
                self.notes.insert(0, format!("status: {status}"));
            }
        }
        self.page_result(first).await
    }

    /// `url`, `title`, `status` and what else is to be told, one a line.
    pub(crate) async fn page_result(&mut self, first: &str) -> Result<String, Problem> {
        let mut attempt = 0;
        let (url, title) = loop {
            match self.where_it_is().await {
                Err(Problem::Moved) if attempt < 10 => {
                    attempt += 1;
                    self.wire.linger(Duration::from_millis(100)).await?;
                }
                other => break other?,
            }
        };
        let mut lines = Vec::new();
        if !first.is_empty() {
            lines.push(first.to_owned());
        }
        lines.push(format!("url: {url}"));
        lines.push(format!("title: {title}"));
        if let Some((status, text)) = self.wire.watch.navigation.status() {
            lines.push(format!("status: {status} {text}").trim_end().to_owned());
        }
        lines.append(&mut self.take_notes());
        Ok(lines.join("\n"))
    }
}
