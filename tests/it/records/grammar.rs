//! The grammar of queries, held against PostgreSQL's own.

use anyhow::Result;
use serde_json::{Value, json};
use tests::Run;

use super::{add, with_contacts};

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const WORDS: [&str; 6] = ["red", "car", "big", "bus", "old", "sky"];

fn text(numbers: &mut Numbers) -> String {
    let length = 1 + numbers.below(6);
    let words: Vec<&str> = (0..length).map(|_| numbers.of(&WORDS)).collect();
    words.join(" ")
}

/// Two tokens or more, so that no part of a word counts.
fn query(numbers: &mut Numbers) -> String {
    let mut parts = Vec::new();
    for _ in 0..2 + numbers.below(5) {
        let word = numbers.of(&WORDS);
        parts.push(match numbers.below(9) {
            0 => "OR".to_owned(),
            1 => "or".to_owned(),
            2 => format!("-{word}"),
            3 => format!("\"{word} {}\"", numbers.of(&WORDS)),
            4 => format!("-\"{word} {}\"", numbers.of(&WORDS)),
            5 => word.to_uppercase(),
            _ => word.to_owned(),
        });
    }
    if numbers.below(20) == 0 {
        // A quote that nothing closes.
        let at = numbers.below(parts.len());
        parts[at].insert(0, '"');
    }
    parts.join(if numbers.below(10) == 0 { "  " } else { " " })
}

async fn ours(run: &Run, queries: &[String]) -> Result<Vec<Option<Vec<i64>>>> {
    let calls: Vec<Value> = queries
        .iter()
        .enumerate()
        .map(|(nth, query)| {
            json!({ "id": format!("q{nth}"), "name": "record_search",
                "arguments": { "query": query, "limit": 100 } })
        })
        .collect();
    let results = run.batch(Value::Array(calls)).await?;
    let ids = |result: &tests::CallResult| {
        if result
            .content
            .starts_with("ERROR: 422 the query has nothing")
        {
            return None;
        }
        let answer = result.json();
        let records = answer["records"].as_array().cloned().unwrap_or_default();
        let mut ids: Vec<i64> = records.iter().filter_map(|r| r["id"].as_i64()).collect();
        ids.sort_unstable();
        Some(ids)
    };
    Ok(results.iter().map(ids).collect())
}

#[tokio::test]
async fn two_thousand_queries_find_what_postgresql_finds() -> Result<()> {
    let (stack, run) = with_contacts().await?;
    let mut db = stack.database().await?;
    let mut numbers = Numbers(11);
    for nth in 0..60 {
        // One column beside the address, whose words are no word of a query.
        add(
            &run,
            json!({ "email": format!("e{nth}"), "name": text(&mut numbers) }),
        )
        .await?;
    }
    let queries: Vec<String> = (0..2_000).map(|_| query(&mut numbers)).collect();
    let (mut refused, mut hits) = (0, 0);
    for chunk in queries.chunks(125) {
        let run = stack.run_with_budget(200).await?;
        for (query, found) in chunk.iter().zip(ours(&run, chunk).await?) {
            let theirs: Vec<i64> = sqlx::query_scalar(
                "SELECT id FROM records
                 WHERE to_tsvector('simple', body->>'name') @@ websearch_to_tsquery('simple', $1)
                 ORDER BY id",
            )
            .bind(query)
            .fetch_all(&mut db)
            .await?;
            match found {
                Some(found) => {
                    hits += usize::from(!found.is_empty());
                    assert_eq!(found, theirs, "{query}");
                }
                // Only exclusions: PostgreSQL finds all the others, we ask for a word.
                None => {
                    let parsed: String =
                        sqlx::query_scalar("SELECT websearch_to_tsquery('simple', $1)::text")
                            .bind(query)
                            .fetch_one(&mut db)
                            .await?;
                    let positive = parsed
                        .split(['|', '&'])
                        .any(|term| !term.trim_start().starts_with('!'));
                    assert!(parsed.is_empty() || !positive, "{query}: {parsed}");
                    refused += 1;
                }
            }
        }
    }
    assert!(hits > 800 && refused > 20, "{hits} hits, {refused} refused");
    Ok(())
}
