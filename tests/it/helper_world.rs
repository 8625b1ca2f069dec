//! The world that a helper is started into: everything root had is gone.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::machine::MachineSettings;
use tests::{Stack, StackBuilder, processes};

/// A helper that answers with what the kernel says of it. Python itself ignores
/// SIGPIPE and SIGXFSZ and opens nothing else before it lists its descriptors.
const WITNESS: &str = r#"#!/usr/bin/python3 -IS
import json, os, sys
descriptors = {}
for name in os.listdir("/proc/self/fd"):
    try:
        descriptors[name] = os.readlink("/proc/self/fd/" + name)
    except OSError:
        pass
def text(name):
    with open("/proc/self/" + name, "rb") as file:
        return file.read().decode()
world = {
    "status": text("status"), "environ": text("environ").split("\0")[:-1], "limits": text("limits"),
    "cgroup": text("cgroup"), "descriptors": descriptors, "cwd": os.getcwd(), "arguments": sys.argv[1:],
    "session": os.getsid(0) == os.getpid(), "oom": text("oom_score_adj").strip(),
}
request = json.loads(sys.stdin.read())
world["request"] = {key: request[key] for key in sorted(request) if key != "arguments"}
json.dump({"output": json.dumps(world), "original_bytes": 1}, sys.stdout)
"#;

async fn stack_with_witness() -> Result<Stack> {
    let shared = tests::Shared::get().await?;
    let folder = tempfile::Builder::new()
        .prefix("helpers-")
        .permissions(PermissionsExt::from_mode(0o755))
        .tempdir_in("/usr/local/bin")?
        .keep();
    for name in ["guilds-code", "guilds-script-run", "guilds-browser"] {
        std::fs::copy(shared.program(name), folder.join(name))?;
    }
    let witness = folder.join("guilds-code");
    std::fs::write(&witness, WITNESS)?;
    std::fs::set_permissions(&witness, PermissionsExt::from_mode(0o755))?;
    StackBuilder::default()
        .machine(MachineSettings {
            helpers_dir: Some(folder),
            ..MachineSettings::default()
        })
        .start()
        .await
}

#[tokio::test]
async fn a_helper_has_the_agents_ids_no_capability_and_nothing_open() -> Result<()> {
    let stack = stack_with_witness().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run.call("shell", json!({ "command": "true" })).await?;
    let world: Value =
        serde_json::from_str(result.text()).with_context(|| format!("{result:?}"))?;
    let uid = stack.ada.uid()?;
    let gid = nix::unistd::User::from_name(&stack.ada.id)?
        .context("account")?
        .gid
        .as_raw();
    let status = processes::fields(world["status"].as_str().context("status")?);
    let zero = "0000000000000000";
    for (name, expected) in [
        ("Uid", format!("{uid} {uid} {uid} {uid}")),
        ("Gid", format!("{gid} {gid} {gid} {gid}")),
        // The primary group alone, and nothing of root's.
        ("Groups", String::new()),
        ("Umask", "0077".to_owned()),
        ("NoNewPrivs", "1".to_owned()),
        ("CapInh", zero.to_owned()),
        ("CapPrm", zero.to_owned()),
        ("CapEff", zero.to_owned()),
        ("CapBnd", zero.to_owned()),
        ("CapAmb", zero.to_owned()),
        ("SigBlk", zero.to_owned()),
        // SIGPIPE and SIGXFSZ, by Python itself.
        ("SigIgn", "0000000001001000".to_owned()),
    ] {
        assert_eq!(status.get(name), Some(&expected), "{name}");
    }
    assert_eq!(world["session"], true, "a session of its own");
    assert_eq!(world["cwd"], stack.ada.home());
    assert_eq!(
        world["arguments"],
        json!(["shell", "--home", stack.ada.home()])
    );

    let descriptors: BTreeMap<String, String> =
        serde_json::from_value(world["descriptors"].clone())?;
    let numbers: Vec<_> = descriptors.keys().map(String::as_str).collect();
    // 3 is the listing itself, closed by the time its link is read or still there.
    assert!(
        numbers == ["0", "1", "2"] || numbers == ["0", "1", "2", "3"],
        "{descriptors:?}"
    );
    for number in ["0", "1", "2"] {
        assert!(descriptors[number].starts_with("pipe:["), "{descriptors:?}");
    }

    let limits = world["limits"].as_str().context("limits")?;
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let core: Vec<_> = core.into_iter().flat_map(str::split_whitespace).collect();
    assert_eq!(core[4..6], ["0", "0"], "{limits}");
    Ok(())
}

#[tokio::test]
async fn a_helpers_environment_is_built_from_nothing() -> Result<()> {
    let stack = stack_with_witness().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run.call("shell", json!({ "command": "true" })).await?;
    let world = result.json();
    let environment: BTreeMap<String, String> = world["environ"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for (name, value) in [
        ("HOME", stack.ada.home()),
        ("USER", stack.ada.id.clone()),
        ("LOGNAME", stack.ada.id.clone()),
        ("LANG", "C.UTF-8".to_owned()),
    ] {
        assert_eq!(environment.get(name), Some(&value), "{name}");
    }
    let path = environment.get("PATH").context("PATH")?;
    assert!(
        path.split(':').all(|folder| folder.starts_with('/')),
        "{path}"
    );
    let known = [
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "PATH",
        "SHELL",
        "TZ",
        "XDG_RUNTIME_DIR",
    ];
    for name in environment.keys() {
        assert!(known.contains(&name.as_str()), "{name} in {environment:?}");
    }
    let request = &world["request"];
    assert_eq!(request["env"], json!({}));
    assert_eq!(request["limit_ms"], 50_000);
    assert_eq!(request["max_output_bytes"], 65_536 + 65_536);
    Ok(())
}

#[tokio::test]
async fn a_helper_is_in_its_calls_cgroup_under_the_agents() -> Result<()> {
    let stack = stack_with_witness().await?;
    let run = stack.run(&stack.ada).await?;
    let result = run.call("shell", json!({ "command": "true" })).await?;
    let world = result.json();
    let lines = world["cgroup"].as_str().context("cgroup")?;
    let agent = format!("/{}/{}", stack.machine()?.cgroup_root(), stack.ada.id);
    let unified = lines
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .context("v2")?;
    assert!(unified.starts_with(&format!("{agent}/call-")), "{lines}");
    let mounts = std::fs::read_to_string("/proc/mounts")?;
    for controller in ["memory", "pids"] {
        // The kernel lists a hierarchy of version 1 to a container that has it nowhere
        // mounted; what isn't mounted can't be joined. On pure v2 there is none.
        let mounted = mounts.lines().any(|line| {
            let fields: Vec<_> = line.split(' ').collect();
            fields[2] == "cgroup" && fields[3].split(',').any(|option| option == controller)
        });
        if mounted {
            let v1 = lines
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find_map(|(_, rest)| rest.strip_prefix(&format!("{controller}:")));
            assert_eq!(v1, Some(agent.as_str()), "{lines}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_runner_has_no_privilege_and_no_memory_that_its_agent_can_read() -> Result<()> {
    let stack = Stack::whole().await?;
    let run = stack.run(&stack.ada).await?;
    run.call("shell", json!({ "command": "true" })).await?;
    let uid = stack.ada.uid()?;
    let runners: Vec<_> = processes::of_uid(uid)?
        .into_iter()
        .filter(|process| process.command.contains("runner"))
        .collect();
    assert_eq!(runners.len(), 1, "{runners:?}");
    let runner = runners.first().context("a runner")?;
    let status = processes::status(runner.pid)?;
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(
            status.get(name).map(String::as_str),
            Some("0000000000000000"),
            "{name}"
        );
    }
    assert_eq!(status.get("NoNewPrivs").map(String::as_str), Some("1"));
    assert_eq!(
        status.get("SigBlk").map(String::as_str),
        Some("0000000000000000")
    );
    // The files of a process that is not dumpable are root's.
    let owner = std::fs::metadata(format!("/proc/{}/environ", runner.pid))?.uid();
    assert_eq!(owner, 0);
    let environ = std::fs::read(format!("/proc/{}/environ", runner.pid))?;
    let environ = String::from_utf8_lossy(&environ);
    assert!(
        !environ.contains("GUILDS_TEST"),
        "the front's environment went along"
    );
    let tried = run
        .call(
            "shell",
            json!({ "command": format!("cat /proc/{}/environ", runner.pid) }),
        )
        .await?;
    assert!(tried.content.contains("Permission denied"), "{tried:?}");
    Ok(())
}
