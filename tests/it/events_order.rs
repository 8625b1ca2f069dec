//! The order of events: every committed one exactly once, whoever writes and however a reader reads.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sqlx::{Connection as _, PgConnection};
use tests::control_plane::ControlPlane;
use tests::event_stream::EventStream;
use tests::numbers::Numbers;
use tests::shared::ORGANISATION;
use tests::{Api, Stack};

const WRITERS: usize = 50;
const EVENTS_A_WRITER: usize = 12;
/// The last event's, by which readers know that they are through.
const END: i64 = -1;

async fn record(db: &mut PgConnection, mark: i64) -> Result<i64> {
    Ok(sqlx::query_scalar(
        "SELECT record_event('issue', $1, NULL, NULL, json_build_object('mark', $2))",
    )
    .bind(ORGANISATION)
    .bind(mark)
    .fetch_one(db)
    .await?)
}

/// Transactions of all lengths; one in four gives up. Answers what was committed.
async fn write(mut db: PgConnection, number: usize) -> Result<Vec<i64>> {
    let mut numbers = Numbers::of(number as u64);
    let mut committed = Vec::new();
    for event in 0..EVENTS_A_WRITER {
        let mut transaction = db.begin().await?;
        tokio::time::sleep(Duration::from_millis(numbers.below(10))).await;
        let mark = i64::try_from(number * EVENTS_A_WRITER + event)?;
        let seq = record(&mut transaction, mark).await?;
        // Between the number and the commit is where a reader could skip it.
        tokio::time::sleep(Duration::from_millis(numbers.below(3))).await;
        if numbers.below(4) == 0 {
            transaction.rollback().await?;
        } else {
            transaction.commit().await?;
            committed.push(seq);
        }
    }
    Ok(committed)
}

/// Reads pages of changing size and waits, resuming from its last `seq`.
async fn read_pages(api: Api) -> Result<Vec<i64>> {
    let mut numbers = Numbers::of(4_711);
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let limit = 1 + numbers.below(9);
        let path = format!("/v1/events?after={after}&wait=60&limit={limit}");
        let body = api.get(&path).await?.expect(200)?;
        for event in body["events"].as_array().context("events")? {
            after = event["seq"].as_i64().context("seq")?;
            seen.push(after);
            if event["mark"] == END {
                return Ok(seen);
            }
        }
    }
}

/// Reads a stream that breaks off again and again, resuming from its last `seq`.
async fn read_streams(address: String, token: String) -> Result<Vec<i64>> {
    let mut numbers = Numbers::of(42);
    let (mut seen, mut last) = (Vec::new(), None);
    loop {
        let mut stream = EventStream::open(&address, &token, last).await?;
        for _ in 0..1 + numbers.below(20) {
            let event = stream.next().await?.context("the stream ended")?;
            let seq = event["seq"].as_i64().context("seq")?;
            seen.push(seq);
            last = Some(seq);
            if event["mark"] == END {
                return Ok(seen);
            }
        }
    }
}

#[tokio::test]
async fn fifty_writers_and_readers_on_two_replicas_lose_and_repeat_nothing() -> Result<()> {
    let stack = Stack::storage().await?;
    let token = &stack.shared.backend_token;
    let other = ControlPlane::start(
        stack.shared,
        stack.directory.path(),
        stack.database_name(),
        "",
    )
    .await?;
    let mut readers = tokio::task::JoinSet::new();
    for address in [stack.control_plane.address(), other.address()] {
        readers.spawn(read_pages(Api::new(address, Some(token))));
        readers.spawn(read_streams(address.to_owned(), token.clone()));
    }
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..WRITERS {
        writers.spawn(write(stack.database().await?, number));
    }
    let mut committed = Vec::new();
    while let Some(written) = writers.join_next().await {
        committed.extend(written??);
    }
    let mut db = stack.database().await?;
    committed.push(record(&mut db, END).await?);
    committed.sort_unstable();
    // What gave up left gaps.
    let total = i64::try_from(WRITERS * EVENTS_A_WRITER)? + 1;
    let highest = *committed.last().context("events")?;
    ensure!(highest == total, "{highest} numbers for {total} writes");
    ensure!(committed.len() < usize::try_from(total)? && committed.len() > 300);
    while let Some(seen) = readers.join_next().await {
        assert_eq!(seen??, committed);
    }
    Ok(())
}

#[tokio::test]
async fn a_number_is_taken_only_once_the_one_before_is_decided() -> Result<()> {
    let stack = Stack::storage().await?;
    let (mut one, mut two) = (stack.database().await?, stack.database().await?);
    let mut first = one.begin().await?;
    let seq = record(&mut first, 1).await?;
    sqlx::query("SET lock_timeout = '100ms'")
        .execute(&mut two)
        .await?;
    let refused = record(&mut two, 2).await.err().context("two at once")?;
    let code = refused
        .downcast_ref::<sqlx::Error>()
        .and_then(|error| error.as_database_error()?.code().map(String::from));
    assert_eq!(code.as_deref(), Some("55P03"), "{refused:#}");
    let unseen = stack.backend.get("/v1/events").await?.expect(200)?;
    assert_eq!(unseen["events"], serde_json::json!([]));
    first.commit().await?;
    assert_eq!(record(&mut two, 2).await?, seq + 1);
    let seen = stack.backend.get("/v1/events").await?.expect(200)?;
    assert_eq!(seen["events"][0]["mark"], 1);
    assert_eq!(seen["events"][1]["mark"], 2);
    Ok(())
}
