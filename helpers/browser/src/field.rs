//! `type` and `fill`: text into one field through the browser's input path, read back afterwards.

use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::input::InsertTextParams;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::after::Before;
use crate::frame::Frame;
use crate::keys::Key;
use crate::problem::Problem;
use crate::ready::{Wait, Wish, blocked};
use crate::session::Session;

/// How long a page may take over the input itself.
const BUSY: Duration = Duration::from_secs(10);
/// How long the page may take to say what a field holds.
const READING: Duration = Duration::from_secs(5);
/// A text of more characters is inserted a line at a time instead of key by key.
const MOST_KEYS: usize = 300;

/// Pause before a field that gave the focus away is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// What a field holds afterwards.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Held {
    label: String,
    gone: bool,
    secret: bool,
    list: bool,
    whole: bool,
    holds: bool,
    numeric: bool,
    problem: String,
    characters: usize,
    value: Option<String>,
}

/// How far the typing came.
struct Typed {
    characters: usize,
    left: bool,
}

/// What the page script answers before text is inserted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Filling {
    insert: Option<String>,
    empty: bool,
}

impl Session {
    /// Types `text` into the one field that `target` means, at its caret.
    pub(crate) async fn type_text(
        &mut self,
        target: &str,
        text: &str,
        limit: Duration,
    ) -> Result<String, Problem> {
        let session = self.come_forward().await?;
        let mut wait = Wait::start(target, Wish::Type, limit)?;
        let mut before = self.before().await?;
        let (frame, label, sends) = loop {
            let ready = self.wait_for(&mut wait).await?;
            before.renew(self);
            self.forget_the_past();
            let answer = match self.ask(&ready.frame, "takeFocus", &[]).await {
                Err(Problem::Moved) => continue,
                other => other?,
            };
            match blocked(&answer) {
                None => {
                    let sends = answer.get("sends").and_then(Value::as_bool) == Some(true);
                    break (ready.frame, ready.label, sends);
                }
                Some(why) => wait.goes_on(why)?,
            }
            self.wire.linger(AGAIN).await?;
        };
        self.doing = "typing";
        let total = text.replace("\r\n", "\n").chars().count();
        let said = |count: usize| format!("typed {} into {label}", characters(count));
        let sends = sends.then_some(&frame);
        match self.press_keys(&session, text, &before, sends).await {
            Err(Problem::Closed) => Ok(self.closed_by(&said(total))),
            Err(Problem::Stuck) => Ok(self.busy_with(&said(total))),
            Err(problem) => Err(problem),
            Ok(typed) => {
                let mut first = said(typed.characters);
                if typed.left && typed.characters < total {
                    first.push_str(&format!(
                        ", {} were left when the page went elsewhere",
                        total - typed.characters
                    ));
                }
                let lines = self.read_back(&frame, text, Wish::Type).await?;
                self.after(&before, &first, lines).await
            }
        }
    }

    /// Replaces what the one field that `target` means holds by `value`.
    pub(crate) async fn fill(
        &mut self,
        target: &str,
        value: &str,
        limit: Duration,
    ) -> Result<String, Problem> {
        let session = self.come_forward().await?;
        let mut wait = Wait::start(target, Wish::Fill(value), limit)?;
        let mut before = self.before().await?;
        let (frame, label, filling) = loop {
            let ready = self.wait_for(&mut wait).await?;
            before.renew(self);
            self.forget_the_past();
            let answer = match self.ask(&ready.frame, "fill", &[json!(value)]).await {
                Err(Problem::Moved) => continue,
                other => other?,
            };
            match blocked(&answer) {
                None => {
                    let filling: Filling = serde_json::from_value(answer)?;
                    break (ready.frame, ready.label, filling);
                }
                Some(why) => wait.goes_on(why)?,
            }
            self.wire.linger(AGAIN).await?;
        };
        self.doing = "filling the field";
        let first = format!("filled {label}");
        let inserted = match &filling.insert {
            None => Ok(()),
            Some(text) if text.is_empty() && filling.empty => Ok(()),
            Some(text) if text.is_empty() => self.press_key(&session, &Key::delete()).await,
            Some(text) => self.insert(&session, text).await,
        };
        match inserted {
            Err(Problem::Closed) => Ok(self.closed_by(&first)),
            Err(Problem::Stuck) => Ok(self.busy_with(&first)),
            Err(problem) => Err(problem),
            Ok(()) => {
                let lines = self.read_back(&frame, value, Wish::Fill(value)).await?;
                self.after(&before, &first, lines).await
            }
        }
    }

    /// Presses a key for each character that has one and inserts the others;
    /// stops when the page goes elsewhere, so that nothing lands in another one.
    async fn press_keys(
        &mut self,
        session: &str,
        text: &str,
        before: &Before,
        sends: Option<&Frame>,
    ) -> Result<Typed, Problem> {
        let text = text.replace("\r\n", "\n");
        let mut typed = Typed {
            characters: 0,
            left: false,
        };
        for piece in pieces(&text) {
            if typed.characters > 0 && before.left(self) {
                typed.left = true;
                break;
            }
            match &piece {
                Piece::Key(key) => self.press_key(session, key).await?,
                Piece::Text(text) => self.insert(session, text).await?,
                Piece::Enter => {
                    self.press_key(session, &Key::enter()).await?;
                    if let Some(frame) = sends {
                        // A form that Enter sends is on its way two frames later.
                        let rest = timeout(READING, self.ask(frame, "rest", &[])).await;
                        typed.left = matches!(rest, Ok(Err(Problem::Moved)));
                    }
                }
            }
            typed.characters += match piece {
                Piece::Text(text) => text.chars().count(),
                Piece::Key(_) | Piece::Enter => 1,
            };
            if typed.left {
                break;
            }
        }
        Ok(typed)
    }

    /// Each event waits for the one before: while a dialog is open Chrome drops input.
    async fn press_key(&mut self, session: &str, key: &Key) -> Result<(), Problem> {
        self.held = Some(key.clone());
        for event in [key.down(), key.up()] {
            let ticket = self.wire.submit(Some(session), event)?;
            let _ = timeout(BUSY, self.wire.reply(ticket))
                .await
                .map_err(|_| Problem::Stuck)??;
        }
        self.held = None;
        Ok(())
    }

    async fn insert(&mut self, session: &str, text: &str) -> Result<(), Problem> {
        let ticket = self
            .wire
            .submit(Some(session), InsertTextParams::new(text))?;
        let _ = timeout(BUSY, self.wire.reply(ticket))
            .await
            .map_err(|_| Problem::Stuck)??;
        Ok(())
    }

    /// Lines on what the field holds now; none when its document is gone.
    async fn read_back(
        &mut self,
        frame: &Frame,
        text: &str,
        wish: Wish<'_>,
    ) -> Result<Vec<String>, Problem> {
        let arguments = [json!(text)];
        let answer = timeout(READING, self.ask(frame, "readBack", &arguments)).await;
        match answer {
            Ok(Ok(answer)) => Ok(held_lines(&serde_json::from_value(answer)?, text, wish)),
            // The document, its tab or its answer is gone: what follows tells so.
            Ok(Err(Problem::Moved | Problem::Failed(_) | Problem::Closed)) => Ok(Vec::new()),
            Ok(Err(problem)) => Err(problem),
            Err(_) => Ok(vec![
                "value: not read, the page is still busy with the input".to_owned(),
            ]),
        }
    }
}

/// A stretch of text that goes out in one way.
enum Piece<'a> {
    Key(Key),
    Text(&'a str),
    Enter,
}

/// Cuts a text into keys, and into stretches that no key types or that are too
/// long for keys.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let long = text.chars().count() > MOST_KEYS;
    let mut pieces = Vec::new();
    let mut text_from = None;
    for (at, character) in text.char_indices() {
        let key = match character {
            '\n' => Some(Piece::Enter),
            '\t' => Key::of('\t').map(Piece::Key),
            _ if long => None,
            _ => Key::of(character).map(Piece::Key),
        };
        match key {
            Some(key) => {
                if let Some(from) = text_from.take() {
                    pieces.push(Piece::Text(&text[from..at]));
                }
                pieces.push(key);
            }
            None => {
                text_from.get_or_insert(at);
            }
        }
    }
    if let Some(from) = text_from {
        pieces.push(Piece::Text(&text[from..]));
    }
    pieces
}

fn characters(count: usize) -> String {
    if count == 1 {
        "1 character".to_owned()
    } else {
        format!("{count} characters")
    }
}

fn held_lines(held: &Held, text: &str, wish: Wish<'_>) -> Vec<String> {
    if held.gone {
        return vec!["value: not read, the field left the page".to_owned()];
    }
    let shown = match (&held.value, held.secret) {
        (_, true) => format!("value: •••••• ({}, not shown)", characters(held.characters)),
        (None, false) => return Vec::new(),
        (Some(value), false) if held.list => format!(
            "selected: {}",
            value
                .split('\n')
                .map(|label| json!(label).to_string())
                .collect::<Vec<_>>()
                .join(", ")
        ),
        (Some(value), false) => {
            let cut = value.chars().count() < held.characters;
            let more = if cut {
                format!(" (the beginning of {})", characters(held.characters))
            } else {
                String::new()
            };
            format!("value: {}{more}", json!(value))
        }
    };
    let mut lines = vec![shown];
    match wish {
        Wish::Fill(_) if !held.list && !held.whole && !held.numeric => lines.push(
            "note: that is not what was asked for; the page or the field changed it".to_owned(),
        ),
        Wish::Fill(_) if !held.problem.is_empty() => {
            lines.push(format!(
                "note: the field does not accept it: {}",
                held.problem
            ));
        }
        // A text with Enter in it may well be sent off, and its field emptied.
        Wish::Type if !held.list && !held.holds && !text.contains('\n') => lines.push(
            "note: the field does not hold the text as typed; the page or the field changed it"
                .to_owned(),
        ),
        _ => {}
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let shown: Vec<String> = pieces(text)
            .iter()
            .map(|piece| match piece {
                Piece::Key(_) => "key".to_owned(),
                Piece::Enter => "enter".to_owned(),
                Piece::Text(text) => format!("text {text}"),
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn what_no_key_types_is_inserted_as_one_stretch() {
        check("", &[]);
        check("a\n\tb", &["key", "enter", "key", "key"]);
        check("ï🙂 \u{301}", &["text ï🙂", "key", "text \u{301}"]);
    }

    #[test]
    fn a_long_text_is_inserted_a_line_at_a_time() {
        let line = "y".repeat(200);
        let text = format!("text {line}");
        check(&format!("{line}\n{line}"), &[&text, "enter", &text]);
    }

    #[test]
    fn what_a_field_holds_is_told_and_a_secret_is_not_shown() {
        let held = |value: &str| Held {
            value: Some(value.to_owned()),
            characters: value.chars().count(),
            whole: true,
            holds: true,
            ..Held::default()
        };
        assert_eq!(
            held_lines(&held("a\"b"), "a\"b", Wish::Type),
            [r#"value: "a\"b""#]
        );
        let secret = Held {
            secret: true,
            value: None,
            ..held("hunter2")
        };
        assert_eq!(
            held_lines(&secret, "hunter2", Wish::Type),
            ["value: •••••• (7 characters, not shown)"]
        );
        let changed = Held {
            whole: false,
            ..held("12-34")
        };
        assert_eq!(
            held_lines(&changed, "1234", Wish::Fill("1234")),
            [
                r#"value: "12-34""#,
                "note: that is not what was asked for; the page or the field changed it"
            ]
        );
        let list = Held {
            list: true,
            ..held("Red\nBlue")
        };
        assert_eq!(
            held_lines(&list, "red", Wish::Fill("red")),
            [r#"selected: "Red", "Blue""#]
        );
    }
}
