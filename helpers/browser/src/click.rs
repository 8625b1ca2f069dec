//! `click`: clicks one element with the mouse and tells what that did.

use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::input::DispatchMouseEventType as Mouse;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::problem::Problem;
use crate::ready::{Hindrance, Ready, Wait, Wish};
use crate::session::{Session, mouse};

/// How long a page may take over the click itself.
const BUSY: Duration = Duration::from_secs(10);

impl Session {
    /// Clicks the one element that `target` means.
    pub(crate) async fn click(&mut self, target: &str, limit: Duration) -> Result<String, Problem> {
        let session = self.come_forward().await?;
        let mut wait = Wait::start(target, Wish::Click, limit)?;
        let mut before = self.before().await?;
        loop {
            let ready = self.wait_for(&mut wait).await?;
            before.renew(self);
            let first = format!("clicked {}", ready.label);
            let (seen, clicked) = match self.press(&session, &ready).await {
                Ok(pressed) => pressed,
                Err(Problem::Closed) => return Ok(self.closed_by(&first)),
                Err(Problem::Stuck) => return Ok(self.busy_with(&first)),
                Err(problem) => return Err(problem),
            };
            if seen.get("landed").and_then(Value::as_bool) == Some(false) {
                // The page moved under the mouse; the page script kept the click from it.
                let why = "something else moves under the mouse".to_owned();
                wait.goes_on(Hindrance::Blocked(why))?;
                continue;
            }
            self.download_begins(clicked).await?;
            let mut lines = state_lines(&seen, ready.toggles);
            if seen.get("landed").is_some_and(Value::is_null) {
                // Not clicked again: the page may have caught the click before the page script.
                lines.push("note: no event of the mouse was seen at the element".to_owned());
            }
            return self.after(&before, &first, lines).await;
        }
    }

    /// Answers what the page script saw of the click, and when the page had taken it. Each event waits for the one
    /// before: while a dialog is open Chrome drops input.
    async fn press(&mut self, session: &str, ready: &Ready) -> Result<(Value, Instant), Problem> {
        self.doing = "clicking";
        self.forget_the_past();
        let seen = timeout(BUSY, self.press_and_look(session, ready)).await;
        // A page that is too busy to take the release gets it in order.
        if seen.is_err() {
            self.let_go(session)?;
        }
        seen.unwrap_or(Err(Problem::Stuck))
    }

    async fn press_and_look(
        &mut self,
        session: &str,
        ready: &Ready,
    ) -> Result<(Value, Instant), Problem> {
        let at = Some(session);
        for kind in [Mouse::MouseMoved, Mouse::MousePressed, Mouse::MouseReleased] {
            if kind == Mouse::MousePressed {
                self.pressed = Some((ready.x, ready.y));
            }
            let ticket = self.wire.submit(at, mouse(kind, ready.x, ready.y))?;
            let _ = self.wire.reply(ticket).await?;
        }
        self.pressed = None;
        let clicked = Instant::now();
        match self.ask(&ready.frame, "outcome", &[]).await {
            Err(Problem::Moved | Problem::Failed(_)) => Ok((Value::Null, clicked)),
            other => other.map(|seen| (seen, clicked)),
        }
    }

    fn let_go(&mut self, session: &str) -> Result<(), Problem> {
        if let Some((x, y)) = self.pressed.take() {
            self.wire
                .send(Some(session), mouse(Mouse::MouseReleased, x, y))?;
        }
        Ok(())
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
    use serde_json::json;

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
}
