//! Completion in a real shell, with names of a live control plane.

use anyhow::Result;
use serde_json::json;
use tests::{Stack, spawn};

use super::{Guilds, Said};

/// What bash would offer at the end of `line`.
fn offered(guilds: &Guilds, line: &str) -> Result<Vec<String>> {
    let mut shell = spawn::command("/bin/bash");
    guilds.environ(&mut shell).args([
        "-c",
        "source <(guilds completion bash); COMP_LINE=$1; COMP_POINT=${#1}; _guilds; printf '%s\\n' \"${COMPREPLY[@]}\"",
        "bash",
        line,
    ]);
    let said = Said::of(spawn::output(&mut shell)?)?.done();
    Ok(said
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect())
}

#[tokio::test]
async fn a_shell_offers_verbs_options_and_names_of_the_control_plane() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    stack
        .apply(&json!({
            "guilds": [{"id": "spare"}, {"id": "spark"}],
            "bindings": [{"tool": "note_delete", "guild": "spare", "enabled": false}],
        }))
        .await?;
    let ada = stack.ada.id.as_str();
    let is = |line: &str, wanted: &[&str]| -> Result<()> {
        assert_eq!(offered(&guilds, line)?, wanted, "{line}");
        Ok(())
    };
    is("guilds appl", &["apply"])?;
    is("guilds machine ", &["list", "show", "rm"])?;
    is("guilds -o j", &["json"])?;
    is("guilds agent show ad", &[ada])?;
    is("guilds guild rm spa", &["spare", "spark"])?;
    is("guilds guild rm spare --y", &["--yes"])?;
    is(
        &format!("guilds call --agent {}", &ada[..ada.len() - 1]),
        &[ada],
    )?;
    // Bash ends words at colons: what stands before the last one is not offered again.
    is("guilds binding show guild:spare:", &["note_delete"])?;
    is("guilds nonsense ", &[])?;
    let runs = offered(&guilds, "guilds run show ")?;
    assert!(runs.is_empty());
    let run = stack.run(&stack.ada).await?;
    assert_eq!(offered(&guilds, "guilds run show ")?, [run.id.as_str()]);
    let leap = json!({ "cron": "0 12 29 2 *", "description": "d", "instruction": "i" });
    let made = run.call("schedule_create_cron", leap).await?.json();
    let id = made["schedule"]["schedule_id"].as_str().unwrap_or_default();
    assert_eq!(offered(&guilds, "guilds schedule pause ")?, [id]);
    Ok(())
}

#[tokio::test]
async fn without_a_control_plane_completion_is_silent() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    for (variable, value) in [
        ("GUILDS_URL", "http://127.0.0.1:9"),
        ("GUILDS_OPERATOR_TOKEN", "go_wrong"),
        ("GUILDS_URL", "nonsense"),
    ] {
        let mut command = guilds.command(&["__complete", "--", "agent", "show", ""]);
        command.env(variable, value);
        assert_eq!(Said::of(spawn::output(&mut command)?)?.done(), "");
    }
    Ok(())
}

#[tokio::test]
async fn each_shell_has_a_script() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    for (shell, part) in [
        ("bash", "complete -F _guilds guilds\n"),
        ("zsh", "#compdef guilds\n"),
        ("fish", "complete -c guilds -f -a '(__guilds_complete)'\n"),
    ] {
        let script = guilds.run(&["completion", shell])?.done();
        assert!(script.contains(part), "{script}");
        assert!(script.contains("__complete"), "{script}");
    }
    Ok(())
}
