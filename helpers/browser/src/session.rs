//! A call's session: the connection, the tab it works in, and what is to be told at the end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chromiumoxide::Command;
use chromiumoxide::cdp::browser_protocol::browser::{
    SetDownloadBehaviorBehavior, SetDownloadBehaviorParams,
};
use chromiumoxide::cdp::browser_protocol::input::{
    DispatchMouseEventParams, DispatchMouseEventType, MouseButton,
};
use chromiumoxide::cdp::js_protocol::runtime::TerminateExecutionParams;

use crate::downloads::{self, FOLDER as DOWNLOADS};
use crate::endpoint;
use crate::frame::SCRIPT;
use crate::keys::Key;
use crate::memory::Memory;
use crate::problem::Problem;
use crate::watch::shortened;
use crate::wire::Wire;

/// Everything one call works with.
pub struct Session {
    pub(crate) wire: Wire,
    pub(crate) home: PathBuf,
    pub(crate) memory: Memory,
    /// The same as it stands in the home.
    stored: Memory,
    /// Lines for the end of the result.
    pub(crate) notes: Vec<String>,
    /// What the call is busy with, for the sentence at its limit.
    pub(crate) doing: &'static str,
    /// The tab's address, and how often it had moved by then.
    pub(crate) place: Option<(String, u64)>,
    /// A mouse button went down at this point and has not come up.
    pub(crate) pressed: Option<(f64, f64)>,
    /// A key went down and has not come up.
    pub(crate) held: Option<Key>,
    /// A script of the caller's is running in the page.
    pub(crate) running: bool,
    /// Bytes of the answer that never left the page.
    pub(crate) left_out: u64,
}

impl Session {
    /// Connects to the Chrome at 127.0.0.1:`port` and makes downloads land in the home.
    ///
    /// # Errors
    /// A refusal when Chrome doesn't answer.
    pub async fn connect(port: u16, home: &Path) -> Result<Self, Problem> {
        let stored = Memory::load(home);
        let mut memory = stored.clone();
        let mut wire = endpoint::connect(port, &mut memory.browser).await?;
        let mut downloads = SetDownloadBehaviorParams::new(SetDownloadBehaviorBehavior::Allow);
        downloads.download_path = Some(home.join(DOWNLOADS).to_string_lossy().into_owned());
        downloads.events_enabled = Some(true);
        wire.send(None, downloads)?;
        memory.worlds = memory.worlds.holding(SCRIPT);
        let notes = downloads::news(home, &mut memory.downloaded);
        Ok(Self {
            wire,
            home: home.to_owned(),
            memory,
            stored,
            notes,
            doing: "connecting to the browser",
            place: None,
            pressed: None,
            held: None,
            running: false,
            left_out: 0,
        })
    }

    /// Leaves for the next call what this one knows, unless that is what was left already.
    ///
    /// # Errors
    /// A refusal when the home can't be written to.
    pub(crate) fn keep_memory(&mut self) -> Result<(), Problem> {
        if self.memory != self.stored {
            self.memory.store(&self.home)?;
            self.stored = self.memory.clone();
        }
        Ok(())
    }

    /// The DevTools session of the current tab.
    pub(crate) fn tab(&self) -> Result<String, Problem> {
        self.wire
            .watch
            .session
            .clone()
            .ok_or_else(|| Problem::Failed("no tab is attached".to_owned()))
    }

    /// Sends any DevTools command to the current tab and waits briefly, not for its reply.
    ///
    /// # Errors
    /// When the connection ended.
    pub async fn send<C: Command>(&mut self, command: C) -> Result<(), Problem> {
        let session = self.tab()?;
        self.wire.send(Some(&session), command)?;
        match self.wire.linger(Duration::from_millis(200)).await {
            Err(Problem::Crashed | Problem::Closed) | Ok(()) => Ok(()),
            Err(problem) => Err(problem),
        }
    }

    /// Lets go of what a cut-off call left: a mouse button or key that is down, a
    /// script that runs.
    pub(crate) async fn release(&mut self) -> Result<(), Problem> {
        let Some(session) = self.wire.watch.session.clone() else {
            return Ok(());
        };
        let at = Some(session.as_str());
        let mut last = None;
        if std::mem::take(&mut self.running) {
            last = Some(self.wire.submit(at, TerminateExecutionParams::default())?);
        }
        if let Some((x, y)) = self.pressed.take() {
            let up = mouse(DispatchMouseEventType::MouseReleased, x, y);
            last = Some(self.wire.submit(at, up)?);
        }
        if let Some(key) = self.held.take() {
            last = Some(self.wire.submit(at, key.up())?);
        }
        match last {
            Some(ticket) => self.wire.reply(ticket).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Lines on what happened beside the answer, each once.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .wire
            .watch
            .take_dialogs()
            .into_iter()
            .map(|dialog| format!("dialog: {dialog}"))
            .collect();
        for download in std::mem::take(&mut self.wire.watch.downloads) {
            let name = match &download.path {
                Some(path) => path.rsplit('/').next().unwrap_or_default().to_owned(),
                None => download.name.clone(),
            };
            downloads::told(&self.home, &name, &mut self.memory.downloaded);
            let place = format!("{DOWNLOADS}/{}", shortened(&name, 200));
            lines.push(match download.state.as_str() {
                "completed" => format!("download: saved as {place}, {} bytes", download.bytes),
                "canceled" => format!(
                    "download: of {place} was cancelled after {} bytes",
                    download.bytes
                ),
                _ => format!(
                    "download: to {place} is still under way, {} bytes so far",
                    download.bytes
                ),
            });
        }
        if std::mem::take(&mut self.wire.watch.file_choosers) > 0 {
            lines.push("file chooser: the page asked for a file; it was cancelled, no tool can choose one here".to_owned());
        }
        lines.append(&mut self.notes);
        lines
    }
}

/// A left-button mouse event at a point of the viewport, in CSS pixels.
pub(crate) fn mouse(kind: DispatchMouseEventType, x: f64, y: f64) -> DispatchMouseEventParams {
    let mut params = DispatchMouseEventParams::new(kind.clone(), x, y);
    if kind != DispatchMouseEventType::MouseMoved {
        params.button = Some(MouseButton::Left);
        params.buttons = Some(i64::from(kind == DispatchMouseEventType::MousePressed));
        params.click_count = Some(1);
    }
    params
}
