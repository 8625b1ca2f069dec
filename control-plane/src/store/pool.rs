//! The pool of connections and the migrations it needs.

use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, PgPool};

/// Time in which a question about readiness is answered, or the database counts as away.
const READY_WITHIN: Duration = Duration::from_secs(3);

/// Every migration, embedded.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../migrations");

/// Idle time after which a connection is asked whether it lives before it is used.
const PING_AFTER: Duration = Duration::from_secs(3);

/// Time after which a transaction in which nothing happens is ended by the server, its locks
/// with it: this program's transactions wait for nobody else.
const IDLE_IN_TRANSACTION_WITHIN: Duration = Duration::from_secs(60);
/// Time to get a connection. Calls of one run wait for each other here, so a burst needs some
/// patience.
const CONNECTION_WITHIN: Duration = Duration::from_secs(20);

/// Time for which a statement without a limit waits for a lock.
const LOCK_WITHIN: Duration = Duration::from_secs(20);

/// How long one statement may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statements {
    /// For what answers requests: no query of an agent holds the database for longer.
    Within(Duration),
    /// For verbs that an operator watches, such as migrations.
    Unlimited,
}

/// A pool that connects on first use. `max` bounds its connections.
///
/// # Errors
/// When the URL makes no sense.
pub fn connect_lazily(url: &str, max: u32, statements: Statements) -> sqlx::Result<PgPool> {
    let milliseconds = |time: Duration| format!("{}ms", time.as_millis());
    let statement = match statements {
        Statements::Within(time) => time,
        // PostgreSQL's word for none.
        Statements::Unlimited => Duration::ZERO,
    };
    let lock = match statements {
        // Less than the statement's own, so that who waits for others is told so.
        Statements::Within(time) => time * 2 / 3,
        Statements::Unlimited => LOCK_WITHIN,
    };
    let options = PgConnectOptions::from_str(url)?
        .application_name("guilds-control-plane")
        .options([
            ("statement_timeout", milliseconds(statement)),
            ("lock_timeout", milliseconds(lock)),
            (
                "idle_in_transaction_session_timeout",
                milliseconds(IDLE_IN_TRANSACTION_WITHIN),
            ),
        ])
        .disable_statement_logging();
    Ok(PgPoolOptions::new()
        .max_connections(max)
        .acquire_timeout(CONNECTION_WITHIN)
        .idle_timeout(Duration::from_secs(300))
        // A ping on each use would double the cost of a short call.
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                use sqlx::Connection as _;
                if meta.idle_for < PING_AFTER {
                    return Ok(true);
                }
                Ok(connection.ping().await.is_ok())
            })
        })
        // What a large request made of a connection's buffers goes with it.
        .after_release(|connection, _| {
            Box::pin(async move {
                use sqlx::Connection as _;
                connection.shrink_buffers();
                Ok(true)
            })
        })
        .connect_lazy_with(options))
}

/// Brings the database to this version's tables.
///
/// # Errors
/// When the database does not answer or a migration fails.
pub async fn migrate(pool: &PgPool) -> Result<(), sqlx::migrate::MigrateError> {
    MIGRATIONS.run(pool).await
}

/// Why a database is not ready.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// It does not answer.
    #[error("the database does not answer")]
    Unreachable(#[source] sqlx::Error),
    /// It says nothing.
    #[error("the database did not answer within {} s", READY_WITHIN.as_secs())]
    Silent,
    /// Its tables are older than this version.
    #[error("the database's migrations are behind: run `guilds-control-plane migrate`")]
    Behind,
}

/// Whether the database answers and has every migration of this version.
///
/// # Errors
/// [`NotReady`], written for the operator.
pub async fn ready(pool: &PgPool) -> Result<(), NotReady> {
    let asked =
        sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success").fetch_all(pool);
    let applied: Vec<i64> = match tokio::time::timeout(READY_WITHIN, asked).await {
        Ok(Ok(applied)) => applied,
        // 42P01: no such table; nothing was ever migrated.
        Ok(Err(sqlx::Error::Database(error))) if error.code().as_deref() == Some("42P01") => {
            return Err(NotReady::Behind);
        }
        Ok(Err(error)) => return Err(NotReady::Unreachable(error)),
        Err(_) => return Err(NotReady::Silent),
    };
    let missing = MIGRATIONS
        .iter()
        .any(|migration| !applied.contains(&migration.version));
    if missing {
        Err(NotReady::Behind)
    } else {
        Ok(())
    }
}
