//! After an action: where it led, told in the same words whatever the action was.

use crate::problem::Problem;
use crate::session::Session;
use crate::settle::Settled;

/// Where the tab stood before the action.
pub(crate) struct Before {
    commits: u64,
    url: String,
}

impl Before {
    /// What came while the element was waited for is not the action's doing.
    pub(crate) fn renew(&mut self, session: &Session) {
        self.commits = session.wire.watch.navigation.commits;
    }

    /// Whether another document came, or is coming, since.
    pub(crate) fn left(&self, session: &Session) -> bool {
        let navigation = &session.wire.watch.navigation;
        navigation.requested || navigation.pending || navigation.commits > self.commits
    }

    /// Whether the tab's address is another one now.
    pub(crate) fn is_elsewhere(&self, now: &str) -> bool {
        self.url != now
    }
}

impl Session {
    /// Remembers where the tab stands; what it did before this is not the action's doing.
    pub(crate) async fn before(&mut self) -> Result<Before, Problem> {
        Ok(Before {
            commits: self.wire.watch.navigation.commits,
            url: self.address().await?,
        })
    }

    /// What came before the action's first event is not its doing.
    pub(crate) fn forget_the_past(&mut self) {
        let watch = &mut self.wire.watch;
        watch.requests.clear();
        watch.new_pages.clear();
        watch.navigation.answered = None;
        watch.navigation.fruitless = false;
        watch.windows = 0;
    }

    /// Waits for what the action began.
    pub(crate) async fn settle_since(&mut self, before: &Before) -> Result<Settled, Problem> {
        self.settle(before.commits).await
    }

    /// Waits for what the action began; `first` says what was done, `lines` what
    /// it did inside of the page.
    pub(crate) async fn after(
        &mut self,
        before: &Before,
        first: &str,
        lines: Vec<String>,
    ) -> Result<String, Problem> {
        match self.after_in_tab(before, first, lines).await {
            Err(Problem::Closed) => Ok(self.closed_by(first)),
            other => other,
        }
    }

    async fn after_in_tab(
        &mut self,
        before: &Before,
        first: &str,
        lines: Vec<String>,
    ) -> Result<String, Problem> {
        match self.settle_since(before).await? {
            Settled::NewTab => {
                let first = format!("{first}: it opened a new tab, which is the current one now");
                self.tab_result(&first).await
            }
            Settled::Navigated => {
                self.page_result(&format!("{first}: it opened another page"))
                    .await
            }
            Settled::Here => {
                let mut told = vec![first.to_owned()];
                told.extend(lines);
                let now = self.address().await?;
                if let Some(status @ (204 | 205)) = self.wire.watch.navigation.answered {
                    told.push(format!("note: the server answered {status} without a page, the page stayed as it was"));
                }
                if before.is_elsewhere(&now) {
                    told.push(format!("url: {now}"));
                }
                told.append(&mut self.take_notes());
                Ok(told.join("\n"))
            }
        }
    }

    /// The result of an action whose page does not come to an end with it.
    pub(crate) fn busy_with(&mut self, first: &str) -> String {
        let mut lines = vec![format!(
            "{first}: the page is still busy with it after 10 s; look again with browser_snapshot"
        )];
        lines.append(&mut self.take_notes());
        lines.join("\n")
    }

    /// The result of an action that closed its tab.
    pub(crate) fn closed_by(&mut self, first: &str) -> String {
        let mut lines = vec![format!(
            "{first}: it closed the tab; browser_snapshot shows the one that is left"
        )];
        lines.append(&mut self.take_notes());
        lines.join("\n")
    }
}
