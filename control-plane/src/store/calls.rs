//! Calls: claimed with their share of the budget, sent to a machine, stored as messages.

use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::runs::Run;

/// Seconds for which a claim holds unless it is renewed.
pub const LEASE_S: i32 = 6;

/// A call that nobody made before.
#[derive(Debug, Clone)]
pub struct NewCall {
    /// The chat backend's id.
    pub call_id: String,
    /// The machine's id of it.
    pub machine_id: String,
    /// The tool's name as received.
    pub name: String,
    /// JSON text of the redacted arguments.
    pub arguments: String,
    /// Keyed digest of name and arguments as received.
    pub digest: Vec<u8>,
}

/// What claiming came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct Claim {
    /// The run's turn.
    pub turn: i32,
    /// Calls that remain after the whole batch.
    pub remaining: i32,
}

/// Claims a batch of calls in one statement. `None`, and nothing was changed, when the
/// run is absent, ended or short of budget, when any of the ids is known, or when the
/// organisation's secrets are of another version than `secrets`, with which the calls
/// were redacted.
///
/// The commit is not durable: it becomes so with the first durable commit after
/// it, and until then the call had no effect. A concurrent claim of one of the
/// ids fails on `calls_pkey`, see [`is_duplicate`].
///
/// # Errors
/// When the database does not answer, or on such a duplicate.
pub async fn claim(
    pool: &PgPool,
    run: Uuid,
    calls: &[NewCall],
    secrets: i64,
) -> sqlx::Result<Option<Claim>> {
    let columns = Columns::of(calls);
    sqlx::query_as(
        "WITH relaxed AS MATERIALIZED (
           SELECT set_config('synchronous_commit', 'off', true) AS word
         ), taken AS (
           UPDATE runs SET remaining = remaining - $2, last_request_at = now()
           FROM organisations o
           WHERE runs.id = $1 AND state = 'open' AND remaining >= $2
             AND o.id = organisation AND o.secrets_version = $9
             AND (SELECT word FROM relaxed) = 'off'
             AND NOT EXISTS (SELECT FROM calls WHERE run = $1 AND call_id = ANY($3))
           RETURNING turn, remaining
         ), claimed AS (
           INSERT INTO calls (run, call_id, machine_id, turn, name, arguments, digest, remaining,
                              state, lease_until)
           SELECT $1, c.call_id, c.machine_id, taken.turn, c.name, c.arguments::json, c.digest,
                  taken.remaining + $2 - c.n, 'claimed', now() + make_interval(secs => $8)
           FROM taken, unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
             WITH ORDINALITY AS c (call_id, machine_id, name, arguments, digest, n)
         )
         SELECT turn, remaining FROM taken",
    )
    .bind(run)
    .bind(i32::try_from(calls.len()).unwrap_or(i32::MAX))
    .bind(columns.call_ids)
    .bind(columns.machine_ids)
    .bind(columns.names)
    .bind(columns.arguments)
    .bind(columns.digests)
    .bind(f64::from(LEASE_S))
    .bind(secrets)
    .fetch_optional(pool)
    .await
}

/// Whether an error says that another request claimed one of the ids meanwhile.
#[must_use]
pub fn is_duplicate(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.constraint() == Some("calls_pkey"))
}

#[derive(Default)]
struct Columns<'a> {
    call_ids: Vec<&'a str>,
    machine_ids: Vec<&'a str>,
    names: Vec<&'a str>,
    arguments: Vec<&'a str>,
    digests: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(calls: &'a [NewCall]) -> Self {
        let mut columns = Self::default();
        for call in calls {
            columns.call_ids.push(&call.call_id);
            columns.machine_ids.push(&call.machine_id);
            columns.names.push(&call.name);
            columns.arguments.push(&call.arguments);
            columns.digests.push(&call.digest);
        }
        columns
    }
}

/// A call of which the database knows.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct KnownCall {
    /// The chat backend's id.
    pub call_id: String,
    /// Keyed digest of name and arguments as first received.
    pub digest: Vec<u8>,
}

/// Which of these ids the run knows.
///
/// # Errors
/// When the database does not answer.
pub async fn known(
    db: &mut PgConnection,
    run: Uuid,
    call_ids: &[&str],
) -> sqlx::Result<Vec<KnownCall>> {
    sqlx::query_as("SELECT call_id, digest FROM calls WHERE run = $1 AND call_id = ANY($2)")
        .bind(run)
        .bind(call_ids)
        .fetch_all(db)
        .await
}

/// Inserts one claimed call whose share of the budget the caller has counted. False, and
/// nothing was changed, when the organisation's secrets are of another version than
/// `secrets`, with which the call was redacted.
///
/// # Errors
/// When the database does not answer, or the id is known.
pub async fn insert(
    db: &mut PgConnection,
    run: &Run,
    call: &NewCall,
    remaining: i32,
    secrets: i64,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "INSERT INTO calls (run, call_id, machine_id, turn, name, arguments, digest, remaining,
                            state, lease_until)
         SELECT $1, $2, $3, $4, $5, $6::json, $7, $8, 'claimed', now() + make_interval(secs => $9)
         FROM organisations WHERE id = $10 AND secrets_version = $11",
    )
    .bind(run.id)
    .bind(&call.call_id)
    .bind(&call.machine_id)
    .bind(run.turn)
    .bind(&call.name)
    .bind(&call.arguments)
    .bind(&call.digest)
    .bind(remaining)
    .bind(f64::from(LEASE_S))
    .bind(&run.organisation)
    .bind(secrets)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Where a call is to be sent.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Destination {
    /// Machine id.
    pub machine: String,
    /// `https://host:port`
    pub address: String,
}

/// Marks a claimed call as sent and answers where its agent's machine is now.
/// `None` when the call is not `claimed` any more.
///
/// # Errors
/// When the database does not answer.
pub async fn mark_sent(
    db: &mut PgConnection,
    run: Uuid,
    call_id: &str,
) -> sqlx::Result<Option<Destination>> {
    sqlx::query_as(
        "UPDATE calls c SET state = 'sent', sent_at = clock_timestamp(),
                lease_until = now() + make_interval(secs => $3)
         FROM runs r JOIN agents a ON a.id = r.agent JOIN machines m ON m.id = a.machine
         WHERE c.run = $1 AND c.call_id = $2 AND c.state = 'claimed' AND r.id = c.run
         RETURNING m.id AS machine, m.address",
    )
    .bind(run)
    .bind(call_id)
    .bind(f64::from(LEASE_S))
    .fetch_optional(db)
    .await
}

/// Where the machine of a run's agent is now.
///
/// # Errors
/// When the database does not answer.
pub async fn destination(pool: &PgPool, run: Uuid) -> sqlx::Result<Destination> {
    sqlx::query_as(
        "SELECT m.id AS machine, m.address
         FROM runs r JOIN agents a ON a.id = r.agent JOIN machines m ON m.id = a.machine
         WHERE r.id = $1",
    )
    .bind(run)
    .fetch_one(pool)
    .await
}

/// Whether a call is claimed and not sent, its row locked until the transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn is_claimed_locked(
    db: &mut PgConnection,
    run: Uuid,
    call_id: &str,
) -> sqlx::Result<bool> {
    let state: Option<String> = sqlx::query_scalar(
        "SELECT state FROM calls WHERE run = $1 AND call_id = $2 FOR NO KEY UPDATE",
    )
    .bind(run)
    .bind(call_id)
    .fetch_optional(db)
    .await?;
    Ok(state.as_deref() == Some("claimed"))
}

/// What storing a message came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The call has it.
    Now,
    /// The call had a message already.
    Before,
    /// Nothing was changed: the organisation's secrets are others than those that were
    /// taken out of it.
    OldSecrets,
}

/// Writes the message of a call, its content and metadata, and gives it the run's next
/// sequence, whose row stays locked until the commit, so that a reader never skips one.
/// The statement itself looks at the version of the organisation's secrets: a value that
/// was committed before it began is never in what it stores.
///
/// Only the stamp of the result pipeline calls this.
///
/// # Errors
/// When the database does not answer.
pub(crate) async fn store_message(
    db: &mut PgConnection,
    run: Uuid,
    call_id: &str,
    (content, metadata): (&str, &str),
    secrets: i64,
) -> sqlx::Result<Stored> {
    let (current, stored): (bool, bool) = sqlx::query_as(
        "WITH secrets AS (
           SELECT o.secrets_version = $6 AS current
           FROM runs r JOIN organisations o ON o.id = r.organisation WHERE r.id = $1
         ), numbered AS (
           UPDATE runs SET next_sequence = next_sequence + 1
           WHERE id = $1 AND (SELECT current FROM secrets)
           RETURNING next_sequence - 1 AS sequence
         ), stored AS (
           UPDATE calls SET state = 'stored', sequence = numbered.sequence, message = $3, content = $4,
                  metadata = $5::json, stored_at = clock_timestamp(), lease_until = NULL
           FROM numbered WHERE run = $1 AND call_id = $2 AND state <> 'stored'
           RETURNING TRUE
         )
         SELECT current, EXISTS (SELECT FROM stored) FROM secrets",
    )
    .bind(run)
    .bind(call_id)
    .bind(Uuid::now_v7())
    .bind(content)
    .bind(metadata)
    .bind(secrets)
    .fetch_one(db)
    .await?;
    Ok(match (current, stored) {
        (false, _) => Stored::OldSecrets,
        (true, true) => Stored::Now,
        (true, false) => Stored::Before,
    })
}

/// The redacted arguments of a call that has no message yet.
///
/// # Errors
/// When the database does not answer.
pub async fn arguments(
    db: &mut PgConnection,
    run: Uuid,
    call_id: &str,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT arguments::text FROM calls WHERE run = $1 AND call_id = $2 AND state <> 'stored'",
    )
    .bind(run)
    .bind(call_id)
    .fetch_optional(db)
    .await
}

/// Writes the arguments of a call that has no message yet, redacted again.
///
/// # Errors
/// When the database does not answer.
pub async fn set_arguments(
    db: &mut PgConnection,
    run: Uuid,
    call_id: &str,
    arguments: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE calls SET arguments = $3::json
         WHERE run = $1 AND call_id = $2 AND state <> 'stored'",
    )
    .bind(run)
    .bind(call_id)
    .bind(arguments)
    .execute(db)
    .await?;
    Ok(())
}

/// A stored message's text and metadata.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Message {
    /// The stamped string.
    pub content: String,
    /// JSON text.
    pub metadata: String,
}

/// The message of a call, once it has one.
///
/// # Errors
/// When the database does not answer.
pub async fn message(pool: &PgPool, run: Uuid, call_id: &str) -> sqlx::Result<Option<Message>> {
    sqlx::query_as(
        "SELECT content, metadata::text AS metadata FROM calls
         WHERE run = $1 AND call_id = $2 AND state = 'stored'",
    )
    .bind(run)
    .bind(call_id)
    .fetch_optional(pool)
    .await
}

/// A call that has no message yet.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct OpenCall {
    /// Its run.
    pub run: Uuid,
    /// The chat backend's id.
    pub call_id: String,
    /// The machine's id of it.
    pub machine_id: String,
    /// The turn it was made in.
    pub turn: i32,
    /// The tool's name.
    pub name: String,
    /// JSON text of the redacted arguments.
    pub arguments: String,
    /// Keyed digest of name and arguments as received.
    pub digest: Vec<u8>,
    /// N of its trailer.
    pub remaining: i32,
    /// `claimed` or `sent`.
    pub state: String,
}

impl OpenCall {
    /// Whether its machine may have heard of it.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.state == "sent"
    }
}

/// The calls of a run that have no message yet, or one of them.
///
/// # Errors
/// When the database does not answer.
pub async fn open(
    db: &mut PgConnection,
    run: Uuid,
    call_id: Option<&str>,
) -> sqlx::Result<Vec<OpenCall>> {
    sqlx::query_as(
        "SELECT run, call_id, machine_id, turn, name, arguments::text AS arguments, digest,
                remaining, state
         FROM calls WHERE run = $1 AND ($2::text IS NULL OR call_id = $2) AND state <> 'stored'
         ORDER BY claimed_at, call_id",
    )
    .bind(run)
    .bind(call_id)
    .fetch_all(db)
    .await
}

/// Renews the leases of these calls.
///
/// # Errors
/// When the database does not answer.
pub async fn renew(pool: &PgPool, calls: &[(Uuid, String)], seconds: i32) -> sqlx::Result<()> {
    let (runs, ids): (Vec<Uuid>, Vec<&str>) =
        calls.iter().map(|(run, id)| (*run, id.as_str())).unzip();
    sqlx::query(
        "UPDATE calls c SET lease_until = now() + make_interval(secs => $3)
         FROM unnest($1::uuid[], $2::text[]) AS held (run, call_id)
         WHERE c.run = held.run AND c.call_id = held.call_id AND c.state <> 'stored'",
    )
    .bind(runs)
    .bind(ids)
    .bind(f64::from(seconds))
    .execute(pool)
    .await?;
    Ok(())
}

/// Takes the calls whose lease ended, of up to `runs` runs, and leases them to the caller.
/// No two replicas get the same one, and none of them gets a part of a run: what a run's
/// calls touch is touched in their order.
///
/// # Errors
/// When the database does not answer.
pub async fn take_expired(pool: &PgPool, runs: i64) -> sqlx::Result<Vec<OpenCall>> {
    sqlx::query_as(
        "WITH due AS (
           SELECT run FROM calls WHERE state <> 'stored' AND lease_until < now()
           GROUP BY run ORDER BY min(lease_until), run LIMIT $1
         ), held AS MATERIALIZED (
           SELECT r.id FROM runs r JOIN due ON due.run = r.id
           ORDER BY r.id FOR NO KEY UPDATE OF r SKIP LOCKED
         ), expired AS MATERIALIZED (
           SELECT c.run, c.call_id FROM calls c JOIN held ON held.id = c.run
           WHERE c.state <> 'stored' AND c.lease_until < now()
           ORDER BY c.run, c.call_id FOR UPDATE OF c SKIP LOCKED
         )
         UPDATE calls c SET lease_until = now() + make_interval(secs => $2)
         FROM expired e WHERE c.run = e.run AND c.call_id = e.call_id
         RETURNING c.run, c.call_id, c.machine_id, c.turn, c.name, c.arguments::text AS arguments,
                   c.digest, c.remaining, c.state",
    )
    .bind(runs)
    .bind(f64::from(LEASE_S))
    .fetch_all(pool)
    .await
}
