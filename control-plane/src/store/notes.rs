//! Notes: found, searched and changed by an agent within its access.

pub mod history;
pub mod operators;

use sqlx::PgConnection;

use super::access::{Access, access_sql};
use super::agents::Agent;
use super::words::{self, Query};

/// Where a note stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// One agent's.
    Agent,
    /// A guild's.
    Guild,
    /// The organisation's.
    Org,
}

impl Level {
    /// Every level, nearest first.
    pub const ALL: [Self; 3] = [Self::Agent, Self::Guild, Self::Org];

    /// The word in paths, results and the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Guild => "guild",
            Self::Org => "org",
        }
    }

    /// The level a word names.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

/// The place of a note: one live note or tombstone at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its level.
    pub level: Level,
    /// The agent's, guild's or organisation's id.
    pub owner: String,
    /// The file name.
    pub key: String,
}

impl Place {
    /// The place of a key at one of an agent's own levels.
    #[must_use]
    pub fn of(agent: &Agent, level: Level, key: &str) -> Self {
        let owner = match level {
            Level::Agent => &agent.id,
            Level::Guild => &agent.guild,
            Level::Org => &agent.organisation,
        };
        Self {
            level,
            owner: owner.clone(),
            key: key.to_owned(),
        }
    }
}

/// Most characters of a key before `.md`.
const MAX_STEM: usize = 119;

/// Whether a text is the file name of a note: `^[A-Za-z0-9][A-Za-z0-9 ._-]{0,118}\.md$`.
#[must_use]
pub fn is_key(text: &str) -> bool {
    text.strip_suffix(".md").is_some_and(|stem| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b" ._-".contains(&byte);
        (1..=MAX_STEM).contains(&stem.len())
            && stem.as_bytes()[0].is_ascii_alphanumeric()
            && stem.bytes().all(inner)
    })
}

/// The display path.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.level {
            Level::Org => write!(f, "org/{}", self.key),
            level => write!(f, "{}/{}/{}", level.as_str(), self.owner, self.key),
        }
    }
}

/// A note that an agent may read.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Note {
    /// Row id.
    pub id: i64,
    /// `note` or `memory`.
    pub kind: String,
    #[sqlx(try_from = "String")]
    /// What the agent may do.
    pub access: Access,
    /// Markdown.
    pub body: String,
    /// Last write, in milliseconds of the Unix clock.
    pub updated_ms: i64,
    /// Deletion, in milliseconds of the Unix clock; a tombstone has one.
    pub deleted_ms: Option<i64>,
}

impl From<String> for Access {
    fn from(word: String) -> Self {
        Self::parse(&word)
    }
}

macro_rules! find_sql {
    ($tail:literal) => {
        concat!(
            "SELECT a.id, a.kind, a.body, ",
            access_sql!(),
            " AS access,
              floor(extract(epoch FROM a.updated_at) * 1000)::bigint AS updated_ms,
              floor(extract(epoch FROM a.deleted_at) * 1000)::bigint AS deleted_ms
             FROM artifacts a
             WHERE a.organisation = $3 AND a.level = $4 AND a.owner = $5 AND a.key = $6
               AND a.kind IN ('note', 'memory')
               AND (a.kind = 'note' OR (a.owner = $1 AND $7))",
            $tail
        )
    };
}

/// The note or tombstone at a place, when the agent may read it. One statement
/// answers for what is absent and what is out of reach, so that neither shows.
///
/// # Errors
/// When the database does not answer.
pub async fn find(
    db: &mut PgConnection,
    agent: &Agent,
    place: &Place,
) -> sqlx::Result<Option<Note>> {
    find_by(db, agent, place, find_sql!("")).await
}

/// As [`find`], and holds the note against other writers until the transaction ends.
///
/// # Errors
/// When the database does not answer.
pub async fn find_for_write(
    db: &mut PgConnection,
    agent: &Agent,
    place: &Place,
) -> sqlx::Result<Option<Note>> {
    find_by(db, agent, place, find_sql!(" FOR UPDATE OF a")).await
}

async fn find_by(
    db: &mut PgConnection,
    agent: &Agent,
    place: &Place,
    sql: &'static str,
) -> sqlx::Result<Option<Note>> {
    let note: Option<Note> = sqlx::query_as(sql)
        .bind(&agent.id)
        .bind(&agent.guild)
        .bind(&agent.organisation)
        .bind(place.level.as_str())
        .bind(&place.owner)
        .bind(&place.key)
        .bind(agent.config.memory)
        .fetch_optional(db)
        .await?;
    Ok(note.filter(|note| note.access != Access::None))
}

/// Makes a note; its guild may write one at guild level. False when the place is
/// taken, by a tombstone or out of the agent's reach too.
///
/// # Errors
/// When the database does not answer.
pub async fn create(
    db: &mut PgConnection,
    agent: &Agent,
    place: &Place,
    body: &str,
) -> sqlx::Result<bool> {
    let id: Option<i64> = sqlx::query_scalar(
        "INSERT INTO artifacts (organisation, kind, level, owner, key, body, words)
         VALUES ($1, 'note', $2, $3, $4, $5, $6)
         ON CONFLICT ON CONSTRAINT artifacts_place_key DO NOTHING RETURNING id",
    )
    .bind(&agent.organisation)
    .bind(place.level.as_str())
    .bind(&place.owner)
    .bind(&place.key)
    .bind(body)
    .bind(words::of_note(&place.key, body))
    .fetch_optional(&mut *db)
    .await?;
    let Some(id) = id else { return Ok(false) };
    if place.level == Level::Guild {
        sqlx::query(
            "INSERT INTO artifact_access (artifact, level, owner, access)
             VALUES ($1, 'guild', $2, 'write')",
        )
        .bind(id)
        .bind(&place.owner)
        .execute(db)
        .await?;
    }
    Ok(true)
}

/// Replaces a note's content; a tombstone becomes a live note again.
///
/// # Errors
/// When the database does not answer.
pub async fn replace(db: &mut PgConnection, id: i64, key: &str, body: &str) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE artifacts SET body = $2, words = $3, updated_at = clock_timestamp(), deleted_at = NULL
         WHERE id = $1",
    )
    .bind(id)
    .bind(body)
    .bind(words::of_note(key, body))
    .execute(db)
    .await?;
    Ok(())
}

/// Leaves a tombstone.
///
/// # Errors
/// When the database does not answer.
pub async fn delete(db: &mut PgConnection, id: i64) -> sqlx::Result<()> {
    sqlx::query("UPDATE artifacts SET deleted_at = clock_timestamp() WHERE id = $1")
        .bind(id)
        .execute(db)
        .await?;
    Ok(())
}

/// A note that a search found.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Found {
    /// Its level's word.
    pub level: String,
    /// The agent's, guild's or organisation's id.
    pub owner: String,
    /// The file name.
    pub key: String,
    /// What the agent may do.
    #[sqlx(try_from = "String")]
    pub access: Access,
    /// Bytes of the content.
    pub bytes: i32,
    /// Last write, in milliseconds of the Unix clock.
    pub updated_ms: i64,
    /// The content.
    pub body: String,
}

const SEARCH: &str = concat!(
    "SELECT level, owner, key, access, octet_length(body) AS bytes,
            floor(extract(epoch FROM updated_at) * 1000)::bigint AS updated_ms, body
     FROM (
       SELECT a.id, a.level, a.owner, a.key, a.body, a.updated_at, ",
    access_sql!(),
    " AS access,
              (SELECT bool_or(g.met) FROM (
                 SELECT bool_and((position(t.words IN a.words) > 0) <> t.excluded) AS met
                 FROM unnest($6::int[], $7::text[], $8::bool[]) AS t (nth, words, excluded)
                 GROUP BY t.nth) g) AS whole,
              position($9 IN a.words) > 0 AS part
       FROM artifacts a
       WHERE a.organisation = $3 AND a.kind IN ('note', 'memory') AND a.deleted_at IS NULL
         AND (a.kind = 'note' OR (a.owner = $1 AND $4)) AND ($5::text IS NULL OR a.level = $5)
     ) f
     WHERE access <> 'none' AND (cardinality($6::int[]) = 0 OR whole OR part)
     ORDER BY whole DESC NULLS LAST, updated_at DESC, id DESC LIMIT $10"
);

/// The notes an agent may read that a query finds: whole words first, then parts
/// of words, then the newest; without a query all of them, newest first.
///
/// # Errors
/// When the database does not answer.
pub async fn search(
    db: &mut PgConnection,
    agent: &Agent,
    query: Option<&Query>,
    level: Option<Level>,
    limit: i64,
) -> sqlx::Result<Vec<Found>> {
    let (mut nth, mut words, mut excluded) = (Vec::new(), Vec::new(), Vec::new());
    for (group, terms) in (0_i32..).zip(query.map_or(&[][..], |query| &query.groups)) {
        for term in terms {
            nth.push(group);
            words.push(term.words.as_str());
            excluded.push(term.excluded);
        }
    }
    sqlx::query_as(SEARCH)
        .bind(&agent.id)
        .bind(&agent.guild)
        .bind(&agent.organisation)
        .bind(agent.config.memory)
        .bind(level.map(Level::as_str))
        .bind(nth)
        .bind(words)
        .bind(excluded)
        .bind(query.and_then(|query| query.partial.as_deref()))
        .bind(limit)
        .fetch_all(db)
        .await
}
