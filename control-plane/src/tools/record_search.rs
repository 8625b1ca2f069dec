//! `record_search`: text search across the collections that an agent may read, or one.

use serde::{Deserialize, Serialize};

use super::record_body::Shown;
use super::record_refusals::{in_time, readable};
use super::record_where::conditions;
use super::validation::whole_number;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::records::body::Body;
use crate::store::records::conditions::ready;
use crate::store::records::reading::{self, Within};
use crate::store::records::reach;
use crate::store::words;

/// Characters of a query; more is a text, not a search.
const MAX_QUERY: usize = 1_000;

pub(super) struct RecordSearch;

#[derive(Deserialize)]
pub(super) struct Args {
    query: String,
    collection: Option<String>,
    #[serde(rename = "where")]
    narrowed: Option<Body>,
    #[serde(default = "default_limit", deserialize_with = "whole_number")]
    limit: i64,
}

const fn default_limit() -> i64 {
    20
}

#[derive(Serialize)]
struct Records {
    records: Vec<Shown>,
}

impl Tool for RecordSearch {
    const NAME: &'static str = "record_search";
    const DESCRIPTION: &'static str = "Searches the records of every collection you may read, or of one, by the words in any of their columns. Words are joined by AND and match whole words in any case; OR widens, \"quotes\" keep a phrase, -word excludes; a single word also matches inside words. It is never fuzzy: for a name that may be spelt another way use record_list with where. Answers with the records, each with its collection and id: whole words first, then parts of words, then the newest.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "query": {
      "type": "string",
      "description": "The words to look for, at most 1,000 characters. To list records without a word use record_list."
    },
    "collection": {
      "type": "string",
      "description": "Name of one collection. Omit it to search every collection you may read."
    },
    "where": {
      "type": "object",
      "description": "Narrows by columns, as in record_list: { column: term }, at most 8 columns. Needs collection. Omit it to search all records."
    },
    "limit": {
      "type": "integer",
      "minimum": 1,
      "maximum": 100,
      "default": 20,
      "description": "Most records to answer with, 1 to 100; 20 when omitted."
    }
  },
  "required": ["query"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"query": "\"acme corp\" -lost", "collection": "contacts", "where": {"stage": "lead"}, "limit": 10}"#;
    const OFFERED: Offered = Offered::Binding(Family::Record);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        if args.query.chars().count() > MAX_QUERY {
            return Err(ToolError::invalid(format!(
                "the query has more than {MAX_QUERY} characters; look for a few words"
            )));
        }
        let query = words::parse(&args.query).map_err(ToolError::invalid)?;
        let agent = &cx.caller.agent;
        let collections = match (&args.collection, &args.narrowed) {
            (Some(name), _) => vec![readable(cx.db, agent, name).await?],
            (None, None) => reach::all(cx.db, agent).await?,
            (None, Some(_)) => {
                return Err(ToolError::invalid(
                    "where needs collection; name the collection whose columns it means",
                ));
            }
        };
        reading::bound(cx.db).await?;
        let mut within = Vec::new();
        let mut narrowed = Vec::new();
        if let ([definition], Some(_)) = (collections.as_slice(), &args.narrowed) {
            let read = conditions(definition, args.narrowed.as_ref())?;
            narrowed = in_time(ready(cx.db, definition.id, &read).await)?;
        }
        for definition in &collections {
            within.push(Within {
                definition,
                conditions: &narrowed,
            });
        }
        let found = in_time(reading::search(cx.db, &within, &query, args.limit).await)?;
        reading::unbound(cx.db).await?;
        let shown = |found: reading::Found| {
            let place = usize::try_from(found.place).ok()?;
            Some(Shown::of(collections.get(place)?, found.record))
        };
        let records = found.into_iter().filter_map(shown).collect();
        Ok(Answer::Text(serde_json::to_string(&Records { records })?))
    }
}
