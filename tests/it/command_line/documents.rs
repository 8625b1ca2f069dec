//! `guilds apply`, `diff` and `export`: from a file to the organisation and back.

use anyhow::{Context, Result};
use serde_json::json;
use tests::{Stack, spawn};

use super::{Guilds, Said};

const DOCUMENT: &str = r#"organisation = "acme"

[[guilds]]
id = "core"
repositories = [{ name = "site", url = "https://github.com/acme/site.git" }]

[[guilds]]
id = "second"

[[bindings]]
tool = "note_delete"
guild = "second"
enabled = false
"#;

#[tokio::test]
async fn a_plan_is_told_applied_and_then_nothing_is_pending() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let file = stack.directory.path().join("acme.toml");
    std::fs::write(&file, DOCUMENT)?;
    let file = file.to_str().context("a path")?;
    let pending = |said: Said| {
        assert_eq!((said.code, said.stderr.as_str()), (Some(2), ""), "{said:?}");
        said.stdout
    };
    assert_eq!(
        pending(guilds.run(&["apply", "-f", file, "--dry-run"])?),
        "update  guilds       core  (repositories)\n\
         create  guilds       second\n\
         create  bindings     guild:second:note_delete\n\
         2 to create, 1 to update, 0 unchanged\n"
    );
    assert_eq!(
        pending(guilds.run(&["diff", "-f", file])?),
        "update  guilds       core  (repositories)\n        \
         repositories: + {\"name\":\"site\",\"url\":\"https://github.com/acme/site.git\"}\n\
         create  guilds       second\n\
         create  bindings     guild:second:note_delete\n\
         2 to create, 1 to update, 0 unchanged\n"
    );
    assert_eq!(
        guilds.run(&["apply", "-f", file])?.done(),
        "update  guilds       core  (repositories)\n\
         create  guilds       second\n\
         create  bindings     guild:second:note_delete\n\
         2 created, 1 updated, 0 unchanged\n"
    );
    for verb in [
        &["diff", "-f", file][..],
        &["apply", "-f", file, "--dry-run"],
    ] {
        assert_eq!(
            guilds.run(verb)?.done(),
            "0 to create, 0 to update, 3 unchanged\n"
        );
    }
    // As JSON the answer is the API's.
    let plan = guilds.run(&["diff", "-f", file, "-o", "json"])?.json()?;
    assert_eq!(
        plan["changes"][2],
        json!({"action": "unchanged", "kind": "bindings", "id": "guild:second:note_delete", "fields": []})
    );
    Ok(())
}

#[tokio::test]
async fn what_is_exported_is_what_apply_reads() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    guilds.fed(&["apply", "-f", "-"], DOCUMENT)?.done();
    let exported = guilds.run(&["export"])?.done();
    for part in [
        "organisation = \"acme\"\n",
        "\n[[guilds]]\nid = \"core\"\nrepositories = [{ name = \"site\", url = \"https://github.com/acme/site.git\" }]\n",
        "\n[[bindings]]\ntool = \"note_delete\"\nguild = \"second\"\nenabled = false\n",
    ] {
        assert!(exported.contains(part), "{part}\n{exported}");
    }
    assert_eq!(guilds.run(&["export"])?.done(), exported, "always the same");
    let said = guilds.fed(&["diff", "-f", "-"], &exported)?;
    let count = exported.matches("\n[[").count();
    assert_eq!(
        said.done(),
        format!("0 to create, 0 to update, {count} unchanged\n")
    );
    // The API's own document is read back as well.
    let json = guilds.run(&["export", "-o", "json"])?.done();
    assert_eq!(guilds.fed(&["diff", "-f", "-"], &json)?.code, Some(0));
    Ok(())
}

#[tokio::test]
async fn a_token_comes_from_a_file_too() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let token = stack.directory.path().join("token");
    std::fs::write(&token, format!("{}\n", stack.shared.operator_token))?;
    let mut command = guilds.command(&["guild", "list", "-o", "json"]);
    command
        .env_remove("GUILDS_OPERATOR_TOKEN")
        .env("GUILDS_OPERATOR_TOKEN_FILE", &token);
    let list = Said::of(spawn::output(&mut command)?)?.json()?;
    assert_eq!(list["guilds"][0]["id"], "core");
    Ok(())
}
