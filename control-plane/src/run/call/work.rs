//! The connection of one storage call: a transaction whose effect a refusal undoes, or none for what only reads.

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

/// What a handler and its message are done in.
pub(super) enum Work {
    /// Effect and message become durable together.
    Effect(Transaction<'static, Postgres>),
    /// There is no effect: the statement that stores the message is durable by itself. Under
    /// READ COMMITTED each statement sees what is committed when it begins, in a transaction
    /// or not.
    Reading(PoolConnection<Postgres>),
}

impl Work {
    pub(super) async fn begin(pool: &PgPool, only_reads: bool) -> sqlx::Result<Self> {
        if only_reads {
            return Ok(Self::Reading(pool.acquire().await?));
        }
        // One message to the server opens both; the savepoint lets a refusal keep
        // its message and lose its effect.
        let tx = pool.begin_with("BEGIN; SAVEPOINT handler").await?;
        Ok(Self::Effect(tx))
    }

    pub(super) fn db(&mut self) -> &mut PgConnection {
        match self {
            Self::Effect(tx) => tx,
            Self::Reading(connection) => connection,
        }
    }

    /// The same in a transaction, so that its locks last until its end.
    pub(super) async fn lasting(self, pool: &PgPool) -> sqlx::Result<Self> {
        match self {
            Self::Reading(connection) => {
                // Never two at once: the pool may have no more.
                drop(connection);
                Self::begin(pool, false).await
            }
            effect @ Self::Effect(_) => Ok(effect),
        }
    }

    /// Undoes what the handler did.
    pub(super) async fn back(&mut self) -> sqlx::Result<()> {
        if let Self::Effect(tx) = self {
            sqlx::query("ROLLBACK TO SAVEPOINT handler")
                .execute(&mut **tx)
                .await?;
        }
        Ok(())
    }

    pub(super) async fn commit(self) -> sqlx::Result<()> {
        match self {
            Self::Effect(tx) => tx.commit().await,
            Self::Reading(_) => Ok(()),
        }
    }

    pub(super) async fn rollback(self) -> sqlx::Result<()> {
        match self {
            Self::Effect(tx) => tx.rollback().await,
            Self::Reading(_) => Ok(()),
        }
    }
}
