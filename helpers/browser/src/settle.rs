//! Waiting after an action, only as long as the page shows that something is coming.

use std::time::Duration;

use tokio::time::Instant;

use crate::problem::Problem;
use crate::session::Session;
use crate::watch::Watch;

/// How long a navigation may take to its first document.
const COMMIT: Duration = Duration::from_secs(10);
/// How long the load event is waited for after the document is there.
const LOAD: Duration = Duration::from_secs(5);
/// How long requests of the page's scripts are waited for.
const REQUESTS: Duration = Duration::from_millis(1500);
/// How long a page may take to act on an answer.
const AFTERMATH: Duration = Duration::from_millis(200);
/// How long a download is waited for.
const DOWNLOAD: Duration = Duration::from_secs(10);
/// How long a download may take to begin after a click.
const BEGINNING: Duration = Duration::from_millis(50);
/// How long a window or navigation that was asked for may take to begin.
const WINDOW: Duration = Duration::from_secs(1);

impl Session {
    /// Waits for DOMContentLoaded of the newest document, then a bounded while for its load.
    pub(crate) async fn loaded(&mut self, document_by: Instant) -> Result<(), Problem> {
        self.doing = "waiting for the page to load";
        let there = |watch: &Watch| {
            !watch.navigation.pending && watch.navigation.has_reached("DOMContentLoaded")
        };
        if !self.wire.wait_until(document_by, there).await? {
            self.notes
                .push("still loading: the document is not complete yet".to_owned());
            return Ok(());
        }
        let whole =
            |watch: &Watch| !watch.navigation.pending && watch.navigation.has_reached("load");
        if !self.wire.wait_until(Instant::now() + LOAD, whole).await? {
            self.notes
                .push("still loading: the page is usable, parts of it are missing".to_owned());
        }
        Ok(())
    }

    /// After an action: follows the navigation it began, the requests it sent,
    /// the tab it opened. Answers how many documents came and whether the tab is another.
    pub(crate) async fn settle(&mut self, commits_before: u64) -> Result<Settled, Problem> {
        self.doing = "waiting for what the action began";
        let moving = |watch: &Watch| {
            let navigation = &watch.navigation;
            navigation.requested || navigation.pending || navigation.commits > commits_before
        };
        if !moving(&self.wire.watch) && !self.wire.watch.requests.is_empty() {
            let quiet = |watch: &Watch| {
                watch.requests.is_empty() || moving(watch) || !watch.new_pages.is_empty()
            };
            self.wire
                .wait_until(Instant::now() + REQUESTS, quiet)
                .await?;
            // What a page does with an answer, it does shortly after.
            let follows = |watch: &Watch| moving(watch) || !watch.new_pages.is_empty();
            self.wire
                .wait_until(Instant::now() + AFTERMATH, follows)
                .await?;
        }
        if self.wire.watch.windows > 0 && self.wire.watch.new_pages.is_empty() {
            self.wire
                .wait_until(Instant::now() + WINDOW, |watch| !watch.new_pages.is_empty())
                .await?;
        }
        if !self.wire.watch.new_pages.is_empty() && self.new_tab().await? {
            return Ok(Settled::NewTab);
        }
        if self.wire.watch.navigation.requested {
            let begun = |watch: &Watch| watch.navigation.pending || !watch.navigation.requested;
            self.wire.wait_until(Instant::now() + WINDOW, begun).await?;
        }
        if self.wire.watch.navigation.pending {
            self.wire
                .wait_until(Instant::now() + COMMIT, |watch| !watch.navigation.pending)
                .await?;
        }
        if self.wire.watch.navigation.fruitless {
            // What it came to instead of a document is told after its end.
            let came = |watch: &Watch| {
                let navigation = &watch.navigation;
                navigation.commits > commits_before
                    || matches!(navigation.answered, Some(204 | 205))
                    || !watch.downloads.is_empty()
            };
            self.wire
                .wait_until(Instant::now() + AFTERMATH, came)
                .await?;
        }
        self.downloads_done().await?;
        if self.wire.watch.navigation.commits > commits_before {
            self.loaded(Instant::now() + COMMIT).await?;
            return Ok(Settled::Navigated);
        }
        if self.wire.watch.navigation.pending {
            self.notes
                .push("still loading: the server has not answered yet".to_owned());
        }
        Ok(Settled::Here)
    }

    /// Moves to the tab that was opened. One that closes again, such as that of a
    /// download, leaves the call where it was.
    async fn new_tab(&mut self) -> Result<bool, Problem> {
        let from = self.wire.watch.target.clone();
        let opener = self.memory.opener.clone();
        let stays = match self.follow_new_tab().await {
            Ok(true) => self.new_tab_loaded().await.map(|()| true),
            other => other,
        };
        match (stays, from) {
            (Ok(true), _) => return Ok(true),
            (Err(Problem::Closed), Some(from)) => self.come_back(from, opener).await?,
            (Ok(false), _) => {}
            (Err(problem), _) => return Err(problem),
        }
        let begun = |watch: &Watch| !watch.downloads.is_empty();
        self.wire
            .wait_until(Instant::now() + AFTERMATH, begun)
            .await?;
        Ok(false)
    }

    /// A tab attached after its document came has no lifecycle events to wait for.
    async fn new_tab_loaded(&mut self) -> Result<(), Problem> {
        let until = Instant::now() + COMMIT;
        while Instant::now() < until {
            let frame = match self.main_frame().await {
                Ok(frame) => frame,
                Err(Problem::Moved) => {
                    self.wire.linger(Duration::from_millis(50)).await?;
                    continue;
                }
                Err(problem) => return Err(problem),
            };
            match self.ask(&frame, "place", &[]).await {
                Ok(place) => {
                    let url = place
                        .get("url")
                        .and_then(serde_json::Value::as_str)
                        .unwrap_or_default();
                    let state = place
                        .get("state")
                        .and_then(serde_json::Value::as_str)
                        .unwrap_or_default();
                    let blank = url == "about:blank"
                        && (self.wire.watch.navigation.pending || self.wire.watch.windows > 0);
                    if state == "complete" && !blank {
                        return Ok(());
                    }
                    // A window opened on about:blank may be meant to stay so.
                    self.wire.watch.windows = self.wire.watch.windows.saturating_sub(1);
                }
                Err(Problem::Moved) => {}
                Err(problem) => return Err(problem),
            }
            self.wire.linger(Duration::from_millis(100)).await?;
        }
        self.notes
            .push("still loading: the new tab is not complete yet".to_owned());
        Ok(())
    }

    /// A short while in which a download begins that no navigation announced, such as
    /// that of a link the page made itself.
    pub(crate) async fn download_begins(&mut self, clicked: Instant) -> Result<(), Problem> {
        let begun = |watch: &Watch| {
            let navigation = &watch.navigation;
            navigation.requested || navigation.pending || !watch.downloads.is_empty()
        };
        match self.wire.wait_until(clicked + BEGINNING, begun).await {
            // What became of the tab, the next step tells.
            Ok(_) | Err(Problem::Closed) => Ok(()),
            Err(problem) => Err(problem),
        }
    }

    /// Waits for the download that a navigation turned out to be.
    pub(crate) async fn download_comes(&mut self) -> Result<(), Problem> {
        self.wire
            .wait_until(Instant::now() + WINDOW, |watch| !watch.downloads.is_empty())
            .await?;
        self.downloads_done().await
    }

    /// Waits for downloads that began, a bounded while.
    pub(crate) async fn downloads_done(&mut self) -> Result<(), Problem> {
        let done = |watch: &Watch| {
            watch
                .downloads
                .iter()
                .all(|download| download.state != "inProgress")
        };
        self.wire
            .wait_until(Instant::now() + DOWNLOAD, done)
            .await
            .map(|_| ())
    }
}

/// What an action led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The same document.
    Here,
    /// Another document in the same tab.
    Navigated,
    /// Another tab, which is the current one now.
    NewTab,
}
