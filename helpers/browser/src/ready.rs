//! Waiting until an element can be acted on, and the sentence on what stood in the way.

use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::page::BringToFrontParams;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use crate::frame::Frame;
use crate::problem::Problem;
use crate::session::Session;
use crate::target::Found;

/// How long an element may take to be ready, at most half of the call's limit.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a page is asked what a target that finds nothing may have meant.
const HINT: Duration = Duration::from_millis(500);
/// Pauses between attempts, in milliseconds; the last one repeats.
const PAUSES_MS: [u64; 5] = [0, 20, 100, 100, 500];

/// What is to be done to the element.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wish<'a> {
    /// A click with the mouse.
    Click,
    /// Keys pressed in it.
    Type,
    /// Its value replaced by this one.
    Fill(&'a str),
    /// Its panel moved; it need only be there.
    Scroll,
}

impl Wish<'_> {
    fn refused(self) -> &'static str {
        match self {
            Wish::Click => "can't be clicked",
            Wish::Type => "can't be typed into",
            Wish::Fill(_) => "can't be filled",
            Wish::Scroll => "can't be scrolled",
        }
    }

    fn doing(self) -> &'static str {
        match self {
            Wish::Click => "waiting for the element to be clickable",
            Wish::Type | Wish::Fill(_) => "waiting for the field to take text",
            Wish::Scroll => "waiting for the element",
        }
    }
}

/// One target, the wish, and until when it may become true.
pub(crate) struct Wait<'a> {
    pub(crate) target: &'a str,
    pub(crate) wish: Wish<'a>,
    pub(crate) patience: Duration,
    pub(crate) give_up: Instant,
    /// What stood in the way last.
    last: Hindrance,
}

impl<'a> Wait<'a> {
    /// Starts the wait; `limit` is the call's.
    ///
    /// # Errors
    /// When the target is empty.
    pub(crate) fn start(target: &'a str, wish: Wish<'a>, limit: Duration) -> Result<Self, Problem> {
        if target.trim().is_empty() {
            return Err(Problem::refused(
                "target is empty; give a CSS selector, role=… or text=… from the latest snapshot",
            ));
        }
        let patience = PATIENCE.min(limit / 2);
        Ok(Self {
            target,
            wish,
            patience,
            give_up: Instant::now() + patience,
            last: Hindrance::NoMatch,
        })
    }

    /// Notes what stood in the way of the action itself; the refusal when the time is over.
    pub(crate) fn goes_on(&mut self, hindrance: Hindrance) -> Result<(), Problem> {
        self.last = hindrance;
        if Instant::now() < self.give_up {
            Ok(())
        } else {
            Err(self.hindered())
        }
    }

    fn hindered(&self) -> Problem {
        let target = self.target;
        match &self.last {
            Hindrance::NoMatch => Problem::refused(format!(
                "no element matches {target}\nbrowser_snapshot shows what is there now"
            )),
            Hindrance::Blocked(why) => Problem::refused(format!(
                "{target} {}: {why} (waited {} s)",
                self.wish.refused(),
                self.patience.as_secs()
            )),
        }
    }
}

/// An element that is ready, its middle in the tab's viewport.
pub(crate) struct Ready {
    pub(crate) frame: Frame,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) label: String,
    pub(crate) toggles: bool,
}

/// Why an attempt came to nothing.
pub(crate) enum Hindrance {
    NoMatch,
    Blocked(String),
}

impl Session {
    /// Attaches to the current tab and brings it to the front, where it gets input and paints.
    pub(crate) async fn come_forward(&mut self) -> Result<String, Problem> {
        self.open_tab(false).await?;
        let session = self.tab()?;
        self.wire
            .send(Some(&session), BringToFrontParams::default())?;
        Ok(session)
    }

    /// Looks again and again until the target means one element that is ready.
    pub(crate) async fn wait_for(&mut self, wait: &mut Wait<'_>) -> Result<Ready, Problem> {
        self.doing = wait.wish.doing();
        let mut attempt = 0;
        loop {
            match timeout_at(wait.give_up, self.attempt(wait, attempt)).await {
                Ok(Ok(Ok(ready))) => return Ok(ready),
                Ok(Ok(Err(hindrance))) => wait.last = hindrance,
                Ok(Err(Problem::Moved)) => {}
                Ok(Err(problem)) => return Err(problem),
                Err(_) => return Err(self.given_up(wait).await),
            }
            let pause = PAUSES_MS[attempt.min(PAUSES_MS.len() - 1)];
            // Something that may just be coming is looked for more often than something in the way.
            let pause = if matches!(wait.last, Hindrance::NoMatch) {
                pause.min(100)
            } else {
                pause
            };
            self.wire.linger(Duration::from_millis(pause)).await?;
            attempt += 1;
        }
    }

    /// The refusal for a target that did not become ready; one that finds nothing is told what is near it.
    async fn given_up(&mut self, wait: &Wait<'_>) -> Problem {
        let Problem::Refused(sentence) = wait.hindered() else {
            return wait.hindered();
        };
        if !matches!(wait.last, Hindrance::NoMatch) {
            return Problem::Refused(sentence);
        }
        let near = timeout(HINT, self.near(wait.target)).await;
        Problem::Refused(match near {
            Ok(Ok(near)) if !near.is_empty() => {
                format!("{sentence}\nnear it: {}", near.join(", "))
            }
            _ => sentence,
        })
    }

    /// Targets of what has a name like the one that `target` looks for, of the first frame that has any.
    async fn near(&mut self, target: &str) -> Result<Vec<String>, Problem> {
        for frame in self.frames().await? {
            let found = self.ask(&frame, "nearMisses", &[json!(target)]).await?;
            let found = found.as_array().map(Vec::as_slice).unwrap_or_default();
            if !found.is_empty() {
                let text = |one: &Value| one.as_str().map(str::to_owned);
                return Ok(found.iter().filter_map(text).collect());
            }
        }
        Ok(Vec::new())
    }

    async fn attempt(
        &mut self,
        wait: &Wait<'_>,
        attempt: usize,
    ) -> Result<Result<Ready, Hindrance>, Problem> {
        let frames = self.frames().await?;
        let at = match self.resolve(&frames, wait.target).await? {
            Found::None => {
                let target = [json!(wait.target)];
                self.ask(&frames[0], "refuseReference", &target).await?;
                return Ok(Err(Hindrance::NoMatch));
            }
            Found::Many(refusal) => return Err(Problem::Refused(refusal)),
            Found::One(at) => at,
        };
        let frame = frames[at].clone();
        let attempt = json!(attempt);
        let point = match wait.wish {
            Wish::Click => self.ask(&frame, "prepareClick", &[attempt]).await?,
            Wish::Type => {
                let arguments = [json!("type"), attempt];
                self.ask(&frame, "prepareField", &arguments).await?
            }
            Wish::Fill(value) => {
                let arguments = [json!("fill"), attempt, json!(value)];
                self.ask(&frame, "prepareField", &arguments).await?
            }
            Wish::Scroll => json!({"x": 0, "y": 0, "label": wait.target}),
        };
        if let Some(blocked) = blocked(&point) {
            return Ok(Err(blocked));
        }
        let label = point
            .get("label")
            .and_then(Value::as_str)
            .unwrap_or(wait.target)
            .to_owned();
        let toggles = point.get("toggles").and_then(Value::as_bool) == Some(true);
        let (x, y) = match wait.wish {
            Wish::Scroll => (0.0, 0.0),
            _ => match self.through_frames(&frames, at, &point).await? {
                Ok(point) => point,
                Err(hindrance) => return Ok(Err(hindrance)),
            },
        };
        Ok(Ok(Ready {
            frame,
            x,
            y,
            label,
            toggles,
        }))
    }

    /// Carries a point of one frame out to the tab's viewport.
    async fn through_frames(
        &mut self,
        frames: &[Frame],
        at: usize,
        point: &Value,
    ) -> Result<Result<(f64, f64), Hindrance>, Problem> {
        let (mut x, mut y) = coordinates(point)?;
        let mut inner = at;
        while let Some((outer, place)) = frames[inner].parent {
            let arguments = [json!(place), json!(x), json!(y)];
            let point = self.ask(&frames[outer], "throughFrame", &arguments).await?;
            if let Some(blocked) = blocked(&point) {
                return Ok(Err(blocked));
            }
            (x, y) = coordinates(&point)?;
            inner = outer;
        }
        Ok(Ok((x, y)))
    }
}

/// What a page function said stood in the way.
pub(crate) fn blocked(answer: &Value) -> Option<Hindrance> {
    let why = answer.get("blocked").and_then(Value::as_str)?;
    Some(Hindrance::Blocked(why.to_owned()))
}

fn coordinates(point: &Value) -> Result<(f64, f64), Problem> {
    let number = |key: &str| point.get(key).and_then(Value::as_f64);
    number("x")
        .zip(number("y"))
        .ok_or_else(|| Problem::Failed("the page script answered no point".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(wish: Wish<'_>) -> Wait<'_> {
        Wait::start("#a", wish, Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn what_stood_in_the_way_is_named() {
        let cover = "<div id=\"o\"></div> intercepts pointer events";
        let check = |wish: Wish<'_>, expected: &str| {
            let mut wait = wait(wish);
            wait.last = Hindrance::Blocked(cover.to_owned());
            let refusal = wait.hindered();
            assert_eq!(
                refusal.to_string(),
                format!("#a {expected}: {cover} (waited 10 s)")
            );
        };
        check(Wish::Click, "can't be clicked");
        check(Wish::Type, "can't be typed into");
        check(Wish::Fill("x"), "can't be filled");
        assert_eq!(
            wait(Wish::Click).hindered().to_string(),
            "no element matches #a\nbrowser_snapshot shows what is there now"
        );
    }

    #[test]
    fn an_empty_target_is_refused_and_the_wait_is_half_of_a_short_limit() {
        assert!(Wait::start(" ", Wish::Type, Duration::from_secs(60)).is_err());
        let short = Wait::start("#a", Wish::Type, Duration::from_secs(4)).unwrap();
        assert_eq!(short.patience, Duration::from_secs(2));
    }
}
