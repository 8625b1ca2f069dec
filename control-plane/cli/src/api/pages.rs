//! Lists: page after page until enough is read.

use serde_json::{Map, Value};

use super::{Client, segment};
use crate::error::Failure;

/// The API's largest page.
const MAX_PAGE: usize = 1_000;

/// Parameters of a list; those without a value are left out.
pub(crate) type Query<'a> = &'a [(&'a str, Option<&'a str>)];

/// What was read of a list.
#[derive(Debug)]
pub(crate) struct List {
    /// The list's objects.
    pub(crate) items: Vec<Value>,
    /// The answer's other members, as the last page had them; `next` among them.
    pub(crate) rest: Map<String, Value>,
}

impl List {
    /// Whether the control plane has more than was read.
    pub(crate) fn has_more(&self) -> bool {
        self.rest.get("next").is_some_and(|next| !next.is_null())
    }

    /// The API's shape again.
    pub(crate) fn into_json(self, plural: &str) -> Value {
        let mut whole = Map::new();
        whole.insert(plural.to_owned(), Value::Array(self.items));
        whole.extend(self.rest);
        Value::Object(whole)
    }
}

impl Client {
    /// The first `limit` objects of the list at `path`, in as many pages as that takes.
    ///
    /// # Errors
    /// As [`Client::get`], and when the answer is no such list.
    pub(crate) async fn list(
        &self,
        path: &str,
        plural: &str,
        query: Query<'_>,
        limit: usize,
    ) -> Result<List, Failure> {
        let mut items = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = (limit - items.len()).min(MAX_PAGE);
            let mut target = format!("{path}?limit={page}");
            let after_now = [("after", after.as_deref())];
            for (name, value) in query.iter().chain(&after_now) {
                if let Some(value) = value {
                    target.push_str(&format!("&{name}={}", segment(value)));
                }
            }
            let Value::Object(mut answer) = self.get(&target).await? else {
                return Err(Failure::stranger("its answer is no list"));
            };
            let Some(Value::Array(page)) = answer.shift_remove(plural) else {
                return Err(Failure::stranger(format!(
                    "its answer has no list `{plural}`"
                )));
            };
            let was_empty = page.is_empty();
            items.extend(page);
            after = match answer.get("next") {
                None | Some(Value::Null) => None,
                Some(Value::String(next)) => Some(next.clone()),
                Some(next) => Some(next.to_string()),
            };
            if after.is_none() || items.len() >= limit || was_empty {
                return Ok(List {
                    items,
                    rest: answer,
                });
            }
        }
    }
}
