//! The inbox: what waits for an operator, open issues and pending requests for secrets, newest first.

use std::collections::HashMap;

use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use super::issues::reading::{self as issues, Issue};
use super::place::Place;
use super::secret_requests::{self, SecretRequest};

/// Something that waits.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// An open issue.
    Issue(Box<Issue>),
    /// A pending request.
    SecretRequest(Box<SecretRequest>),
}

impl Item {
    /// Its place in the list.
    #[must_use]
    pub fn place(&self) -> Place {
        let (word, place) = match self {
            Self::Issue(issue) => ("issue", issue.place()),
            Self::SecretRequest(request) => ("secret_request", request.place()),
        };
        Place {
            at_us: place.at_us,
            id: format!("{word}.{}", place.id),
        }
    }

    /// Roughly its bytes in an answer.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Issue(issue) => issue.weight(),
            Self::SecretRequest(_) => 1_000,
        }
    }
}

/// How much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct Counts {
    /// Open issues.
    pub issues: i64,
    /// Pending requests for secrets.
    pub secret_requests: i64,
}

/// Up to `limit` items of an organisation after a place.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    organisation: &str,
    after: Option<&Place>,
    limit: i64,
) -> sqlx::Result<Vec<Item>> {
    let ids: Vec<String> = sqlx::query_scalar(
        "WITH waiting AS (
           SELECT 'issue.' || id AS id, floor(extract(epoch FROM last_at) * 1000000)::bigint AS at
           FROM issues WHERE organisation = $1 AND status = 'open'
           UNION ALL
           SELECT 'secret_request.' || id, floor(extract(epoch FROM created_at) * 1000000)::bigint
           FROM secret_requests WHERE organisation = $1 AND status = 'pending'
         )
         SELECT id FROM waiting
         WHERE $2::bigint IS NULL OR (at, id COLLATE \"C\") < ($2, $3)
         ORDER BY at DESC, id COLLATE \"C\" DESC LIMIT $4",
    )
    .bind(organisation)
    .bind(after.map(|place| place.at_us))
    .bind(after.map(|place| place.id.as_str()))
    .bind(limit)
    .fetch_all(&mut *db)
    .await?;
    let numbers = ids.iter().filter_map(|id| id.strip_prefix("issue."));
    let of_issues = issues::Filter {
        ids: Some(numbers.filter_map(|id| id.parse().ok()).collect()),
        status: Some("open"),
        ..issues::Filter::default()
    };
    let uuids = ids
        .iter()
        .filter_map(|id| id.strip_prefix("secret_request."));
    let of_requests = secret_requests::Filter {
        ids: Some(uuids.filter_map(|id| Uuid::try_parse(id).ok()).collect()),
        status: Some("pending"),
    };
    let issues = issues::page(db, organisation, &of_issues, None, limit).await?;
    let requests = secret_requests::page(db, organisation, &of_requests, None, limit).await?;
    let issues = issues.into_iter().map(|issue| Item::Issue(Box::new(issue)));
    let requests = requests
        .into_iter()
        .map(|request| Item::SecretRequest(Box::new(request)));
    let mut found: HashMap<String, Item> = issues
        .chain(requests)
        .map(|item| (item.place().id, item))
        .collect();
    // What was decided since the first look is gone.
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// How much waits in an organisation.
///
/// # Errors
/// When the database does not answer.
pub async fn counts(db: &mut PgConnection, organisation: &str) -> sqlx::Result<Counts> {
    sqlx::query_as(
        "SELECT (SELECT count(*) FROM issues
                 WHERE organisation = $1 AND status = 'open') AS issues,
                (SELECT count(*) FROM secret_requests
                 WHERE organisation = $1 AND status = 'pending') AS secret_requests",
    )
    .bind(organisation)
    .fetch_one(db)
    .await
}
