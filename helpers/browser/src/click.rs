//! `click`: waits until one element can be clicked, clicks it with the mouse, and tells what that did.

use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::input::DispatchMouseEventType as Mouse;
use chromiumoxide::cdp::browser_protocol::page::BringToFrontParams;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use crate::frame::Frame;
use crate::problem::Problem;
use crate::session::{Session, mouse};
use crate::settle::Settled;
use crate::target::Found;

/// How long an element may take to become clickable, at most half of the call's limit.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a page may take over the click itself.
const BUSY: Duration = Duration::from_secs(10);
/// Pauses between attempts, in milliseconds; the last one repeats.
const PAUSES_MS: [u64; 5] = [0, 20, 100, 100, 500];

/// Where to click, in the tab's viewport.
struct Ready {
    frame: Frame,
    x: f64,
    y: f64,
    label: String,
    toggles: bool,
}

/// Why an attempt came to nothing.
enum Hindrance {
    NoMatch,
    Blocked(String),
}

impl Session {
    /// Clicks the one element that `target` means.
    pub(crate) async fn click(&mut self, target: &str, limit: Duration) -> Result<String, Problem> {
        if target.trim().is_empty() {
            return Err(Problem::refused(
                "target is empty; give a CSS selector, role=… or text=… from the latest snapshot",
            ));
        }
        self.open_tab(false).await?;
        let session = self.tab()?;
        self.wire
            .send(Some(&session), BringToFrontParams::default())?;
        let patience = PATIENCE.min(limit / 2);
        let give_up = Instant::now() + patience;
        let (commits, url) = (self.wire.watch.navigation.commits, self.address().await?);
        loop {
            self.doing = "waiting for the element to be clickable";
            let ready = self.wait_for(target, patience, give_up).await?;
            let seen = match self.press(&session, &ready).await {
                Ok(seen) => seen,
                Err(Problem::Closed) => return Ok(self.closed_by(&ready.label)),
                Err(Problem::Stuck) => return Ok(self.busy_with(&ready.label)),
                Err(problem) => return Err(problem),
            };
            if seen.get("landed").and_then(Value::as_bool) == Some(false) {
                // The page moved under the mouse; the page script kept the click from it.
                if Instant::now() < give_up {
                    continue;
                }
                let why = Hindrance::Blocked("something else moves under the mouse".to_owned());
                return Err(hindered(target, why, patience));
            }
            return match self.follow_up(&ready, &seen, commits, &url).await {
                Err(Problem::Closed) => Ok(self.closed_by(&ready.label)),
                other => other,
            };
        }
    }

    async fn wait_for(
        &mut self,
        target: &str,
        patience: Duration,
        give_up: Instant,
    ) -> Result<Ready, Problem> {
        let mut last = Hindrance::NoMatch;
        let mut attempt = 0;
        loop {
            match timeout_at(give_up, self.attempt(target, attempt)).await {
                Ok(Ok(Ok(ready))) => return Ok(ready),
                Ok(Ok(Err(hindrance))) => last = hindrance,
                Ok(Err(Problem::Moved)) => {}
                Ok(Err(problem)) => return Err(problem),
                Err(_) => return Err(hindered(target, last, patience)),
            }
            let pause = PAUSES_MS[attempt.min(PAUSES_MS.len() - 1)];
            // Something that may just be coming is looked for more often than something in the way.
            let pause = if matches!(last, Hindrance::NoMatch) {
                pause.min(100)
            } else {
                pause
            };
            self.wire.linger(Duration::from_millis(pause)).await?;
            attempt += 1;
        }
    }

    async fn attempt(
        &mut self,
        target: &str,
        attempt: usize,
    ) -> Result<Result<Ready, Hindrance>, Problem> {
        let frames = self.frames().await?;
        let at = match self.resolve(&frames, target).await? {
            Found::None => return Ok(Err(Hindrance::NoMatch)),
            Found::Many(refusal) => return Err(Problem::Refused(refusal)),
            Found::One(at) => at,
        };
        let point = self.ask(&frames[at], "prepare", &[json!(attempt)]).await?;
        if let Some(blocked) = blocked(&point) {
            return Ok(Err(blocked));
        }
        let label = point
            .get("label")
            .and_then(Value::as_str)
            .unwrap_or(target)
            .to_owned();
        let toggles = point.get("toggles").and_then(Value::as_bool) == Some(true);
        let (mut x, mut y) = coordinates(&point)?;
        let mut inner = at;
        while let Some((outer, place)) = frames[inner].parent {
            let point = self
                .ask(
                    &frames[outer],
                    "throughFrame",
                    &[json!(place), json!(x), json!(y)],
                )
                .await?;
            if let Some(blocked) = blocked(&point) {
                return Ok(Err(blocked));
            }
            (x, y) = coordinates(&point)?;
            inner = outer;
        }
        Ok(Ok(Ready {
            frame: frames[at].clone(),
            x,
            y,
            label,
            toggles,
        }))
    }

    /// Down and up go out together, so that nothing can come between them;
    /// answers what the page script saw of it.
    async fn press(&mut self, session: &str, ready: &Ready) -> Result<Value, Problem> {
        self.doing = "clicking";
        let watch = &mut self.wire.watch;
        watch.requests.clear();
        watch.new_pages.clear();
        watch.navigation.answered = None;
        watch.windows = 0;
        let (x, y) = (ready.x, ready.y);
        let at = Some(session);
        self.wire.send(at, mouse(Mouse::MouseMoved, x, y))?;
        self.pressed = Some((x, y));
        self.wire.send(at, mouse(Mouse::MousePressed, x, y))?;
        let up = self.wire.submit(at, mouse(Mouse::MouseReleased, x, y))?;
        let seen = timeout(BUSY, async {
            let _ = self.wire.reply(up).await?;
            match self.ask(&ready.frame, "outcome", &[]).await {
                Err(Problem::Moved | Problem::Failed(_)) => Ok(Value::Null),
                other => other,
            }
        })
        .await;
        // Both went out; a page that is too busy to take them gets them in order.
        self.pressed = None;
        seen.unwrap_or(Err(Problem::Stuck))
    }

    async fn follow_up(
        &mut self,
        ready: &Ready,
        seen: &Value,
        commits: u64,
        url: &str,
    ) -> Result<String, Problem> {
        let first = format!("clicked {}", ready.label);
        match self.settle(commits).await? {
            Settled::NewTab => {
                let first = format!("{first}: it opened a new tab, which is the current one now");
                self.page_result(&first).await
            }
            Settled::Navigated => {
                self.page_result(&format!("{first}: it opened another page"))
                    .await
            }
            Settled::Here => {
                let mut lines = vec![first];
                lines.extend(state_lines(seen, ready.toggles));
                let now = self.address().await?;
                if let Some(status @ (204 | 205)) = self.wire.watch.navigation.answered {
                    lines.push(format!("note: the server answered {status} without a page, the page stayed as it was"));
                }
                if url != now {
                    lines.push(format!("url: {now}"));
                }
                lines.append(&mut self.take_notes());
                Ok(lines.join("\n"))
            }
        }
    }

    fn busy_with(&mut self, label: &str) -> String {
        let mut lines = vec![format!(
            "clicked {label}: the page is still busy with it after 10 s; look again with browser_snapshot"
        )];
        lines.append(&mut self.take_notes());
        lines.join("\n")
    }

    fn closed_by(&mut self, label: &str) -> String {
        let mut lines = vec![format!(
            "clicked {label}: it closed the tab; browser_snapshot shows the one that is left"
        )];
        lines.append(&mut self.take_notes());
        lines.join("\n")
    }
}

fn blocked(point: &Value) -> Option<Hindrance> {
    let why = point.get("blocked").and_then(Value::as_str)?;
    Some(Hindrance::Blocked(why.to_owned()))
}

fn coordinates(point: &Value) -> Result<(f64, f64), Problem> {
    let number = |key: &str| point.get(key).and_then(Value::as_f64);
    number("x")
        .zip(number("y"))
        .ok_or_else(|| Problem::Failed("the page script answered no point".to_owned()))
}

fn hindered(target: &str, last: Hindrance, patience: Duration) -> Problem {
    match last {
        Hindrance::NoMatch => Problem::refused(format!(
            "no element matches {target}\nbrowser_snapshot shows what is there now"
        )),
        Hindrance::Blocked(why) => Problem::refused(format!(
            "{target} can't be clicked: {why} (waited {} s)",
            patience.as_secs()
        )),
    }
}

/// What the click changed of the element's own states.
fn state_lines(seen: &Value, toggles: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let text = |key: &str| seen.get(key).and_then(Value::as_str);
    match (text("before"), text("after")) {
        (Some(before), Some(after)) if before != after => {
            let shown = |states: &str| {
                if states.is_empty() {
                    "none".to_owned()
                } else {
                    states.to_owned()
                }
            };
            lines.push(format!(
                "states: {} now, {} before",
                shown(after),
                shown(before)
            ));
        }
        (Some(before), Some(_)) if toggles => {
            let still = if before.contains("[checked") {
                "still checked"
            } else {
                "still not checked"
            };
            lines.push(format!("states: nothing changed, it is {still}"));
        }
        _ => {}
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_state_is_told_and_a_checkbox_that_stayed_too() {
        let seen = json!({"landed":true,"before":"","after":"[checked]"});
        assert_eq!(
            state_lines(&seen, true),
            ["states: [checked] now, none before"]
        );
        let seen = json!({"landed":true,"before":"[checked]","after":"[checked]"});
        assert_eq!(
            state_lines(&seen, true),
            ["states: nothing changed, it is still checked"]
        );
        assert!(state_lines(&seen, false).is_empty());
        assert!(state_lines(&Value::Null, true).is_empty());
    }

    #[test]
    fn what_stood_in_the_way_is_named() {
        let blocked =
            Hindrance::Blocked("<div id=\"o\"></div> intercepts pointer events".to_owned());
        assert_eq!(
            hindered("#a", blocked, PATIENCE).to_string(),
            "#a can't be clicked: <div id=\"o\"></div> intercepts pointer events (waited 10 s)"
        );
        assert_eq!(
            hindered("#a", Hindrance::NoMatch, PATIENCE).to_string(),
            "no element matches #a\nbrowser_snapshot shows what is there now"
        );
    }
}
