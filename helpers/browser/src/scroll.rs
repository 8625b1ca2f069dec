//! `scroll`: moves a panel or the window by what it shows, and tells how far it went and what is left.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::frame::Frame;
use crate::problem::Problem;
use crate::ready::{Wait, Wish};
use crate::session::Session;

/// How long a page may take to fetch what the scrolling calls for.
const MORE: Duration = Duration::from_millis(1500);
/// How long it may take to show that.
const SHOWN: Duration = Duration::from_millis(150);
const DIRECTIONS: [&str; 4] = ["up", "down", "left", "right"];

/// What a container did, in CSS pixels.
#[derive(Debug, Deserialize)]
struct Scrolled {
    container: String,
    target: Option<String>,
    held: bool,
    moved: u64,
    up: u64,
    down: u64,
    left: u64,
    right: u64,
}

impl Session {
    /// Scrolls the panel around `target`, else the panel that shows most, else the window.
    pub(crate) async fn scroll(
        &mut self,
        direction: &str,
        target: Option<&str>,
        limit: Duration,
    ) -> Result<String, Problem> {
        if !DIRECTIONS.contains(&direction) {
            return Err(Problem::refused(format!(
                "{direction:?} is no direction; allowed are {}",
                DIRECTIONS.join(", ")
            )));
        }
        self.come_forward().await?;
        let before = self.before().await?;
        let sideways = matches!(direction, "left" | "right");
        let frame = match target {
            Some(target) => self.frame_of(target, sideways, limit).await?,
            None => self.liveliest_frame(sideways).await?,
        };
        self.doing = "scrolling";
        self.forget_the_past();
        let arguments = [json!(direction), json!(false)];
        let answer = self.ask(&frame, "scrolled", &arguments).await?;
        let mut scrolled: Scrolled = serde_json::from_value(answer)?;
        if !self.wire.watch.requests.is_empty() {
            // A list that grows as one reads has more left than it seemed.
            self.wire
                .wait_until(Instant::now() + MORE, |watch| watch.requests.is_empty())
                .await?;
            self.wire.linger(SHOWN).await?;
            let arguments = [json!(direction), json!(true)];
            if let Ok(answer) = self.ask(&frame, "scrolled", &arguments).await {
                let moved = scrolled.moved;
                scrolled = serde_json::from_value(answer)?;
                scrolled.moved = moved;
            }
        }
        let (first, lines) = told(direction, &scrolled);
        self.after(&before, &first, lines).await
    }

    async fn frame_of(
        &mut self,
        target: &str,
        sideways: bool,
        limit: Duration,
    ) -> Result<Frame, Problem> {
        let mut wait = Wait::start(target, Wish::Scroll, limit)?;
        loop {
            let ready = self.wait_for(&mut wait).await?;
            match self
                .ask(&ready.frame, "scrollFrom", &[json!(sideways)])
                .await
            {
                Ok(Value::Bool(true)) => return Ok(ready.frame),
                Ok(_) | Err(Problem::Moved) if Instant::now() < wait.give_up => {}
                Ok(_) => return Err(Problem::Moved),
                Err(problem) => return Err(problem),
            }
        }
    }

    /// The frame whose panel shows most; a frame inside the page that scrolls is one too.
    async fn liveliest_frame(&mut self, sideways: bool) -> Result<Frame, Problem> {
        let frames = self.frames().await?;
        let mut best = (0.0, 0);
        let mut seen = vec![f64::INFINITY; frames.len()];
        for (at, frame) in frames.iter().enumerate() {
            let answer = self.ask(frame, "scrollers", &[json!(sideways)]).await?;
            let number = |key: &str| answer.get(key).and_then(Value::as_f64).unwrap_or_default();
            let mut area = number("area");
            if let Some((outer, place)) = frame.parent {
                let window = self
                    .ask(&frames[outer], "frameArea", &[json!(place)])
                    .await?;
                seen[at] = seen[outer].min(window.as_f64().unwrap_or_default());
                // A panel of its own is taken before the frame's window, as in a page.
                area = if area > 0.0 { area } else { number("view") };
            }
            area = area.min(seen[at]);
            if area > best.0 {
                best = (area, at);
            }
        }
        Ok(frames[best.1].clone())
    }
}

fn told(direction: &str, scrolled: &Scrolled) -> (String, Vec<String>) {
    let left = match direction {
        "up" => scrolled.up,
        "down" => scrolled.down,
        "left" => scrolled.left,
        _ => scrolled.right,
    };
    let mut first = format!("scrolled {direction} by {} px", scrolled.moved);
    let nothing = scrolled.up + scrolled.down + scrolled.left + scrolled.right == 0;
    if scrolled.moved == 0 {
        first = if scrolled.held {
            "scrolled nothing: the page keeps its window from scrolling".to_owned()
        } else if nothing {
            format!("scrolled nothing: nothing here scrolls {direction}")
        } else if left == 0 {
            format!("scrolled nothing: this is the end, there is no more to scroll {direction}")
        } else {
            "scrolled nothing: the page put it back".to_owned()
        };
    }
    let target = match &scrolled.target {
        Some(target) => format!(" [target={target}]"),
        None => String::new(),
    };
    let lines = vec![
        format!("container: {}{target}", scrolled.container),
        format!(
            "remaining: up {} px, down {} px, left {} px, right {} px",
            scrolled.up, scrolled.down, scrolled.left, scrolled.right
        ),
    ];
    (first, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(moved: u64, up: u64, down: u64) -> Scrolled {
        Scrolled {
            container: "the window".to_owned(),
            target: None,
            held: false,
            moved,
            up,
            down,
            left: 0,
            right: 0,
        }
    }

    fn check(direction: &str, scrolled: &Scrolled, expected: &str) {
        assert_eq!(told(direction, scrolled).0, expected);
    }

    #[test]
    fn what_moved_and_what_is_left_is_told() {
        check("down", &window(600, 600, 900), "scrolled down by 600 px");
        let end = "scrolled nothing: this is the end, there is no more to scroll down";
        check("down", &window(0, 900, 0), end);
        check(
            "up",
            &window(0, 0, 0),
            "scrolled nothing: nothing here scrolls up",
        );
        check(
            "down",
            &window(0, 0, 70),
            "scrolled nothing: the page put it back",
        );
        let held = Scrolled {
            held: true,
            ..window(0, 0, 70)
        };
        check(
            "down",
            &held,
            "scrolled nothing: the page keeps its window from scrolling",
        );
        let panel = Scrolled {
            container: "the panel list \"Rows\"".to_owned(),
            target: Some("#rows".to_owned()),
            right: 5,
            ..window(10, 10, 20)
        };
        assert_eq!(
            told("down", &panel).1,
            [
                "container: the panel list \"Rows\" [target=#rows]",
                "remaining: up 10 px, down 20 px, left 0 px, right 5 px"
            ]
        );
    }
}
