//! What Chrome's events said so far: dialogs, downloads, new tabs, frames and where a navigation stands.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::event::Event;
use crate::problem::Problem;

/// Most entries kept of any one kind; a page can make as many as it likes.
const MOST: usize = 200;

/// Something that must be answered at once, or Chrome waits.
#[derive(Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Answer the dialog of a session.
    AnswerDialog {
        session: Option<String>,
        accept: bool,
    },
    /// Let a frame's session run and report its own frames and dialogs.
    Welcome { session: String },
}

/// A download the page began.
#[derive(Debug, Clone, Default)]
pub struct Download {
    /// Chrome's id of it.
    pub guid: String,
    /// Name the server or page suggested.
    pub name: String,
    /// Where Chrome put it, once it says so.
    pub path: Option<String>,
    /// inProgress, completed or canceled.
    pub state: String,
    /// Bytes so far.
    pub bytes: u64,
}

/// Where the main frame's navigation stands.
#[derive(Debug, Default)]
pub struct Navigation {
    /// The page asked for one; some, such as `mailto:`, never start.
    pub requested: bool,
    /// One has started and has neither committed nor come to nothing.
    pub pending: bool,
    /// One ended without a document since the action began: a download, or an answer without a page.
    pub fruitless: bool,
    /// Documents committed since the tab was attached.
    pub commits: u64,
    /// The same and changes of the address within a document.
    pub moves: u64,
    /// Loader of the newest document.
    pub loader: Option<String>,
    /// HTTP status that was answered last, whether or not a document came of it.
    pub answered: Option<u64>,
    /// Lifecycle events of the newest document.
    reached: HashSet<String>,
    /// HTTP status and its text, by loader.
    statuses: HashMap<String, (u64, String)>,
}

impl Navigation {
    /// The newest document has reached this lifecycle event.
    pub fn has_reached(&self, event: &str) -> bool {
        self.reached.contains(event)
    }

    /// HTTP status of the newest document; none for `about:blank` and what came from no server.
    pub fn status(&self) -> Option<&(u64, String)> {
        self.statuses.get(self.loader.as_ref()?)
    }

    /// HTTP status of the document this loader asked for.
    pub fn status_of(&self, loader: &str) -> Option<&(u64, String)> {
        self.statuses.get(loader)
    }
}

/// Everything the events of a call added up to.
#[derive(Debug, Default)]
pub struct Watch {
    /// Session of the tab that is worked in.
    pub session: Option<String>,
    /// Target of that tab.
    pub target: Option<String>,
    /// Main frame of that tab.
    pub main_frame: Option<String>,
    /// Navigation of its main frame.
    pub navigation: Navigation,
    /// Sessions of out-of-process frames, by frame id.
    pub frame_sessions: HashMap<String, String>,
    /// Sentences on dialogs that were answered, not yet told.
    pub dialogs: Vec<String>,
    /// Downloads begun, in order.
    pub downloads: Vec<Download>,
    /// Page targets that appeared: id and opener.
    pub new_pages: Vec<(String, Option<String>)>,
    /// Page targets that went.
    pub gone_pages: HashSet<String>,
    /// A dialog went away.
    pub dialog_closed: bool,
    /// File choosers that were asked for.
    pub file_choosers: u32,
    /// Windows that scripts or links asked to open.
    pub windows: u32,
    /// Requests under way that a page waits for.
    pub requests: HashSet<String>,
    /// The tab's renderer died.
    pub crashed: bool,
    /// The tab was closed, or its session ended.
    pub closed: bool,
    answered: HashMap<String, usize>,
}

impl Watch {
    /// Starts anew for another tab; dialogs and downloads stay to be told.
    pub fn follow(&mut self, session: String, target: String) {
        self.session = Some(session);
        self.target = Some(target);
        self.main_frame = None;
        self.navigation = Navigation::default();
        self.frame_sessions.clear();
        self.requests.clear();
        self.crashed = false;
        self.closed = false;
    }

    /// An error when the tab that is worked in crashed or was closed.
    pub fn lost(&self) -> Result<(), Problem> {
        match (self.crashed, self.closed) {
            (true, _) => Err(Problem::Crashed),
            (false, true) => Err(Problem::Closed),
            (false, false) => Ok(()),
        }
    }

    /// No tab is worked in any more.
    pub fn leave(&mut self) {
        self.session = None;
        self.target = None;
        self.crashed = false;
        self.closed = false;
    }

    /// Takes an event in; answers what must be done at once.
    pub fn take(&mut self, event: &Event) -> Option<Reaction> {
        let mine = event.session.is_some() && event.session == self.session;
        match event.method.as_str() {
            "Page.javascriptDialogOpening" => return Some(self.dialog(event)),
            "Target.attachedToTarget" => return self.attached(event),
            "Target.detachedFromTarget" => {
                let session = event.text("/sessionId");
                self.frame_sessions.retain(|_, of| of != session);
                self.closed |= self.session.as_deref() == Some(session);
            }
            "Target.targetCreated" => self.created(event),
            "Target.targetDestroyed" => {
                self.closed |= self.target.as_deref() == Some(event.text("/targetId"));
                if self.gone_pages.len() < MOST {
                    self.gone_pages.insert(event.text("/targetId").to_owned());
                }
            }
            "Target.targetCrashed" => {
                self.crashed |= self.target.as_deref() == Some(event.text("/targetId"))
            }
            "Inspector.targetCrashed" => self.crashed |= mine,
            "Inspector.targetReloadedAfterCrash" if mine => self.crashed = false,
            "Page.javascriptDialogClosed" => self.dialog_closed = true,
            "Page.fileChooserOpened" => self.file_choosers += 1,
            "Page.windowOpen" => self.windows += 1,
            "Browser.downloadWillBegin" => self.download_begins(event),
            "Browser.downloadProgress" => self.download_goes_on(event),
            "Network.requestWillBeSent" if mine => self.request_begins(event),
            "Network.loadingFinished" | "Network.loadingFailed" if mine => {
                self.requests.remove(event.text("/requestId"));
            }
            "Network.responseReceived" if mine => self.response(event),
            method if mine && method.starts_with("Page.") => self.page(event),
            _ => {}
        }
        None
    }

    fn dialog(&mut self, event: &Event) -> Reaction {
        let kind = event.text("/type").to_owned();
        // A prompt wants words nobody gave; everything else is what the action was for.
        let accept = kind != "prompt";
        let said = if accept { "accepted" } else { "dismissed" };
        let message = shortened(event.text("/message"), 500);
        let sentence = if kind == "beforeunload" {
            "the page asked whether to leave it: accepted".to_owned()
        } else {
            format!("{kind} {message:?} was {said}")
        };
        if self.dialogs.len() < 20 {
            self.dialogs.push(sentence);
        } else {
            *self.answered.entry(kind).or_default() += 1;
        }
        Reaction::AnswerDialog {
            session: event.session.clone(),
            accept,
        }
    }

    /// Sentences on dialogs since the last time they were asked for.
    pub fn take_dialogs(&mut self) -> Vec<String> {
        let mut said = std::mem::take(&mut self.dialogs);
        let mut more: Vec<_> = self.answered.drain().collect();
        more.sort();
        said.extend(
            more.into_iter()
                .map(|(kind, count)| format!("{count} more dialogs ({kind}) were answered")),
        );
        said
    }

    fn attached(&mut self, event: &Event) -> Option<Reaction> {
        let session = event.text("/sessionId").to_owned();
        if event.text("/targetInfo/type") != "iframe" || self.frame_sessions.len() >= MOST {
            return None;
        }
        self.frame_sessions.insert(
            event.text("/targetInfo/targetId").to_owned(),
            session.clone(),
        );
        Some(Reaction::Welcome { session })
    }

    fn created(&mut self, event: &Event) {
        let is_page =
            event.text("/targetInfo/type") == "page" && !is_internal(event.text("/targetInfo/url"));
        if is_page && self.new_pages.len() < MOST {
            let opener = event.text("/targetInfo/openerId");
            let opener = (!opener.is_empty()).then(|| opener.to_owned());
            self.new_pages
                .push((event.text("/targetInfo/targetId").to_owned(), opener));
        }
    }

    fn download_begins(&mut self, event: &Event) {
        let known = self
            .downloads
            .iter()
            .any(|download| download.guid == event.text("/guid"));
        if !known && self.downloads.len() < MOST {
            self.downloads.push(Download {
                guid: event.text("/guid").to_owned(),
                name: event.text("/suggestedFilename").to_owned(),
                state: "inProgress".to_owned(),
                ..Download::default()
            });
        }
    }

    fn download_goes_on(&mut self, event: &Event) {
        let guid = event.text("/guid");
        if let Some(download) = self
            .downloads
            .iter_mut()
            .find(|download| download.guid == guid)
        {
            event.text("/state").clone_into(&mut download.state);
            if let Some(bytes) = event.params.get("receivedBytes").and_then(Value::as_f64) {
                // Bytes come as a JSON number; a negative one would mean nothing.
                download.bytes = bytes.max(0.0) as u64;
            }
            let path = event.text("/filePath");
            if !path.is_empty() {
                download.path = Some(path.to_owned());
            }
        }
    }

    fn request_begins(&mut self, event: &Event) {
        let waited_for = matches!(event.text("/type"), "XHR" | "Fetch" | "Script" | "Document");
        if waited_for && self.requests.len() < MOST {
            self.requests.insert(event.text("/requestId").to_owned());
        }
    }

    fn response(&mut self, event: &Event) {
        let is_document = event.text("/type") == "Document"
            && Some(event.text("/frameId")) == self.main_frame.as_deref();
        let status = event
            .params
            .pointer("/response/status")
            .and_then(Value::as_u64);
        if let (true, Some(status)) = (is_document, status)
            && self.navigation.statuses.len() < MOST
        {
            let text = event.text("/response/statusText").to_owned();
            self.navigation.answered = Some(status);
            self.navigation
                .statuses
                .insert(event.text("/loaderId").to_owned(), (status, text));
        }
    }

    fn page(&mut self, event: &Event) {
        let frame = match event.method.as_str() {
            "Page.frameNavigated" => event.text("/frame/id"),
            _ => event.text("/frameId"),
        };
        if self.main_frame.as_deref() != Some(frame) {
            return;
        }
        let navigation = &mut self.navigation;
        match event.method.as_str() {
            "Page.frameRequestedNavigation" => {
                navigation.requested |= event.text("/disposition") == "currentTab";
            }
            "Page.frameStartedLoading" => navigation.pending = true,
            "Page.frameStartedNavigating" => {
                let kind = event.text("/navigationType");
                navigation.pending |=
                    !kind.starts_with("sameDocument") && !kind.ends_with("SameDocument");
            }
            "Page.frameNavigated" => {
                navigation.pending = false;
                navigation.requested = false;
                navigation.commits += 1;
                navigation.moves += 1;
                navigation.loader = Some(event.text("/frame/loaderId").to_owned());
                navigation.reached.clear();
            }
            "Page.navigatedWithinDocument" => navigation.moves += 1,
            "Page.frameStoppedLoading" => {
                navigation.fruitless |= navigation.pending || navigation.requested;
                navigation.pending = false;
                navigation.requested = false;
            }
            "Page.lifecycleEvent"
                if navigation.loader.as_deref() == Some(event.text("/loaderId"))
                    && navigation.reached.len() < MOST =>
            {
                navigation.reached.insert(event.text("/name").to_owned());
            }
            _ => {}
        }
    }
}

/// Chrome's own pages, which are no one's to work in.
pub fn is_internal(url: &str) -> bool {
    let own = url.starts_with("chrome://")
        && !url.starts_with("chrome://newtab")
        && !url.starts_with("chrome://new-tab-page");
    own || ["devtools://", "chrome-extension://", "chrome-untrusted://"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

/// At most `most` characters, with an ellipsis where some were left out.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(method: &str, params: Value) -> Event {
        Event {
            method: method.to_owned(),
            session: Some("S".to_owned()),
            params,
        }
    }

    fn watch() -> Watch {
        let mut watch = Watch::default();
        watch.follow("S".to_owned(), "T".to_owned());
        watch.main_frame = Some("F".to_owned());
        watch
    }

    #[test]
    fn a_prompt_is_dismissed_and_a_confirm_accepted() {
        let mut watch = watch();
        let answer = watch.take(&event(
            "Page.javascriptDialogOpening",
            json!({"type":"confirm","message":"Delete it?"}),
        ));
        assert_eq!(
            answer,
            Some(Reaction::AnswerDialog {
                session: Some("S".to_owned()),
                accept: true
            })
        );
        let answer = watch.take(&event(
            "Page.javascriptDialogOpening",
            json!({"type":"prompt","message":"Name?"}),
        ));
        assert_eq!(
            answer,
            Some(Reaction::AnswerDialog {
                session: Some("S".to_owned()),
                accept: false
            })
        );
        assert_eq!(
            watch.take_dialogs(),
            [
                "confirm \"Delete it?\" was accepted",
                "prompt \"Name?\" was dismissed"
            ]
        );
        assert!(watch.take_dialogs().is_empty());
    }

    #[test]
    fn a_flood_of_dialogs_is_counted() {
        let mut watch = watch();
        for _ in 0..25 {
            watch.take(&event(
                "Page.javascriptDialogOpening",
                json!({"type":"alert","message":"x"}),
            ));
        }
        let said = watch.take_dialogs();
        assert_eq!(said.len(), 21);
        assert_eq!(said[20], "5 more dialogs (alert) were answered");
    }

    #[test]
    fn a_navigation_is_pending_until_it_commits_or_stops() {
        let mut watch = watch();
        watch.take(&event(
            "Page.frameStartedNavigating",
            json!({"frameId":"F","navigationType":"differentDocument"}),
        ));
        assert!(watch.navigation.pending);
        watch.take(&event("Page.frameStoppedLoading", json!({"frameId":"F"})));
        assert!(!watch.navigation.pending);
        assert!(watch.navigation.fruitless);
        watch.take(&event(
            "Page.frameNavigated",
            json!({"frame":{"id":"F","loaderId":"L"}}),
        ));
        watch.take(&event(
            "Page.lifecycleEvent",
            json!({"frameId":"F","loaderId":"L","name":"DOMContentLoaded"}),
        ));
        assert!(watch.navigation.has_reached("DOMContentLoaded"));
        watch.navigation.fruitless = false;
        watch.take(&event("Page.frameStoppedLoading", json!({"frameId":"F"})));
        assert!(!watch.navigation.fruitless);
        assert_eq!(watch.navigation.commits, 1);
    }

    #[test]
    fn another_frames_events_do_not_count() {
        let mut watch = watch();
        watch.take(&event(
            "Page.frameNavigated",
            json!({"frame":{"id":"G","loaderId":"L"}}),
        ));
        assert_eq!(watch.navigation.commits, 0);
    }

    #[test]
    fn what_does_not_parse_does_not_matter() {
        let mut watch = watch();
        for method in [
            "Page.frameNavigated",
            "Target.attachedToTarget",
            "Network.responseReceived",
            "New.thing",
        ] {
            assert_eq!(
                watch.take(&event(method, json!({"frame":7,"targetInfo":[]}))),
                None,
                "{method}"
            );
        }
    }
}
