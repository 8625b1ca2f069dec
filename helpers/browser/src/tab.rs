//! The current tab: which it is, attaching to it alone, and following a new one.

use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::emulation::SetFocusEmulationEnabledParams;
use chromiumoxide::cdp::browser_protocol::page::{
    self, GetFrameTreeParams, GetNavigationHistoryParams, NavigateParams,
    SetInterceptFileChooserDialogParams, SetLifecycleEventsEnabledParams,
};
use chromiumoxide::cdp::browser_protocol::target::{
    AttachToTargetParams, CloseTargetParams, CreateTargetParams, DetachFromTargetParams,
    FilterEntry, GetTargetsParams, SessionId, SetDiscoverTargetsParams, TargetFilter,
};
use chromiumoxide::cdp::browser_protocol::{inspector, network};
use chromiumoxide::cdp::js_protocol::runtime::RunIfWaitingForDebuggerParams;
use serde_json::Value;
use tokio::time::timeout;

use crate::problem::Problem;
use crate::session::Session;
use crate::snapshot::current_entry;
use crate::watch::is_internal;
use crate::wire::auto_attach;

/// A healthy tab answers in milliseconds.
const FIRST_ANSWER: Duration = Duration::from_secs(3);
/// One that had to be freed of a dialog, or has just been opened, may take longer.
const ANSWER: Duration = Duration::from_secs(4);
/// Tabs that a call leaves to the next one to know.
const MOST_KNOWN: usize = 200;

/// A page target as Chrome lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Page {
    target: String,
    opener: Option<String>,
    url: String,
}

impl Session {
    /// Attaches to the current tab, makes one when there is none; `fresh_if_stuck`
    /// replaces a tab that does not answer by a new one.
    ///
    /// # Errors
    /// Refusals when the tab crashed or does not answer.
    pub async fn open_tab(&mut self, fresh_if_stuck: bool) -> Result<(), Problem> {
        self.doing = "looking for the current tab";
        let mut discover = SetDiscoverTargetsParams::new(true);
        discover.filter = Some(pages_only());
        self.wire.send(None, discover)?;
        let list = GetTargetsParams {
            filter: Some(pages_only()),
        };
        let list = self.wire.submit(None, list)?;
        // Most often the tab of the last call is the one, so it is entered in the same breath.
        let guess = self.memory.current.clone();
        let entering = match &guess {
            Some(target) => Some(self.wire.submit(None, attach_to(target))?),
            None => None,
        };
        let reply = self.wire.result("Target.getTargets", list).await?;
        // Those listed now are not news; what comes later is.
        self.wire.watch.new_pages.clear();
        let entered = match entering {
            // It may be closed since.
            Some(ticket) => self.wire.reply(ticket).await?.ok(),
            None => None,
        };
        let entered = entered.as_ref().and_then(session_of);
        let pages = pages_of(&reply);
        let (chosen, note) = choose(
            &pages,
            &self.memory.current,
            &self.memory.opener,
            &self.memory.known,
        );
        self.notes.extend(note);
        let target = match chosen {
            Some(page) => page,
            None => Page {
                target: self.new_target().await?,
                opener: None,
                url: "about:blank".to_owned(),
            },
        };
        let entered = match entered {
            Some(session) if guess.as_ref() != Some(&target.target) => {
                self.detach(session)?;
                None
            }
            other => other,
        };
        let stuck = match self.enter_tab(&target, entered).await {
            Ok(()) => None,
            Err(Problem::Crashed) => Some(Problem::Crashed),
            Err(Problem::Stuck) => Some(Problem::refused(format!(
                "the tab at {} does not answer; open another page with browser_navigate",
                target.url
            ))),
            Err(problem) => return Err(problem),
        };
        match stuck {
            None => self.remember(&pages, &target),
            Some(problem) if !fresh_if_stuck => return Err(problem),
            Some(problem) => self.replace(&pages, &target, &problem).await?,
        }
        self.keep_memory()
    }

    /// A new tab in place of one that is of no use any more.
    async fn replace(
        &mut self,
        pages: &[Page],
        old: &Page,
        problem: &Problem,
    ) -> Result<(), Problem> {
        self.wire.watch.leave();
        let why = if matches!(problem, Problem::Crashed) {
            self.wire
                .send(None, CloseTargetParams::new(old.target.clone()))?;
            "had crashed"
        } else {
            "did not answer"
        };
        self.notes.push(format!(
            "tab: the one at {} {why}, a new tab took its place",
            old.url
        ));
        let fresh = Page {
            target: self.new_target().await?,
            opener: None,
            url: String::new(),
        };
        self.attach(&fresh.target, None).await?;
        self.remember(pages, &fresh);
        Ok(())
    }

    fn remember(&mut self, pages: &[Page], current: &Page) {
        self.memory.current = Some(current.target.clone());
        self.memory.opener = current.opener.clone();
        self.memory.known = pages
            .iter()
            .map(|page| page.target.clone())
            .take(MOST_KNOWN)
            .collect();
        if !self.memory.known.contains(&current.target) {
            self.memory.known.push(current.target.clone());
        }
    }

    fn detach(&mut self, session: String) -> Result<(), Problem> {
        let detach = DetachFromTargetParams {
            session_id: Some(SessionId::new(session)),
        };
        self.wire.send(None, detach).map(|_| ())
    }

    async fn new_target(&mut self) -> Result<String, Problem> {
        let reply = self
            .wire
            .call(None, CreateTargetParams::new("about:blank"))
            .await?;
        let target = reply
            .get("targetId")
            .and_then(Value::as_str)
            .map(str::to_owned);
        self.wire.watch.new_pages.clear();
        target.ok_or_else(|| Problem::Failed("Target.createTarget answered no target".to_owned()))
    }

    /// Attaches to one target, unless `entered` is a session of it already, and switches on
    /// what a call listens to.
    async fn attach(&mut self, target: &str, entered: Option<String>) -> Result<(), Problem> {
        let session = match entered {
            Some(session) => session,
            None => {
                let reply = self.wire.call(None, attach_to(target)).await?;
                session_of(&reply).ok_or_else(|| {
                    Problem::Failed("Target.attachToTarget answered no session".to_owned())
                })?
            }
        };
        self.wire.watch.follow(session.clone(), target.to_owned());
        let at = Some(session.as_str());
        // All in one go: their replies come in order, so the last one means all are on.
        self.wire
            .send(at, RunIfWaitingForDebuggerParams::default())?;
        self.wire.send(at, inspector::EnableParams::default())?;
        self.wire.send(at, page::EnableParams::default())?;
        self.wire
            .send(at, SetLifecycleEventsEnabledParams::new(true))?;
        self.wire.send(at, network::EnableParams::default())?;
        self.wire
            .send(at, SetFocusEmulationEnabledParams::new(true))?;
        let mut choosers = SetInterceptFileChooserDialogParams::new(true);
        choosers.cancel = Some(true);
        self.wire.send(at, choosers)?;
        self.wire.send(at, auto_attach())?;
        self.read_main_frame().await
    }

    async fn read_main_frame(&mut self) -> Result<(), Problem> {
        let session = self.tab()?;
        let at = Some(session.as_str());
        let tree = self.wire.submit(at, GetFrameTreeParams::default())?;
        let history = self
            .wire
            .submit(at, GetNavigationHistoryParams::default())?;
        let tree = self.wire.result("Page.getFrameTree", tree).await?;
        let frame = tree.pointer("/frameTree/frame/id").and_then(Value::as_str);
        let loader = tree
            .pointer("/frameTree/frame/loaderId")
            .and_then(Value::as_str);
        self.wire.watch.main_frame = frame.map(str::to_owned);
        self.wire.watch.navigation.loader = loader.map(str::to_owned);
        let moves = self.wire.watch.navigation.moves;
        // A tab between two pages has none to tell; then it is asked when it is needed.
        let history = self.wire.reply(history).await?.ok();
        self.place = history.map(|history| (current_entry(&history).0, moves));
        Ok(())
    }

    /// Attaches; a tab held up by a dialog that opened between two calls is freed.
    async fn enter_tab(&mut self, page: &Page, entered: Option<String>) -> Result<(), Problem> {
        let attach = self.attach(&page.target, entered);
        if let Ok(attached) = timeout(FIRST_ANSWER, attach).await {
            return attached;
        }
        let Ok(session) = self.tab() else {
            return Err(Problem::Stuck);
        };
        // Chrome shows such a dialog to no new session, but a navigation inside
        // the document dismisses it and leaves the document as it is.
        let here = if page.url.contains('#') {
            page.url.clone()
        } else {
            format!("{}#", page.url)
        };
        self.wire.send(Some(&session), NavigateParams::new(here))?;
        timeout(ANSWER, self.read_main_frame())
            .await
            .map_err(|_| Problem::Stuck)??;
        if self.wire.watch.dialog_closed {
            self.notes
                .push("dialog: one that opened since the last call was dismissed".to_owned());
        }
        Ok(())
    }

    /// Moves to a tab that the call opened; false when it is gone again.
    pub(crate) async fn follow_new_tab(&mut self) -> Result<bool, Problem> {
        let watch = &mut self.wire.watch;
        let opened = std::mem::take(&mut watch.new_pages);
        let Some((target, _)) = opened
            .into_iter()
            .rev()
            .find(|(target, _)| !watch.gone_pages.contains(target))
        else {
            return Ok(false);
        };
        let from = watch.target.clone();
        let left = watch.session.clone();
        watch.leave();
        if let Some(session) = left {
            self.detach(session)?;
        }
        match timeout(ANSWER, self.attach(&target, None)).await {
            Ok(attached) => attached?,
            Err(_) => {
                return Err(Problem::refused(
                    "a new tab opened and does not answer; open a page with browser_navigate",
                ));
            }
        }
        self.memory.opener = from;
        self.memory.known.push(target.clone());
        self.memory.current = Some(target);
        self.keep_memory()?;
        Ok(true)
    }

    /// Back to the tab the call left for one that is gone again.
    pub(crate) async fn come_back(
        &mut self,
        target: String,
        opener: Option<String>,
    ) -> Result<(), Problem> {
        self.wire.watch.leave();
        match timeout(ANSWER, self.attach(&target, None)).await {
            Ok(Ok(())) => {}
            // It closed as well.
            Ok(Err(Problem::Failed(_))) => return Err(Problem::Closed),
            Ok(Err(problem)) => return Err(problem),
            Err(_) => return Err(Problem::Stuck),
        }
        self.memory.current = Some(target);
        self.memory.opener = opener;
        self.keep_memory()
    }
}

fn attach_to(target: &str) -> AttachToTargetParams {
    let mut params = AttachToTargetParams::new(target.to_owned());
    params.flatten = Some(true);
    params
}

fn session_of(attached: &Value) -> Option<String> {
    attached
        .get("sessionId")
        .and_then(Value::as_str)
        .map(str::to_owned)
}

fn pages_only() -> TargetFilter {
    TargetFilter::new(vec![FilterEntry {
        exclude: None,
        r#type: Some("page".to_owned()),
    }])
}

fn pages_of(reply: &Value) -> Vec<Page> {
    let text = |info: &Value, key: &str| {
        info.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let infos = reply
        .get("targetInfos")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    infos
        .iter()
        .filter(|info| text(info, "type") == "page" && !is_internal(&text(info, "url")))
        .map(|info| Page {
            target: text(info, "targetId"),
            opener: Some(text(info, "openerId")).filter(|id| !id.is_empty()),
            url: text(info, "url"),
        })
        .collect()
}

/// The tab opened since the last call, else the last one, else the one that
/// opened it, else the first that Chrome lists; with a line to tell when that
/// is not the tab the caller knows.
fn choose(
    pages: &[Page],
    current: &Option<String>,
    opener: &Option<String>,
    known: &[String],
) -> (Option<Page>, Option<String>) {
    let find = |id: &Option<String>| pages.iter().find(|page| Some(&page.target) == id.as_ref());
    if let Some(last) = find(current) {
        let newer = pages
            .iter()
            .find(|page| page.opener == *current && !known.contains(&page.target));
        return match newer {
            Some(page) => (
                Some(page.clone()),
                Some(format!(
                    "tab: {} opened a new tab since the last call, it is the current one now",
                    last.url
                )),
            ),
            None => (Some(last.clone()), None),
        };
    }
    let left = find(opener).or_else(|| pages.first());
    let survived = known
        .iter()
        .any(|id| pages.iter().any(|page| page.target == *id));
    let note = match (current, left) {
        (Some(_), Some(page)) if survived => Some(format!(
            "tab: the one used last was closed, the current one is {}",
            page.url
        )),
        _ => None,
    };
    (left.cloned(), note)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(target: &str, opener: Option<&str>) -> Page {
        Page {
            target: target.to_owned(),
            opener: opener.map(str::to_owned),
            url: format!("http://{target}/"),
        }
    }

    fn check(
        pages: &[Page],
        current: Option<&str>,
        opener: Option<&str>,
        known: &[&str],
        expected: Option<&str>,
        told: bool,
    ) {
        let known: Vec<String> = known.iter().map(|id| (*id).to_owned()).collect();
        let (chosen, note) = choose(
            pages,
            &current.map(str::to_owned),
            &opener.map(str::to_owned),
            &known,
        );
        assert_eq!(chosen.map(|page| page.target).as_deref(), expected);
        assert_eq!(note.is_some(), told);
    }

    #[test]
    fn the_last_tab_stays_the_current_one() {
        check(
            &[page("a", None), page("b", None)],
            Some("b"),
            None,
            &["a", "b"],
            Some("b"),
            false,
        );
    }

    #[test]
    fn a_tab_opened_since_is_followed_and_told() {
        check(
            &[page("a", None), page("c", Some("a"))],
            Some("a"),
            None,
            &["a"],
            Some("c"),
            true,
        );
    }

    #[test]
    fn a_closed_tab_gives_way_to_its_opener_and_is_told() {
        check(
            &[page("x", None), page("a", None)],
            Some("b"),
            Some("a"),
            &["x", "a", "b"],
            Some("a"),
            true,
        );
    }

    #[test]
    fn after_a_new_start_of_chrome_the_first_page_is_taken() {
        check(
            &[page("n", None)],
            Some("old"),
            None,
            &["old"],
            Some("n"),
            false,
        );
        check(&[], Some("old"), None, &["old"], None, false);
    }
}
