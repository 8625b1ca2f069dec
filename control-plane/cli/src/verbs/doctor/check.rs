//! One thing that was looked at, and what came of it.

use serde_json::{Value, json};

use crate::screen::{Screen, Tone};
use crate::text;

/// Room for the names of checks.
const NAME: usize = 21;

/// What was looked at.
#[derive(Debug)]
pub(super) struct Check {
    name: String,
    outcome: Outcome,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Outcome {
    Fine(String),
    /// It was not needed, or could not be looked at.
    Skipped(String),
    Failed {
        why: String,
        /// The command or setting that mends it.
        mend: String,
    },
}

impl Outcome {
    pub(super) fn fine(what: &str) -> Self {
        Self::Fine(what.to_owned())
    }

    pub(super) fn skipped(why: &str) -> Self {
        Self::Skipped(why.to_owned())
    }

    pub(super) fn failed(why: &str, mend: &str) -> Self {
        Self::Failed {
            why: why.to_owned(),
            mend: mend.to_owned(),
        }
    }

    /// In a line; one that failed ends with what mends it.
    pub(super) fn to_line(&self) -> String {
        text::line(&match self {
            Self::Fine(what) | Self::Skipped(what) => what.clone(),
            Self::Failed { why, mend } => format!("{why}; mend: {mend}"),
        })
    }
}

impl Check {
    pub(super) fn new(name: &str, outcome: Outcome) -> Self {
        Self {
            name: name.to_owned(),
            outcome,
        }
    }

    pub(super) fn is_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed { .. })
    }

    fn word(&self) -> (&'static str, Tone) {
        match self.outcome {
            Outcome::Fine(_) => ("ok", Tone::Good),
            Outcome::Skipped(_) => ("skip", Tone::Faint),
            Outcome::Failed { .. } => ("failed", Tone::Bad),
        }
    }

    /// A line, whole however wide the screen is: its end is what is needed most.
    pub(super) fn show(&self, screen: &Screen) -> String {
        let (word, tone) = self.word();
        let word = format!("{}{}", screen.paint(word, tone), " ".repeat(6 - word.len()));
        let name = text::line(&self.name);
        format!("{word}  {name:<NAME$}  {}\n", self.outcome.to_line())
    }

    pub(super) fn to_json(&self) -> Value {
        let mut check = json!({"name": self.name, "outcome": self.word().0});
        match &self.outcome {
            Outcome::Fine(what) | Outcome::Skipped(what) => check["message"] = json!(what),
            Outcome::Failed { why, mend } => {
                check["message"] = json!(why);
                check["mend"] = json!(mend);
            }
        }
        check
    }
}
