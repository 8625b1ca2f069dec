//! Fields of the API's objects as cells.

use serde_json::Value;

use crate::moment;
use crate::screen::{Screen, Tone};
use crate::table::Cell;

/// A scalar under a key, as text; nothing where there is none.
pub(crate) fn words(object: &Value, key: &str) -> String {
    scalar(object.get(key).unwrap_or(&Value::Null))
}

/// A scalar as text; a list's items with commas between them.
pub(crate) fn scalar(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) => items.iter().map(scalar).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// A cell with the text under a key.
pub(crate) fn text(object: &Value, key: &str) -> Cell {
    Cell::new(&words(object, key))
}

/// A cell with how long ago the time under a key was.
pub(crate) fn ago(object: &Value, key: &str, screen: &Screen) -> Cell {
    Cell::new(&moment::relative(&words(object, key), screen.now))
}

/// A cell with the length of the list under a key.
pub(crate) fn count(object: &Value, key: &str) -> Cell {
    let length = object.get(key).and_then(Value::as_array).map(Vec::len);
    Cell::new(&length.unwrap_or(0).to_string())
}

/// The number under a key; 0 where there is none.
pub(crate) fn number(object: &Value, key: &str) -> u64 {
    object.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// A cell that says whether something is on.
pub(crate) fn on_or_off(object: &Value, key: &str) -> Cell {
    match object.get(key) {
        Some(Value::Bool(true)) => Cell::toned("on", Tone::Good),
        Some(Value::Bool(false)) => Cell::toned("off", Tone::Bad),
        _ => Cell::new(""),
    }
}
