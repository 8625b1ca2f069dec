//! Mutual TLS: nobody but the control plane gets a connection, and it talks to the right machine only.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use serde_json::json;
use tests::certificates::{Identity, of_a_stranger, uri};
use tests::machine::MachineSettings;
use tests::machine_client::MachineClient;
use tests::{Stack, StackBuilder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn only_the_control_planes_valid_certificate_gets_a_connection() -> Result<()> {
    let stack = Stack::whole().await?;
    let authority = &stack.shared.authority;
    let folder = format!("odd-{}", stack.ada.id);
    let odd = |name: &str, san: &str, until: SystemTime| {
        authority.odd(&format!("{folder}/{name}"), uri(san)?, until)
    };
    let now = SystemTime::now();
    let later = now + Duration::from_secs(3600);
    let other_machine = authority.machine("elsewhere")?;
    let wrong: [(&str, Option<Identity>); 8] = [
        ("no certificate", None),
        ("this machine's own", Some(stack.shared.machine.clone())),
        ("another machine's", Some(other_machine)),
        (
            "an expired one",
            Some(odd(
                "expired",
                "guilds://control-plane",
                now - Duration::from_secs(60),
            )?),
        ),
        (
            "a longer name",
            Some(odd("longer", "guilds://control-plane/x", later)?),
        ),
        (
            "another scheme",
            Some(odd("scheme", "https://control-plane", later)?),
        ),
        (
            "the name as a DNS name",
            Some(authority.odd(
                &format!("{folder}/dns"),
                rcgen::SanType::DnsName("control-plane".try_into()?),
                later,
            )?),
        ),
        (
            "a stranger's",
            Some(of_a_stranger(
                &stack.directory.path().join("stranger"),
                uri("guilds://control-plane")?,
            )?),
        ),
    ];
    for (what, identity) in wrong {
        let client = MachineClient::new(stack.machine_address(), identity.as_ref())?;
        let answer = client.get("/v1/health").await;
        assert!(answer.is_err(), "{what} was answered: {answer:?}");
    }
    // The same way with the right name does get an answer, so the wrong ones failed for their names.
    let right = odd("right", "guilds://control-plane", later)?;
    for identity in [&right, &stack.shared.control_plane] {
        let client = MachineClient::new(stack.machine_address(), Some(identity))?;
        let health = client.get("/v1/health").await?.expect(200)?;
        assert_eq!(health["machine"], "local");
    }
    Ok(())
}

#[tokio::test]
async fn there_is_no_plaintext() -> Result<()> {
    let stack = Stack::whole().await?;
    let mut stream = tokio::net::TcpStream::connect(stack.machine_address()).await?;
    stream
        .write_all(b"GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n")
        .await?;
    let mut answer = Vec::new();
    // A TLS alert or nothing at all: never HTTP.
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "the front holds a connection that is no TLS");
    assert!(
        !answer.starts_with(b"HTTP"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    Ok(())
}

#[tokio::test]
async fn a_machine_with_anothers_certificate_is_asked_nothing() -> Result<()> {
    let stack = StackBuilder::default()
        .machine(MachineSettings {
            id: Some("impostor"),
            ..MachineSettings::default()
        })
        .start()
        .await?;
    // The document calls the machine at that address `local`.
    let run = stack.run(&stack.ada).await?;
    let notices = run.body["notices"].to_string();
    assert!(notices.contains("local"), "{notices}");
    let result = run.call("shell", json!({ "command": "true" })).await?;
    assert!(result.content.starts_with("ERROR: "), "{result:?}");
    assert!(stack.ada.uid().is_err(), "the impostor made an account");
    Ok(())
}
