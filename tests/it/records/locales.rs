//! The cluster's locale changes nothing: the tests' own is C, and here it is C.UTF-8.

use anyhow::Result;
use serde_json::json;
use tests::stack::StackBuilder;

use super::{contacts, finding, narrowing};

#[tokio::test]
async fn terms_and_queries_match_the_same_in_another_locale() -> Result<()> {
    for nth in 0..2 {
        let stack = StackBuilder::default().locale("C.UTF-8").start().await?;
        let mut db = stack.database().await?;
        let locale: String = sqlx::query_scalar(
            "SELECT datctype FROM pg_database WHERE datname = current_database()",
        )
        .fetch_one(&mut db)
        .await?;
        assert_eq!(locale, "C.UTF-8");
        stack.apply(&json!({ "collections": [contacts()] })).await?;
        let run = stack.run_with_budget(1_000).await?;
        if nth == 0 {
            narrowing::every_term_matches(&run).await?;
        } else {
            finding::every_query_finds(&run).await?;
        }
    }
    Ok(())
}
