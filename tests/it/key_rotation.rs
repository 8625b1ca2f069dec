//! The rotation of the key that seals values: under load, interrupted, and on a replica that lacks a key.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::{Stack, spawn};

const LOGIN_KEY: &str = "tvly-4f9b2c81d07e";

/// The key file of one stack, apart from the one all tests share.
struct OwnKey {
    stack: Stack,
    file: PathBuf,
}

impl OwnKey {
    async fn start() -> Result<Self> {
        let mut stack = Stack::storage().await?;
        let file = stack.directory.path().join("secrets.key");
        fs::copy(&stack.shared.secrets_key_file, &file)?;
        let config = stack.control_plane.config().to_owned();
        let text = fs::read_to_string(&config)?.replace(
            &stack.shared.secrets_key_file.display().to_string(),
            &file.display().to_string(),
        );
        fs::write(&config, text)?;
        stack.control_plane.stop()?;
        stack.control_plane.start_again().await?;
        Ok(Self { stack, file })
    }

    fn rotate(&self, more: &[&str]) -> Result<String> {
        spawn::run(
            spawn::command(self.stack.shared.program("guilds-control-plane"))
                .args(["secrets", "rotate-key", "--config"])
                .arg(self.stack.control_plane.config())
                .args(more),
        )
    }

    fn keys(&self) -> Result<Vec<String>> {
        let text = fs::read_to_string(&self.file)?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    async fn sealed_under(&self) -> Result<Vec<String>> {
        let mut db = self.stack.database().await?;
        Ok(sqlx::query_scalar(
            "SELECT key_id FROM secrets UNION SELECT key_id FROM logins WHERE sealed IS NOT NULL",
        )
        .fetch_all(&mut db)
        .await?)
    }

    async fn store_many(&self, from: usize, to: usize) -> Result<()> {
        let secrets: Vec<Value> = (from..to)
            .map(|n| json!({ "name": format!("KEY_{n}"), "value": format!("value-number-{n}-") }))
            .collect();
        self.stack.apply(&json!({ "secrets": secrets })).await?;
        Ok(())
    }
}

fn is_file_of(path: &Path, mode: u32) -> Result<()> {
    let metadata = fs::metadata(path)?;
    ensure!(metadata.mode() & 0o777 == mode, "{:o}", metadata.mode());
    Ok(())
}

#[tokio::test]
async fn a_key_rotates_while_calls_go_on() -> Result<()> {
    let own = OwnKey::start().await?;
    let login = json!({
        "connectors": [{ "id": "web-search", "kind": "tavily", "url": "https://api.tavily.com" }],
        "logins": [{ "connector": "web-search", "organisation": true, "status": "connected", "key": LOGIN_KEY }],
    });
    own.stack.apply(&login).await?;
    own.store_many(0, 230).await?;
    let before = own.keys()?;
    assert_eq!(before.len(), 1);
    let first = own.sealed_under().await?;
    assert_eq!(first.len(), 1);

    // Prepared: the file has a second key, and nothing is sealed with it yet.
    own.rotate(&["--prepare"])?;
    let prepared = own.keys()?;
    assert_eq!((prepared.len(), &prepared[1]), (2, &before[0]));
    is_file_of(&own.file, 0o600)?;
    own.rotate(&["--prepare"])?;
    assert_eq!(own.keys()?, prepared);
    own.store_many(230, 231).await?;
    assert_eq!(own.sealed_under().await?, first);

    let run = own.stack.run_with_budget(200).await?;
    let calls = async {
        for _ in 0..40 {
            let told = run
                .call(&format!("{LOGIN_KEY}-value-number-17-"), json!({}))
                .await?;
            let text = told.text();
            ensure!(
                text.contains("[redacted:web-search]-[redacted:KEY_17]"),
                "{text}"
            );
        }
        Ok(())
    };
    let store = own.store_many(231, 240);
    let rotate = async {
        let (config, program) = (
            own.stack.control_plane.config().to_owned(),
            own.stack.shared.program("guilds-control-plane"),
        );
        tokio::task::spawn_blocking(move || {
            spawn::run(
                spawn::command(program)
                    .args(["secrets", "rotate-key", "--config"])
                    .arg(config),
            )
        })
        .await?
    };
    let (called, stored, rotated) = tokio::join!(calls, store, rotate);
    called?;
    stored?;
    rotated?;
    assert_eq!(own.keys()?, prepared[..1]);
    is_file_of(&own.file, 0o600)?;
    let after = own.sealed_under().await?;
    assert_eq!(after.len(), 1);
    assert_ne!(after, first);

    // A daemon that starts with the new file alone opens everything, and so did the old one.
    own.store_many(240, 241).await?;
    assert_eq!(own.sealed_under().await?, after);
    let mut own = own;
    own.stack.control_plane.stop()?;
    own.stack.control_plane.start_again().await?;
    let told = own
        .stack
        .run(&own.stack.ada)
        .await?
        .call("value-number-3-/value-number-240-", json!({}))
        .await?;
    let text = told.text();
    assert!(
        text.contains("[redacted:KEY_3]/[redacted:KEY_240]"),
        "{text}"
    );
    Ok(())
}

#[tokio::test]
async fn an_interrupted_rotation_goes_on_where_it_was() -> Result<()> {
    let own = OwnKey::start().await?;
    own.store_many(0, 3).await?;
    own.rotate(&["--prepare"])?;
    let prepared = own.keys()?;
    let mut db = own.stack.database().await?;
    // One row that no key opens stops it after the others.
    sqlx::query("UPDATE secrets SET sealed = sealed || '\\x00'::bytea WHERE name = 'KEY_1'")
        .execute(&mut db)
        .await?;
    let refused = own.rotate(&[]).unwrap_err().to_string();
    assert!(
        refused.contains("secret KEY_1 of organisation"),
        "{refused}"
    );
    assert!(!refused.contains("value-number"), "{refused}");
    assert_eq!(own.keys()?, prepared);
    assert_eq!(own.sealed_under().await?.len(), 2);
    // Nothing is answered while it is not known what must not be in it.
    let refused = own
        .stack
        .backend
        .post(
            "/v1/runs",
            &json!({ "agent": own.stack.ada.id, "kind": "direct" }),
        )
        .await?
        .refusal();
    assert_eq!(refused.0, 503, "{refused:?}");
    assert!(
        own.stack
            .control_plane
            .log()
            .contains("the value of KEY_1 can't be opened")
    );
    // Stored anew it can be sealed again.
    own.store_many(1, 2).await?;
    own.rotate(&[])?;
    assert_eq!(own.keys()?, prepared[..1]);
    assert_eq!(own.sealed_under().await?.len(), 1);
    own.stack.run(&own.stack.ada).await?;
    Ok(())
}

#[tokio::test]
async fn a_replica_with_an_old_key_file_says_what_it_lacks() -> Result<()> {
    let own = OwnKey::start().await?;
    own.store_many(0, 1).await?;
    let old = fs::read(&own.file)?;
    own.rotate(&[])?;
    let new = fs::read(&own.file)?;
    fs::write(&own.file, old)?;
    let refused = own
        .stack
        .operator
        .post(
            "/v1/operator/apply",
            &json!({ "secrets": [{ "name": "LATE", "value": "late-value" }] }),
        )
        .await?;
    assert!(refused.status >= 500, "{}", refused.status);
    let id = &own.sealed_under().await?[0];
    let log = own.stack.control_plane.log();
    assert!(
        log.contains("no key of ") && log.contains(id.as_str()),
        "{log}"
    );
    let told = own.rotate(&[]).unwrap_err().to_string();
    assert!(told.contains(&format!("lacks the key {id}")), "{told}");
    fs::write(&own.file, new)?;
    own.stack
        .apply(&json!({ "secrets": [{ "name": "LATE", "value": "late-value" }] }))
        .await?;
    Ok(())
}
