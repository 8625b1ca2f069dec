//! An event of Chrome as it came: a name, a session and whatever belongs to it.

use std::borrow::Cow;

use chromiumoxide::Method;
use chromiumoxide::types::EventMessage;
use serde::Deserialize;
use serde_json::Value;

/// Parameters stay untyped, so that an event of a newer Chrome never fails to parse.
#[derive(Debug, Deserialize)]
pub struct Event {
    /// Domain and name, for example `Page.frameNavigated`.
    pub method: String,
    /// Session the event belongs to; none for the browser's own.
    #[serde(rename = "sessionId", default)]
    pub session: Option<String>,
    /// Whatever the event carries.
    #[serde(default)]
    pub params: Value,
}

impl Event {
    /// Text at a JSON pointer of the parameters, empty where there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.params
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

impl Method for Event {
    fn identifier(&self) -> Cow<'static, str> {
        Cow::Owned(self.method.clone())
    }
}

impl EventMessage for Event {
    fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }
}
