//! `record_list`: the records of one collection, narrowed and sorted.

use serde::{Deserialize, Serialize};

use super::record_body::Shown;
use super::record_refusals::{in_time, readable};
use super::record_where::{Order, conditions, order, since};
use super::validation::whole_number;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::collections::Column;
use crate::store::records::body::Body;
use crate::store::records::conditions::ready;
use crate::store::records::reading::{self, Asked};
use crate::store::time::rfc3339;

pub(super) struct RecordList;

#[derive(Deserialize)]
pub(super) struct Args {
    collection: String,
    #[serde(rename = "where")]
    narrowed: Option<Body>,
    since: Option<String>,
    order: Option<Order>,
    #[serde(default = "default_limit", deserialize_with = "whole_number")]
    limit: i64,
    #[serde(default, deserialize_with = "whole_number")]
    offset: i64,
}

const fn default_limit() -> i64 {
    20
}

#[derive(Serialize)]
struct Listed<'a> {
    total: i64,
    records: Vec<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Hint<'a>>,
}

/// What there is when nothing met what was asked.
#[derive(Serialize)]
struct Hint<'a> {
    records: i64,
    newest_change: Option<String>,
    columns: &'a [Column],
}

impl Tool for RecordList {
    const NAME: &'static str = "record_list";
    const DESCRIPTION: &'static str = "Lists the records of one collection, all or narrowed by where and since, with how many there are in total. where is { column: term }: text and items of an array match by a part of them or by similar spelling; a column with a list of values matches exactly; numbers and times match exactly or by { \"gte\": …, \"lte\": … }, a bare date is that day in UTC; true, false and id match exactly; null finds records without a value. id, created_at and updated_at are columns too. Use since to follow what changed: it lists the oldest change first. When nothing is left, hint tells how many records there are, the newest change and the columns.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "collection": {
      "type": "string",
      "description": "Name of the collection."
    },
    "where": {
      "type": "object",
      "description": "Narrows by columns: { column: term }, at most 8 columns, a term of at most 200 characters. Omit it to list all records."
    },
    "since": {
      "type": "string",
      "description": "A time such as 2026-03-01T09:30:00Z: only records created or updated at or after it, the oldest change first. Omit it to list records of any age."
    },
    "order": {
      "type": "object",
      "properties": {
        "column": {
          "type": "string",
          "description": "A column that is no array, or id, created_at, updated_at."
        },
        "direction": {
          "type": "string",
          "enum": ["asc", "desc"],
          "default": "asc",
          "description": "asc: the smallest first. desc: the largest first. Omit it for asc."
        }
      },
      "required": ["column"],
      "additionalProperties": false,
      "description": "What to sort by; records without a value come last. Omit it to sort by id."
    },
    "limit": {
      "type": "integer",
      "minimum": 1,
      "maximum": 100,
      "default": 20,
      "description": "Most records to answer with, 1 to 100; 20 when omitted."
    },
    "offset": {
      "type": "integer",
      "minimum": 0,
      "maximum": 1000000000,
      "default": 0,
      "description": "How many records to pass over; 0 when omitted."
    }
  },
  "required": ["collection"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"collection": "contacts", "where": {"stage": "lead", "amount": {"gte": 100}}, "order": {"column": "met_at", "direction": "desc"}, "limit": 50}"#;
    const OFFERED: Offered = Offered::Binding(Family::Record);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        let definition = readable(cx.db, &cx.caller.agent, &args.collection).await?;
        let read = conditions(&definition, args.narrowed.as_ref())?;
        let since = since(args.since.as_deref())?;
        let order = order(&definition, args.order.as_ref(), since.is_some())?;
        reading::bound(cx.db).await?;
        let ready = in_time(ready(cx.db, definition.id, &read).await)?;
        let asked = Asked {
            conditions: &ready,
            since,
            order: &order,
            limit: args.limit,
            offset: args.offset,
        };
        let (total, records) = in_time(reading::list(cx.db, &definition, &asked).await)?;
        let narrowed = !ready.is_empty() || since.is_some();
        let hint = if total == 0 && narrowed {
            let newest = reading::newest_change(cx.db, definition.id).await?;
            Some(Hint {
                records: reading::count(cx.db, definition.id).await?,
                newest_change: newest.map(rfc3339),
                columns: &definition.columns,
            })
        } else {
            None
        };
        reading::unbound(cx.db).await?;
        let shown = |live| Shown::of(&definition, live);
        let records = records.into_iter().map(shown).collect();
        Ok(Answer::Text(serde_json::to_string(&Listed {
            total,
            records,
            hint,
        })?))
    }
}
