//! Files of an agent's home, read through the API on the agent's machine, as the agent.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anyhow::Result;
use serde_json::json;
use tests::{Agent, Stack};

fn path_of(agent: &Agent, path: &str) -> String {
    format!("/v1/agents/{}/files?path={path}", agent.id)
}

/// The agent's account and home exist once it was asked anything.
async fn with_home() -> Result<Stack> {
    let stack = Stack::whole().await?;
    stack.run(&stack.ada).await?;
    Ok(stack)
}

async fn check(stack: &Stack, path: &str, status: u16, code: &str, words: &str) -> Result<()> {
    let answer = stack.backend.get(&path_of(&stack.ada, path)).await?;
    assert_eq!(answer.refusal(), (status, code.to_owned()), "{path}");
    assert!(answer.text.contains(words), "{path}: {}", answer.text);
    Ok(())
}

#[tokio::test]
async fn a_file_is_read_byte_for_byte_and_never_as_a_page() -> Result<()> {
    let stack = with_home().await?;
    let run = stack.run(&stack.ada).await?;
    let made = run
        .call(
            "shell",
            json!({ "command": "mkdir -p 'a b' screenshots && printf '\\377\\330\\000x' > screenshots/latest.jpg && printf '<script>1</script>' > 'a b/ü.html' && : > empty && ln -s screenshots/latest.jpg inside.jpg" }),
        )
        .await?;
    assert!(made.content.starts_with("[exited 0"), "{made:?}");

    let (status, headers, bytes) = stack
        .backend
        .download(&path_of(&stack.ada, "screenshots/latest.jpg"))
        .await?;
    assert_eq!((status, &bytes[..]), (200, &b"\xff\xd8\x00x"[..]));
    assert_eq!(headers["content-type"], "image/jpeg");
    assert_eq!(headers["content-length"], "4");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(
        headers["content-security-policy"],
        "default-src 'none'; sandbox"
    );
    assert_eq!(
        headers["content-disposition"],
        "attachment; filename*=UTF-8''latest.jpg"
    );

    let (status, headers, bytes) = stack
        .backend
        .download(&path_of(&stack.ada, "a%20b/%C3%BC.html"))
        .await?;
    assert_eq!((status, &bytes[..]), (200, &b"<script>1</script>"[..]));
    assert_eq!(headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(
        headers["content-disposition"],
        "attachment; filename*=UTF-8''%C3%BC.html"
    );

    let (status, _, bytes) = stack
        .backend
        .download(&path_of(&stack.ada, "inside.jpg"))
        .await?;
    assert_eq!((status, bytes.len()), (200, 4), "a link inside the home");
    let (status, _, bytes) = stack
        .backend
        .download(&path_of(&stack.ada, "empty"))
        .await?;
    assert_eq!((status, bytes.len()), (200, 0));
    Ok(())
}

#[tokio::test]
async fn what_is_no_file_inside_the_home_is_refused() -> Result<()> {
    let stack = with_home().await?;
    let home = Path::new(&stack.ada.home()).to_owned();
    std::fs::write("/home/outside-of-all", "secret")?;
    symlink("/home/outside-of-all", home.join("absolute"))?;
    symlink("../outside-of-all", home.join("relative"))?;
    symlink("..", home.join("up"))?;
    symlink("/proc/self/root", home.join("magic"))?;
    std::fs::create_dir(home.join("folder"))?;
    nix::unistd::mkfifo(&home.join("pipe"), nix::sys::stat::Mode::S_IRWXU)?;
    std::fs::set_permissions(home.join("pipe"), PermissionsExt::from_mode(0o666))?;
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.txt");
    std::fs::write(home.join(odd), "odd")?;
    std::fs::write(home.join("roots"), "not the agent's")?;
    std::fs::set_permissions(home.join("roots"), PermissionsExt::from_mode(0o600))?;

    check(&stack, "none.txt", 404, "not_found", "~/none.txt").await?;
    check(&stack, "folder/none.txt", 404, "not_found", "none.txt").await?;
    check(&stack, "roots/below", 404, "not_found", "roots/below").await?;
    check(&stack, "folder", 422, "invalid", "is a folder").await?;
    check(&stack, "pipe", 422, "invalid", "no regular file").await?;
    for out in [
        "absolute",
        "relative",
        "up/outside-of-all",
        "magic/etc/passwd",
    ] {
        check(&stack, out, 422, "invalid", "leads out of the home").await?;
    }
    check(
        &stack,
        "../outside-of-all",
        422,
        "invalid",
        "out of the home",
    )
    .await?;
    check(&stack, "folder/../../x", 422, "invalid", "out of the home").await?;
    check(
        &stack,
        "%2e%2e/outside-of-all",
        422,
        "invalid",
        "out of the home",
    )
    .await?;
    check(&stack, "/etc/passwd", 422, "invalid", "begins with /").await?;
    check(&stack, "a%00b", 422, "invalid", "U+0000").await?;
    check(&stack, "odd%ff.txt", 422, "invalid", "not UTF-8").await?;
    check(&stack, "", 422, "invalid", "`path` is missing").await?;
    check(&stack, &"n".repeat(256), 422, "invalid", "256 bytes").await?;
    check(
        &stack,
        "roots",
        422,
        "invalid",
        "may not be read by the agent",
    )
    .await?;
    let other = "x&follow=1&path=y";
    check(&stack, other, 422, "invalid", "`path` is given twice").await?;
    check(&stack, other, 422, "invalid", "`follow` is no parameter").await?;
    std::fs::remove_file("/home/outside-of-all")?;
    Ok(())
}

#[tokio::test]
async fn sixteen_mebibytes_are_read_and_a_byte_more_is_not() -> Result<()> {
    let stack = with_home().await?;
    let run = stack.run(&stack.ada).await?;
    let made = run
        .call(
            "shell",
            json!({ "command": "head -c 16777216 /dev/zero | tr '\\0' z > most.bin; truncate -s 16777217 more.bin; truncate -s 1T sparse.bin" }),
        )
        .await?;
    assert!(made.content.starts_with("[exited 0"), "{made:?}");
    let (status, headers, bytes) = stack
        .backend
        .download(&path_of(&stack.ada, "most.bin"))
        .await?;
    assert_eq!((status, bytes.len()), (200, 16_777_216));
    assert!(bytes.iter().all(|byte| *byte == b'z'));
    assert_eq!(headers["content-type"], "application/octet-stream");
    check(&stack, "more.bin", 422, "invalid", "has 16777217 bytes").await?;
    check(&stack, "sparse.bin", 422, "invalid", "at most 16777216").await?;
    Ok(())
}

#[tokio::test]
async fn an_agent_nobody_knows_is_404_and_a_machine_that_is_away_503() -> Result<()> {
    let stack = Stack::storage().await?;
    let away = stack.backend.get(&path_of(&stack.ada, "a.txt")).await?;
    assert_eq!(away.refusal(), (503, "unavailable".to_owned()));
    assert!(away.text.contains("machine local"), "{}", away.text);
    let nobody = stack.backend.get("/v1/agents/nobody/files?path=a").await?;
    assert_eq!(nobody.refusal(), (404, "not_found".to_owned()));
    // What can't be is refused before the machine is asked.
    check(&stack, "../a", 422, "invalid", "out of the home").await?;
    Ok(())
}
