//! How the live records of a collection stand against other columns.

use serde_json::{Value, json};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::Column;

/// One column in the live records.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Standing {
    /// The column's name.
    pub name: String,
    /// Records with a value.
    pub filled: i64,
    /// Records without one; an empty text is none.
    pub missing: i64,
    /// Records with a value that the list of values lacks; 0 without a list.
    pub outside: i64,
    /// Records whose value an earlier one has too.
    pub repeated: i64,
}

/// Looks at columns in the live records of a collection, which is held against writers of
/// records until the transaction ends. A collection without records answers nothing.
///
/// # Errors
/// When the database does not answer.
pub async fn look(
    db: &mut PgConnection,
    collection: i64,
    columns: &[&Column],
) -> sqlx::Result<Vec<Standing>> {
    sqlx::query("SELECT FROM artifacts WHERE id = $1 FOR UPDATE")
        .bind(collection)
        .execute(&mut *db)
        .await?;
    let asked: Vec<Value> = columns
        .iter()
        .map(|column| json!({ "name": column.name, "allowed": column.values }))
        .collect();
    sqlx::query_as(
        r#"SELECT c.name,
                  count(*) FILTER (WHERE v.value <> 'null') AS filled,
                  count(*) FILTER (WHERE v.value IN ('null', '""')) AS missing,
                  count(*) FILTER (WHERE EXISTS (
                    SELECT FROM jsonb_array_elements(CASE jsonb_typeof(v.value)
                        WHEN 'array' THEN v.value WHEN 'string' THEN jsonb_build_array(v.value)
                        ELSE '[]' END) AS item
                     WHERE NOT c.allowed @> jsonb_build_array(item))) AS outside,
                  count(*) FILTER (WHERE v.value <> 'null')
                    - count(DISTINCT v.value) FILTER (WHERE v.value <> 'null') AS repeated
             FROM records r
             CROSS JOIN jsonb_to_recordset($2) AS c (name text, allowed jsonb)
             CROSS JOIN LATERAL (SELECT coalesce(r.body -> c.name, 'null') AS value) v
            WHERE r.collection = $1 AND r.deleted_at IS NULL
            GROUP BY c.name ORDER BY c.name COLLATE "C""#,
    )
    .bind(collection)
    .bind(Json(asked))
    .fetch_all(db)
    .await
}
