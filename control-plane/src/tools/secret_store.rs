//! `secret_store`: save a value from a file in the agent's home as a secret of the agent's.

use machine_agent_api::check_path;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::validation::storable;
use super::{Answer, Cx, Family, Filter, Offered, Place, ReadHome, Tool, ToolError};
use crate::store::audit::{self, Entry};
use crate::store::organisations;
use crate::store::sealing::SealError;
use crate::store::secrets::{self, NewSecret, Secret, names};

/// Most bytes of the file: 64 KiB.
const MOST_BYTES: u64 = 65_536;
/// Most characters of a description.
const MAX_DESCRIPTION: usize = 1_000;

pub(super) struct SecretStore;

#[derive(Deserialize)]
pub(super) struct Args {
    name: String,
    path: String,
    description: Option<String>,
}

#[derive(Serialize)]
struct StoredSecret<'a> {
    name: &'a str,
    stored: bool,
}

impl Tool for SecretStore {
    const NAME: &'static str = "secret_store";
    const DESCRIPTION: &'static str = "Saves a value that you produced, such as a key that a service gave you, as a secret of yours. The value is read from a file in your home, so it never stands in a message: let the command that makes it write it to a file, store it, then remove the file. From the next call on your commands and scripts find it in the environment variable of that name, and it is taken out of every result. A secret that you stored before is replaced.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "name": {
      "type": "string",
      "description": "Name of the secret and of its environment variable: a capital letter, then capital letters, digits and underscores, at most 64 characters."
    },
    "path": {
      "type": "string",
      "description": "Path of the file, relative to your home: at most 64 KiB of text, of which one newline at the end is left out."
    },
    "description": {
      "type": "string",
      "description": "What the secret opens, at most 1000 characters, never the value. Omit it to leave it as it is."
    }
  },
  "required": ["name", "path"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str = r#"{"name": "SHOP_API_KEY", "path": "tmp/shop-key", "description": "Key of the shop's test account"}"#;
    const OFFERED: Offered = Offered::Binding(Family::Secret);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        check(&args)?;
        let agent = &cx.caller.agent;
        let organisation = &agent.organisation;
        let Some(file) = cx.file else {
            // What can't be stored is refused before the machine is asked.
            let stored = secrets::find(cx.db, organisation, &args.name).await?;
            check_owner(stored.as_ref(), &agent.id, &args.name)?;
            return Ok(Answer::Read(ReadHome {
                path: args.path,
                most_bytes: MOST_BYTES,
            }));
        };
        let file = file.as_ref().map_err(|why| ToolError::Refused(why.clone()))?;
        let value = value(&args.path, file.expose_secret())?;
        let description = args
            .description
            .map(|text| cx.words.redact(storable(text).trim()));
        organisations::hold(cx.db, organisation).await?;
        let stored = secrets::find(cx.db, organisation, &args.name).await?;
        check_owner(stored.as_ref(), &agent.id, &args.name)?;
        match &stored {
            None => create(cx, &args.name, description.as_deref(), &value).await?,
            Some(secret) => replace(cx, secret, description.as_deref(), &value).await?,
        }
        Ok(Answer::Text(serde_json::to_string(&StoredSecret {
            name: &args.name,
            stored: true,
        })?))
    }
}

/// Refuses what no file could mend, all of it at once.
fn check(args: &Args) -> Result<(), ToolError> {
    let mut problems = Vec::new();
    if let Err(what) = names::check(&args.name) {
        // What is no name is not repeated: it may be a value in the wrong place.
        problems.push(format!("name {what}"));
    }
    if let Err(what) = check_path(&args.path) {
        problems.push(format!("path {what}"));
    }
    let characters = args
        .description
        .as_ref()
        .map_or(0, |text| text.chars().count());
    if characters > MAX_DESCRIPTION {
        problems.push(format!(
            "description has {characters} characters, at most {MAX_DESCRIPTION} are allowed"
        ));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(ToolError::invalid(problems.join("; ")))
    }
}

fn check_owner(stored: Option<&Secret>, agent: &str, name: &str) -> Result<(), ToolError> {
    match stored {
        Some(secret) if secret.stored_by.as_deref() != Some(agent) => {
            Err(ToolError::forbidden(format!(
                "secret {name} exists and you did not store it; choose another name, or ask for it with secret_request"
            )))
        }
        _ => Ok(()),
    }
}

/// The value in a file's bytes: text, without one newline at its end.
fn value(path: &str, bytes: &[u8]) -> Result<SecretString, ToolError> {
    let text = std::str::from_utf8(bytes).map_err(|_| {
        ToolError::invalid(format!(
            "~/{path} is not UTF-8 text; a secret becomes an environment variable, so encode other bytes first, for example with base64"
        ))
    })?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    secrets::check_value(text)
        .map_err(|what| ToolError::invalid(format!("the value in ~/{path} {what}")))?;
    Ok(SecretString::from(text))
}

async fn create(
    cx: Cx<'_>,
    name: &str,
    description: Option<&str>,
    value: &SecretString,
) -> Result<(), ToolError> {
    let agent = &cx.caller.agent;
    let description = description.unwrap_or_default();
    let new = NewSecret {
        name,
        description,
        value,
        stored_by: Some(&agent.id),
    };
    let id = secrets::insert(cx.db, cx.vault, &agent.organisation, &new)
        .await
        .map_err(failed)?;
    secrets::grant(cx.db, id, &agent.id).await?;
    let after = serde_json::json!({
        "name": name, "description": description, "value": true, "grants": [agent.id],
    });
    record(cx, name, None, &after).await
}

/// Another value under a name that the agent stored before, granted to it again should an
/// operator have taken it away: the value is the agent's own.
async fn replace(
    cx: Cx<'_>,
    secret: &Secret,
    description: Option<&str>,
    value: &SecretString,
) -> Result<(), ToolError> {
    let agent = &cx.caller.agent.id;
    let description = description.unwrap_or(&secret.description);
    let differs = !secrets::has_value(cx.db, cx.vault, secret.id, value).await?;
    if differs {
        secrets::set_value(cx.db, cx.vault, secret.id, value)
            .await
            .map_err(failed)?;
    }
    let described = description != secret.description;
    if described {
        secrets::describe(cx.db, secret.id, description).await?;
    }
    let granted = secrets::grant(cx.db, secret.id, agent).await?;
    if !(differs || described || granted) {
        return Ok(());
    }
    let shown = |description: &str, grants: &[String]| serde_json::json!({ "name": secret.name, "description": description, "grants": grants });
    let before = shown(&secret.description, &secret.grants);
    let mut grants = secret.grants.clone();
    if granted {
        grants.push(agent.clone());
        grants.sort();
    }
    let mut after = shown(description, &grants);
    if differs {
        after["value"] = Value::Bool(true);
    }
    record(cx, &secret.name, Some(&before), &after).await
}

/// A row of the audit, with the agent as who did it.
async fn record(
    cx: Cx<'_>,
    name: &str,
    before: Option<&Value>,
    after: &Value,
) -> Result<(), ToolError> {
    let agent = &cx.caller.agent;
    let before = before.map(to_raw_value).transpose()?;
    let after = to_raw_value(after)?;
    let entry = Entry {
        actor: &format!("agent:{}", agent.id),
        action: if before.is_some() { "update" } else { "create" },
        kind: "secrets",
        object: name,
        before: before.as_deref(),
        after: Some(&after),
    };
    audit::record(cx.db, &agent.organisation, &entry).await?;
    Ok(())
}

fn failed(error: SealError) -> ToolError {
    match error {
        SealError::Store(error) => error.into(),
        SealError::Vault(error) => ToolError::failed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_value_of(bytes: &[u8], expected: Result<&str, &str>) {
        let found = value("key", bytes);
        match (&found, expected) {
            (Ok(value), Ok(text)) => assert_eq!(value.expose_secret(), text),
            (Err(error), Err(sentence)) => assert_eq!(error.to_string(), sentence),
            _ => panic!("{expected:?}"),
        }
    }

    #[test]
    fn one_newline_at_the_end_is_no_part_of_the_value() {
        check_value_of(b"sk-4711", Ok("sk-4711"));
        check_value_of(b"sk-4711\n", Ok("sk-4711"));
        check_value_of(b"sk-4711\n\n", Ok("sk-4711\n"));
        check_value_of(b"one\ntwo\n", Ok("one\ntwo"));
    }

    #[test]
    fn what_can_be_no_value_is_refused_without_it() {
        check_value_of(
            b"abcde\n",
            Err(
                "422 the value in ~/key has 5 bytes, at least 6 are needed: a shorter one would be taken out of every text by accident",
            ),
        );
        check_value_of(
            b"abc\0defg",
            Err(
                "422 the value in ~/key holds U+0000, which no environment variable can hold",
            ),
        );
        check_value_of(
            b"\xff\xfe\xfd\xfc\xfb\xfa",
            Err(
                "422 ~/key is not UTF-8 text; a secret becomes an environment variable, so encode other bytes first, for example with base64",
            ),
        );
    }

    #[test]
    fn every_problem_of_the_arguments_is_told_at_once() {
        let args = |name: &str, path: &str, description: usize| Args {
            name: name.to_owned(),
            path: path.to_owned(),
            description: Some("d".repeat(description)),
        };
        assert!(check(&args("SHOP_KEY", "tmp/key", 1_000)).is_ok());
        assert_eq!(
            check(&args("shop", "../key", 1_001)).unwrap_err().to_string(),
            "422 name is no name of a secret; allowed is ^[A-Z][A-Z0-9_]{0,63}$, such as STRIPE_KEY; path leads out of the home; allowed is a path inside it; description has 1001 characters, at most 1000 are allowed"
        );
        let reserved = check(&args("LD_PRELOAD", "key", 0)).unwrap_err().to_string();
        assert!(
            reserved.starts_with("422 name is a reserved name: "),
            "{reserved}"
        );
    }

    #[test]
    fn a_secret_of_somebody_else_is_not_replaced() {
        let secret = |stored_by: Option<&str>| Secret {
            id: uuid::Uuid::nil(),
            name: "KEY".to_owned(),
            description: String::new(),
            grants: vec!["ada".to_owned()],
            stored_by: stored_by.map(str::to_owned),
            created_at: String::new(),
            updated_at: String::new(),
            last_used_at: None,
        };
        assert!(check_owner(None, "ada", "KEY").is_ok());
        assert!(check_owner(Some(&secret(Some("ada"))), "ada", "KEY").is_ok());
        for other in [None, Some("bob")] {
            assert_eq!(
                check_owner(Some(&secret(other)), "ada", "KEY")
                    .unwrap_err()
                    .to_string(),
                "403 secret KEY exists and you did not store it; choose another name, or ask for it with secret_request"
            );
        }
    }
}
