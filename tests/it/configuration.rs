//! Settings: every problem at once with its line, shipped files that parse, tokens and keys that keep their modes.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use anyhow::Result;
use tests::{Shared, spawn};

fn check(program: &str, shared: &Shared, settings: &str) -> Result<Output> {
    let directory = tempfile::tempdir_in(&shared.work)?;
    let path = directory.path().join("settings.toml");
    std::fs::write(&path, settings)?;
    spawn::output(
        spawn::command(shared.program(program))
            .args(["check-config", "--config"])
            .arg(&path)
            .env_remove("TOOL_RESULT_MAX_BYTES"),
    )
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[tokio::test]
async fn a_control_planes_settings_are_checked_whole() -> Result<()> {
    let shared = Shared::get().await?;
    let good = shared.control_plane_config("127.0.0.1:8440", "postgres://u@localhost/d");
    let output = check("guilds-control-plane", shared, &good)?;
    assert!(output.status.success(), "{}", text(&output));

    let bad = good.replace("listen = \"127.0.0.1:8440\"", "listen = \"10.0.0.1:8440\"")
        + "tool_result_max_bytes = 12\ntool_result_max_byte = 5\n";
    let output = check("guilds-control-plane", shared, &bad)?;
    assert_eq!(output.status.code(), Some(78), "{}", text(&output));
    let told = text(&output);
    // `listen` is line 1, and the two last ones follow the seven of the good file.
    for word in [
        "settings.toml:1",
        "tls_cert",
        "settings.toml:8",
        "1024",
        "settings.toml:9",
        "tool_result_max_byte",
    ] {
        assert!(
            told.replace("1,024", "1024").contains(word),
            "{word}: {told}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_machine_agents_settings_are_checked_whole() -> Result<()> {
    let shared = Shared::get().await?;
    let good = format!(
        "machine = \"local\"\ntls_cert = \"{}\"\ntls_key = \"{}\"\ntls_ca = \"{}\"\nrunners = \"direct\"\n",
        shared.machine.certificate.display(),
        shared.machine.key.display(),
        shared.authority.certificate().display()
    );
    let output = check("guilds-machine-agent", shared, &good)?;
    assert!(output.status.success(), "{}", text(&output));

    let bad = good
        .replace("machine = \"local\"", "machine = \"elsewhere\"")
        .replace("runners = \"direct\"", "runners = \"magic\"")
        + "firewal = \"off\"\n";
    let output = check("guilds-machine-agent", shared, &bad)?;
    assert_eq!(output.status.code(), Some(78), "{}", text(&output));
    let told = text(&output);
    for word in [
        "elsewhere",
        "local",
        "settings.toml:5",
        "magic",
        "direct",
        "settings.toml:6",
        "firewal",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    Ok(())
}

#[tokio::test]
async fn a_daemon_with_wrong_settings_ends_before_it_listens() -> Result<()> {
    let shared = Shared::get().await?;
    let directory = tempfile::tempdir_in(&shared.work)?;
    let path = directory.path().join("settings.toml");
    std::fs::write(&path, "listen = 5\n")?;
    for program in ["guilds-control-plane", "guilds-machine-agent"] {
        let output = spawn::output(
            spawn::command(shared.program(program))
                .args(["serve", "--config"])
                .arg(&path),
        )?;
        assert_eq!(
            output.status.code(),
            Some(78),
            "{program}: {}",
            text(&output)
        );
        assert!(
            text(&output).contains("listen"),
            "{program}: {}",
            text(&output)
        );
    }
    Ok(())
}

#[tokio::test]
async fn every_shipped_settings_file_parses() -> Result<()> {
    let shared = Shared::get().await?;
    let mut files = vec![shared.repository.join("packaging")];
    let mut parsed = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                files.push(entry?.path());
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text = std::fs::read_to_string(&path)?;
            toml::from_str::<toml::Table>(&text)
                .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
            parsed += 1;
        }
    }
    assert!(parsed >= 1, "the demonstration's document is one");
    Ok(())
}

#[tokio::test]
async fn keys_are_their_owners_alone_and_an_authority_is_kept() -> Result<()> {
    let shared = Shared::get().await?;
    for path in [
        shared.key_file.clone(),
        shared.secrets_key_file.clone(),
        shared.control_plane.key.clone(),
        shared.machine.key.clone(),
        shared.authority.certificate().with_file_name("ca.key"),
    ] {
        let mode = std::fs::metadata(&path)?.permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600, "{}", path.display());
    }
    let directory = tempfile::tempdir_in(&shared.work)?;
    let init = || {
        spawn::run(
            spawn::command(shared.program("guilds-control-plane"))
                .args(["ca", "init", "--dir"])
                .arg(directory.path()),
        )
    };
    init()?;
    let first = std::fs::read(directory.path().join("ca.key"))?;
    init()?;
    assert_eq!(std::fs::read(directory.path().join("ca.key"))?, first);
    Ok(())
}
