//! A connector's schema made one that model APIs take, or left out with a reason.
//!
//! Servers publish what they like; one schema that an API refuses would fail the
//! whole request of the model. What was published goes on validating when it can.

mod leftovers;
mod references;
mod union;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::rewrite;
use crate::tools::validation::{check_schema, one_line, shown};

/// Most bytes of a schema; the largest that are in use have a tenth of it.
const MAX_BYTES: usize = 262_144;

/// The two schemas of a connector's tool.
#[derive(Debug)]
pub struct Fitted {
    /// What arguments are checked against.
    pub validates: Box<RawValue>,
    /// What a model sees.
    pub shown: Box<RawValue>,
}

/// Why a tool has to be left out; the end of a sentence about its schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is no JSON.
    #[error("its schema is not readable as JSON")]
    Unreadable,
    /// It is out of all proportion.
    #[error("its schema is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// Arguments are an object, and it wants something else.
    #[error("its schema describes {0}, and arguments are an object")]
    NoObject(String),
    /// It is none, in a way that can't be mended.
    #[error("its schema can't be used: {0}")]
    Unusable(String),
}

/// Mends a schema as a connector published it; `null` is one that was left out.
///
/// Repaired are a union, a reference or another type than `object` at the top,
/// references that lead nowhere or never end, and what drafts before 2020-12 wrote
/// differently.
///
/// # Errors
/// [`Unfit`] when no arguments would fit it, or it can't be mended.
pub fn fit(published: &str) -> Result<Fitted, Unfit> {
    if published.len() > MAX_BYTES {
        return Err(Unfit::TooLarge);
    }
    let original: Value = serde_json::from_str(published).map_err(|_| Unfit::Unreadable)?;
    let mut mended = match &original {
        Value::Object(map) => map.clone(),
        Value::Null | Value::Bool(true) => Map::new(),
        other => return Err(Unfit::NoObject(described(other))),
    };
    leftovers::mend(&mut mended);
    let mut mended = references::mend(Value::Object(mended));
    let validates = if original.is_object() && check_schema(&original).is_ok() {
        original
    } else {
        check_schema(&mended).map_err(|why| unusable(&why))?;
        mended.clone()
    };
    union::flatten(&mut mended)?;
    // What pointed into what is gone by now points nowhere.
    let mended = references::mend(mended);
    let seen = rewrite(&mended.to_string());
    let read: Value = serde_json::from_str(seen.get()).map_err(|_| Unfit::Unreadable)?;
    check_schema(&read).map_err(|why| unusable(&why))?;
    Ok(Fitted {
        validates: to_raw_value(&validates).map_err(|_| Unfit::Unreadable)?,
        shown: seen,
    })
}

/// The words are about the parameters of a tool.
fn unusable(why: &str) -> Unfit {
    Unfit::Unusable(format!("its parameters {}", shown(&one_line(why))))
}

/// What a schema that is none is, or a type's word, with an article.
fn described(found: &Value) -> String {
    match found {
        Value::String(word) if word == "integer" || word == "array" => format!("an {word}"),
        Value::String(word) if word == "null" => word.clone(),
        Value::String(word) => format!("a {word}"),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().map(described).collect();
            words.join(" or ")
        }
        Value::Bool(_) => "nothing".to_owned(),
        _ => "no schema".to_owned(),
    }
}

/// Makes the type of a root `object`, which it may have left out or offered beside others.
fn object_typed(root: &mut Map<String, Value>) -> Result<(), Unfit> {
    let is_object = match root.get("type") {
        None => true,
        Some(Value::Array(words)) => words.iter().any(|word| word == "object"),
        Some(word) => word == "object",
    };
    if !is_object {
        return Err(Unfit::NoObject(described(&root["type"])));
    }
    root.insert("type".to_owned(), json!("object"));
    Ok(())
}

#[cfg(test)]
mod tests;
