//! The five calls that every contender makes on the same page, and the page.

use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};

/// A call that every contender can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Navigate,
    Snapshot,
    Click,
    Eval,
    Screenshot,
}

impl Verb {
    pub const ALL: [Self; 5] = [
        Self::Navigate,
        Self::Snapshot,
        Self::Click,
        Self::Eval,
        Self::Screenshot,
    ];

    /// Its word on the command line of the helper.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Navigate => "navigate",
            Self::Snapshot => "snapshot",
            Self::Click => "click",
            Self::Eval => "eval",
            Self::Screenshot => "screenshot",
        }
    }

    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.name() == name)
    }
}

/// What the calls are about: one address, one element, one value, one file.
#[derive(Debug)]
pub struct Subject {
    pub url: String,
    /// Where contenders that are told a file put their picture.
    pub picture: String,
}

/// The element that is clicked; nothing comes of it.
pub const TARGET: &str = "#go";
/// The value that is asked for.
pub const EXPRESSION: &str = "document.title";

impl Subject {
    /// The arguments of the product's own tool.
    pub fn arguments(&self, verb: Verb) -> Value {
        match verb {
            Verb::Navigate => json!({ "url": self.url }),
            Verb::Click => json!({ "target": TARGET }),
            Verb::Eval => json!({ "expression": format!("return {EXPRESSION}") }),
            Verb::Snapshot | Verb::Screenshot => json!({}),
        }
    }

    /// The one word that a client on a command line needs to know.
    pub fn word(&self, verb: Verb) -> Option<&str> {
        match verb {
            Verb::Navigate => Some(&self.url),
            Verb::Snapshot => None,
            Verb::Click => Some(TARGET),
            Verb::Eval => Some(EXPRESSION),
            Verb::Screenshot => Some(&self.picture),
        }
    }
}

/// About the size of a shop's list: 1,200 named nodes.
pub fn page() -> Result<String> {
    let mut page = String::from(
        "<!doctype html><title>Lamps</title><h1>Lamps</h1><button id=go>Go</button><ul>",
    );
    for number in 0..400 {
        write!(
            page,
            "<li><a href='#{number}'>Lamp {number}</a> <span>{number}.00</span> <button>Buy {number}</button></li>"
        )?;
    }
    page.push_str("</ul>");
    Ok(page)
}
