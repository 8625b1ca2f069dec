//! Secret values go in by stdin, a file or the environment, and never come out.

use std::io::{Read, Write};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tests::{Stack, spawn};

use super::{Guilds, Said};

const VALUE: &str = "sk_test_51Hq3z";

#[tokio::test]
async fn a_value_goes_in_and_never_comes_out() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let (ada, bob) = (stack.ada.id.as_str(), stack.bob.id.as_str());
    let file = stack.directory.path().join("value");
    std::fs::write(&file, format!("{VALUE}\n"))?;
    let file = file.to_str().context("a path")?;
    let mut said = String::new();
    let mut see = |text: Said| -> String {
        let text = text.done();
        said.push_str(&text);
        text
    };
    assert_eq!(
        see(guilds.fed(
            &[
                "secret",
                "set",
                "STRIPE_KEY",
                "--grant",
                ada,
                "--description",
                "Invoices"
            ],
            &format!("{VALUE}\n")
        )?),
        "create  secrets      STRIPE_KEY\n1 created, 0 updated, 0 unchanged\n"
    );
    // The same value, now from a file, is no change: the line's end is not part of it.
    assert_eq!(
        see(guilds.run(&["secret", "set", "STRIPE_KEY", "--file", file])?),
        "0 created, 0 updated, 1 unchanged\n"
    );
    assert_eq!(
        see(guilds.run(&["secret", "grant", "STRIPE_KEY", bob])?),
        "update  secrets      STRIPE_KEY  (grants)\n0 created, 1 updated, 0 unchanged\n"
    );
    let grants = |said: Said| -> Result<serde_json::Value> { Ok(said.json()?["grants"].clone()) };
    assert_eq!(
        grants(guilds.run(&["secret", "show", "STRIPE_KEY", "-o", "json"])?)?,
        json!([ada, bob])
    );
    see(guilds.run(&["secret", "revoke", "STRIPE_KEY", ada])?);
    assert_eq!(
        grants(guilds.run(&["secret", "show", "STRIPE_KEY", "-o", "json"])?)?,
        json!([bob])
    );
    let again = guilds.run(&["secret", "revoke", "STRIPE_KEY", ada])?;
    assert_eq!(again.code, Some(3));
    assert_eq!(
        again.stderr,
        format!("guilds: the agent {ada} doesn't have the secret STRIPE_KEY\n")
    );
    let document = "[[secrets]]\nname = \"OTHER_KEY\"\nvalue_env = \"TEST_VALUE\"\n";
    let mut apply = guilds.command(&["apply", "-f", "-"]);
    apply.env("TEST_VALUE", VALUE);
    see(Said::of(spawn::output_with_input(
        &mut apply,
        document.as_bytes(),
    )?)?);
    let changed = document.replace("OTHER_KEY\"", "OTHER_KEY\"\ngrants = []");
    let mut diff = guilds.command(&["diff", "-f", "-"]);
    diff.env("TEST_VALUE", "another value");
    let diff = Said::of(spawn::output_with_input(&mut diff, changed.as_bytes())?)?;
    assert_eq!(diff.code, Some(2), "{diff:?}");
    assert!(
        diff.stdout.contains("        value: (changed)\n"),
        "{diff:?}"
    );
    for words in [
        &["secret", "list"][..],
        &["secret", "show", "STRIPE_KEY"],
        &["secret", "list", "-o", "json"],
        &["export"],
        &["export", "-o", "json"],
        &["audit", "-o", "json"],
        &["secret", "rm", "OTHER_KEY", "--yes"],
    ] {
        see(guilds.run(words)?);
    }
    assert!(!said.contains(VALUE), "{said}");
    assert!(!diff.stdout.contains("another value"), "{diff:?}");
    Ok(())
}

#[tokio::test]
async fn a_value_that_is_typed_is_not_shown() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let mut script = spawn::command("/usr/bin/script");
    guilds
        .environ(&mut script)
        .args(["-qec", "guilds secret set TYPED_KEY", "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = script.spawn()?;
    let mut stdin = child.stdin.take().context("stdin")?;
    let mut stdout = child.stdout.take().context("stdout")?;
    let mut shown = Vec::new();
    let prompt = b"the value of TYPED_KEY (not shown): ";
    while !shown.ends_with(prompt) {
        let mut byte = [0];
        ensure!(
            stdout.read(&mut byte)? == 1,
            "{}",
            String::from_utf8_lossy(&shown)
        );
        shown.push(byte[0]);
    }
    stdin.write_all(format!("wrong\u{15}{VALUE}x\u{7f}\r").as_bytes())?;
    stdout.read_to_end(&mut shown)?;
    drop(stdin);
    assert!(child.wait()?.success());
    let shown = String::from_utf8(shown)?;
    assert!(shown.contains("create  secrets      TYPED_KEY"), "{shown}");
    assert!(
        !shown.contains("sk_test") && !shown.contains("wrong"),
        "{shown}"
    );
    // It is the value that was meant: setting it again changes nothing.
    assert_eq!(
        guilds.fed(&["secret", "set", "TYPED_KEY"], VALUE)?.done(),
        "0 created, 0 updated, 1 unchanged\n"
    );
    Ok(())
}
