//! Requests for secrets: what agents ask for, and what an operator decided.

use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use super::agents::Agent;
use super::place::Place;
use super::time::rfc3339;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretRequest {
    /// Its id.
    pub id: Uuid,
    /// Who asked.
    pub agent: String,
    /// Its guild at that time.
    pub guild: String,
    /// The secret's name.
    pub name: String,
    reason: String,
    /// `pending`, `fulfilled` or `denied`.
    pub status: String,
    run: Option<Uuid>,
    created_at: String,
    decided_at: Option<String>,
    /// Why it was denied.
    answer: Option<String>,
    #[serde(skip)]
    created_us: i64,
}

impl SecretRequest {
    /// Its place in the list.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            at_us: self.created_us,
            id: self.id.to_string(),
        }
    }

    /// When it was decided, in words.
    #[must_use]
    pub fn decided(&self) -> String {
        let at = self.decided_at.as_deref().unwrap_or("an unknown time");
        format!("{} at {at}", self.status)
    }
}

/// Which requests are wanted.
#[derive(Debug, Default)]
pub struct Filter {
    /// `pending`, `fulfilled` or `denied`.
    pub status: Option<&'static str>,
    /// One of these ids.
    pub ids: Option<Vec<Uuid>>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    agent: String,
    guild: String,
    name: String,
    reason: String,
    status: String,
    run: Option<Uuid>,
    created_us: i64,
    decided_ms: Option<i64>,
    answer: Option<String>,
}

impl From<Row> for SecretRequest {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            agent: row.agent,
            guild: row.guild,
            name: row.name,
            reason: row.reason,
            status: row.status,
            run: row.run,
            created_at: rfc3339(row.created_us.div_euclid(1_000)),
            decided_at: row.decided_ms.map(rfc3339),
            answer: row.answer,
            created_us: row.created_us,
        }
    }
}

/// Up to `limit` requests of an organisation after a place, newest first.
///
/// # Errors
/// When the database does not answer.
pub async fn page(
    db: &mut PgConnection,
    organisation: &str,
    filter: &Filter,
    after: Option<&Place>,
    limit: i64,
) -> sqlx::Result<Vec<SecretRequest>> {
    let rows: Vec<Row> = sqlx::query_as(
        "WITH listed AS (
           SELECT *, floor(extract(epoch FROM created_at) * 1000000)::bigint AS created_us
           FROM secret_requests
           WHERE organisation = $1 AND ($2::text IS NULL OR status = $2)
             AND ($3::uuid[] IS NULL OR id = ANY($3))
         )
         SELECT id, agent, guild, name, reason, status, run, created_us, answer,
                floor(extract(epoch FROM decided_at) * 1000)::bigint AS decided_ms
         FROM listed WHERE $4::bigint IS NULL OR (created_us, id) < ($4, $5)
         ORDER BY created_us DESC, id DESC LIMIT $6",
    )
    .bind(organisation)
    .bind(filter.status)
    .bind(&filter.ids)
    .bind(after.map(|place| place.at_us))
    .bind(after.and_then(|place| Uuid::try_parse(&place.id).ok()))
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(SecretRequest::from).collect())
}

/// One request of an organisation.
///
/// # Errors
/// When the database does not answer.
pub async fn find(
    db: &mut PgConnection,
    organisation: &str,
    id: Uuid,
) -> sqlx::Result<Option<SecretRequest>> {
    let filter = Filter {
        ids: Some(vec![id]),
        ..Filter::default()
    };
    Ok(page(db, organisation, &filter, None, 1).await?.pop())
}

/// Holds a request until the transaction ends. False without such a request.
///
/// # Errors
/// When the database does not answer.
pub async fn hold(db: &mut PgConnection, organisation: &str, id: Uuid) -> sqlx::Result<bool> {
    let found: Option<Uuid> = sqlx::query_scalar(
        "SELECT id FROM secret_requests WHERE organisation = $1 AND id = $2 FOR NO KEY UPDATE",
    )
    .bind(organisation)
    .bind(id)
    .fetch_optional(db)
    .await?;
    Ok(found.is_some())
}

/// A request to be.
#[derive(Debug)]
pub struct NewRequest<'a> {
    /// Who asks.
    pub agent: &'a Agent,
    /// The run that asks.
    pub run: Uuid,
    /// The call that asks.
    pub call_id: &'a str,
    /// The secret's name.
    pub name: &'a str,
    /// Why, without secrets.
    pub reason: &'a str,
}

/// Ids and names of the requests of an agent that wait for an answer, oldest first. Holds
/// off every other request of the agent until the transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn hold_pending_of(
    db: &mut PgConnection,
    agent: &str,
) -> sqlx::Result<Vec<(Uuid, String)>> {
    // The agent's row is the lock: without a request there is no other to hold.
    sqlx::query("SELECT id FROM agents WHERE id = $1 FOR NO KEY UPDATE")
        .bind(agent)
        .fetch_optional(&mut *db)
        .await?;
    sqlx::query_as(
        "SELECT id, name FROM secret_requests WHERE agent = $1 AND status = 'pending'
         ORDER BY created_at, id",
    )
    .bind(agent)
    .fetch_all(db)
    .await
}

/// Stores a request that waits for an answer, and answers its id.
///
/// # Errors
/// When the database does not answer.
pub async fn insert(db: &mut PgConnection, new: &NewRequest<'_>) -> sqlx::Result<Uuid> {
    let id = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO secret_requests (id, organisation, guild, agent, run, call_id, name, reason)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(id)
    .bind(&new.agent.organisation)
    .bind(&new.agent.guild)
    .bind(&new.agent.id)
    .bind(new.run)
    .bind(new.call_id)
    .bind(new.name)
    .bind(new.reason)
    .execute(db)
    .await?;
    Ok(id)
}

/// Decides a request that the caller holds and that is pending. `answer` says why it is denied.
///
/// # Errors
/// When the database does not answer.
pub async fn decide(
    db: &mut PgConnection,
    id: Uuid,
    status: &str,
    answer: Option<&str>,
    actor: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE secret_requests
         SET status = $2, answer = $3, decided_by = $4, decided_at = clock_timestamp()
         WHERE id = $1",
    )
    .bind(id)
    .bind(status)
    .bind(answer)
    .bind(actor)
    .execute(db)
    .await?;
    Ok(())
}
