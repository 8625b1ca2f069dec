//! Access lists of notes and collections as operators set them up.

use serde::ser::{Serialize, SerializeMap, Serializer};
use sqlx::PgConnection;

use super::Access;

/// One row of an access list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// `agent`, `guild` or `organisation`; the three words sort in this order.
    pub level: String,
    /// The agent's, guild's or organisation's id.
    pub owner: String,
    /// What it opens.
    pub access: Access,
}

/// As a document has it: `{"guild":"core","access":"write"}`.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        if self.level == "organisation" {
            map.serialize_entry("organisation", &true)?;
        } else {
            map.serialize_entry(&self.level, &self.owner)?;
        }
        map.serialize_entry("access", &self.access)?;
        map.end()
    }
}

/// The access list of the artifact `a` as SQL: JSON of level, owner and access.
macro_rules! access_list_sql {
    () => {
        "(SELECT coalesce(json_agg(json_build_array(x.level, x.owner, x.access)
                   ORDER BY x.level COLLATE \"C\", x.owner), '[]')
            FROM artifact_access x WHERE x.artifact = a.id)"
    };
}
pub(in crate::store) use access_list_sql;

/// The rows that [`access_list_sql`] answers.
pub(in crate::store) fn rows(read: Vec<(String, String, String)>) -> Vec<Row> {
    let row = |(level, owner, access): (String, String, String)| Row {
        level,
        owner,
        access: Access::parse(&access),
    };
    read.into_iter().map(row).collect()
}

/// Replaces the access list of an artifact.
///
/// # Errors
/// When the database does not answer.
pub async fn replace(db: &mut PgConnection, artifact: i64, rows: &[Row]) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM artifact_access WHERE artifact = $1")
        .bind(artifact)
        .execute(&mut *db)
        .await?;
    let column = |part: fn(&Row) -> &str| -> Vec<&str> { rows.iter().map(part).collect() };
    sqlx::query(
        "INSERT INTO artifact_access (artifact, level, owner, access)
         SELECT $1, level, owner, access
         FROM unnest($2::text[], $3::text[], $4::text[]) AS r (level, owner, access)",
    )
    .bind(artifact)
    .bind(column(|row| &row.level))
    .bind(column(|row| &row.owner))
    .bind(column(|row| row.access.as_str()))
    .execute(db)
    .await?;
    Ok(())
}

/// An artifact whose access list names someone.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Shared {
    kind: String,
    level: String,
    owner: String,
    key: String,
    /// What the row opens.
    pub access: String,
}

impl Shared {
    /// The plural word of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.kind == "collection" {
            "collections"
        } else {
            "notes"
        }
    }

    /// Its id: a collection's name, a note's display path.
    #[must_use]
    pub fn id(&self) -> String {
        match (self.kind.as_str(), self.level.as_str()) {
            ("collection", _) => self.key.clone(),
            (_, "org") => format!("org/{}", self.key),
            (_, level) => format!("{level}/{}/{}", self.owner, self.key),
        }
    }
}

/// The artifacts whose access lists name an agent or a guild, without its own.
///
/// # Errors
/// When the database does not answer.
pub async fn naming(
    db: &mut PgConnection,
    organisation: &str,
    level: &str,
    owner: &str,
) -> sqlx::Result<Vec<Shared>> {
    sqlx::query_as(
        "SELECT a.kind, a.level, a.owner, a.key, x.access
         FROM artifact_access x JOIN artifacts a ON a.id = x.artifact
         WHERE a.organisation = $1 AND x.level = $2 AND x.owner = $3
           AND (a.level, a.owner) <> ($2, $3) AND a.deleted_at IS NULL
         ORDER BY a.kind COLLATE \"C\", a.level COLLATE \"C\", a.owner, a.key, a.id",
    )
    .bind(organisation)
    .bind(level)
    .bind(owner)
    .fetch_all(db)
    .await
}

/// Takes an agent or a guild out of every access list.
///
/// # Errors
/// When the database does not answer.
pub async fn forget(
    db: &mut PgConnection,
    organisation: &str,
    level: &str,
    owner: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM artifact_access x USING artifacts a
         WHERE a.id = x.artifact AND a.organisation = $1 AND x.level = $2 AND x.owner = $3",
    )
    .bind(organisation)
    .bind(level)
    .bind(owner)
    .execute(db)
    .await?;
    Ok(())
}
