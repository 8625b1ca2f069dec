//! Granted secrets reach the commands of their agents as environment variables, and nobody else.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests::{Run, Stack};

const VALUE: &str = "delivered-7f31c2";
/// SHA-256 of the value, by `sha256sum`: a result that held the value would be redacted.
const SHA256: &str = "f301ad5c51b5ff102cb4bd508e503f77497181afd64e3166d45d4a83f012bd41";

const SHELL: &str = "printf %s \"$API_KEY\" | sha256sum; echo \"other ${OTHER_KEY-unset}\"";
const PYTHON: &str = "import hashlib, os
print(hashlib.sha256(os.environ['API_KEY'].encode()).hexdigest(), os.environ.get('OTHER_KEY'))
";

fn secrets(stack: &Stack) -> Value {
    json!({"secrets": [
        {"name": "API_KEY", "value": VALUE, "grants": [stack.ada.id]},
        {"name": "OTHER_KEY", "value": "nobody-has-me-5521", "grants": []},
    ]})
}

async fn shell(run: &Run, command: &str) -> Result<String> {
    let result = run.call("shell", json!({"command": command})).await?;
    Ok(result.text().to_owned())
}

#[tokio::test]
async fn commands_and_scripts_find_the_secrets_granted_to_their_agent() -> Result<()> {
    let stack = Stack::whole().await?;
    stack.apply(&secrets(&stack)).await?;
    let run = stack.run(&stack.ada).await?;

    let text = shell(&run, SHELL).await?;
    ensure!(
        text.contains(&format!("{SHA256}  -\nother unset")),
        "{text}"
    );

    let source = json!({"name": "digest", "description": "Digests", "source": PYTHON});
    run.call("script_create", source).await?;
    let result = run.call("script_run", json!({"name": "digest"})).await?;
    ensure!(
        result.text().starts_with(&format!("{SHA256} None\n")),
        "{}",
        result.text()
    );

    // What prints it is redacted.
    let text = shell(&run, "echo \"key: $API_KEY\"").await?;
    ensure!(text.contains("key: [redacted:API_KEY]"), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_grant_counts_from_the_next_call_on_and_so_does_its_end() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    let length = "echo \"length ${#API_KEY}\"";
    ensure!(shell(&run, length).await?.contains("length 0"));
    stack.apply(&secrets(&stack)).await?;
    ensure!(shell(&run, length).await?.contains("length 16"));
    let revoked = json!({"secrets": [{"name": "API_KEY", "grants": []}]});
    stack.apply(&revoked).await?;
    ensure!(shell(&run, length).await?.contains("length 0"));
    Ok(())
}

#[tokio::test]
async fn no_command_line_of_a_call_holds_a_secret() -> Result<()> {
    let stack = Stack::whole().await?;
    stack.apply(&secrets(&stack)).await?;
    let run = stack.run(&stack.ada).await?;
    // Every process that this agent may see: helper, shell and runner among them. The
    // brackets keep the search from finding its own line.
    let look =
        "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c 'delivered-[7]f31c2'";
    let text = shell(&run, look).await?;
    ensure!(text.lines().any(|line| line == "0"), "{text}");
    let control = look.replace("delivered-[7]f31c2", "guilds-cod[e]");
    let text = shell(&run, &control).await?;
    ensure!(!text.lines().any(|line| line == "0"), "{text}");
    Ok(())
}
