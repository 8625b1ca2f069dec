//! Where secrets were used: the calls that were sent with them in the environment of a command.

use serde::Serialize;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::time::rfc3339;

/// One call that had a secret.
#[derive(Debug, Serialize)]
pub struct SecretUse {
    agent: String,
    run: Uuid,
    call_id: String,
    tool: String,
    at: String,
}

#[derive(sqlx::FromRow)]
struct Row {
    agent: String,
    run: Uuid,
    call_id: String,
    tool: String,
    at_ms: i64,
}

/// Notes that a call is sent with these secrets. One that was removed meanwhile is left out.
///
/// # Errors
/// When the database does not answer.
pub async fn record(
    db: &mut PgConnection,
    run: Uuid,
    call_id: &str,
    secrets: &[Uuid],
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO secret_uses (secret, run, call_id)
         SELECT id, $1, $2 FROM secrets WHERE id = ANY($3) ORDER BY id FOR KEY SHARE
         ON CONFLICT ON CONSTRAINT secret_uses_pkey DO NOTHING",
    )
    .bind(run)
    .bind(call_id)
    .bind(secrets)
    .execute(db)
    .await?;
    Ok(())
}

/// The last calls that had a secret, newest first.
///
/// # Errors
/// When the database does not answer.
pub async fn last(db: &mut PgConnection, secret: Uuid, limit: i64) -> sqlx::Result<Vec<SecretUse>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT r.agent, u.run, u.call_id, c.name AS tool,
                floor(extract(epoch FROM u.at) * 1000)::bigint AS at_ms
         FROM (SELECT * FROM secret_uses WHERE secret = $1
               ORDER BY at DESC, run DESC, call_id DESC LIMIT $2) u
         JOIN calls c ON c.run = u.run AND c.call_id = u.call_id JOIN runs r ON r.id = u.run
         ORDER BY u.at DESC, u.run DESC, u.call_id DESC",
    )
    .bind(secret)
    .bind(limit)
    .fetch_all(db)
    .await?;
    let shown = |row: Row| SecretUse {
        agent: row.agent,
        run: row.run,
        call_id: row.call_id,
        tool: row.tool,
        at: rfc3339(row.at_ms),
    };
    Ok(rows.into_iter().map(shown).collect())
}
