//! What agents wrote in events, without what became a secret since.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::EventView;
use crate::http::Api;
use crate::run::error::RunError;
use crate::run::result::Redactor;
use crate::store::events::Listed;

/// Members that hold an agent's words.
const WORDS: [&str; 6] = [
    "content",
    "description",
    "instruction",
    "reason",
    "summary",
    "tool_name",
];
/// Stands for words of an organisation whose secrets can't be read. The other members are
/// the product's own, and readers of every organisation wait for what comes after them.
const WITHHELD: &str = "[withheld: the organisation's secrets can't be read]";

/// Events as they are answered.
pub(super) async fn redacted(api: &Api, found: Vec<Listed>) -> Result<Vec<EventView>, RunError> {
    let mut events: Vec<EventView> = found.into_iter().map(EventView::from).collect();
    let mut redactors: HashMap<String, Option<Arc<Redactor>>> = HashMap::new();
    for event in &mut events {
        if !WORDS.iter().any(|word| event.detail.contains_key(*word)) {
            continue;
        }
        if !redactors.contains_key(&event.organisation) {
            let mut db = api.engine.pool().acquire().await?;
            let redactor = match api.engine.redactor(&mut db, &event.organisation).await {
                Ok(redactor) => Some(redactor),
                Err(RunError::Unavailable(_)) => None,
                Err(error) => return Err(error),
            };
            redactors.insert(event.organisation.clone(), redactor);
        }
        let redactor = redactors
            .get(&event.organisation)
            .and_then(Option::as_deref);
        for word in WORDS {
            if let Some(Value::String(text)) = event.detail.get_mut(word) {
                *text =
                    redactor.map_or_else(|| WITHHELD.to_owned(), |redactor| redactor.apply(text));
            }
        }
    }
    Ok(events)
}
