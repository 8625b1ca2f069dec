//! `guilds` as a person or a script uses it: the program itself, its two streams and its exit.

mod calls;
mod completion;
mod documents;
mod https;
mod inbox;
mod operating;
mod runs;
mod screens;
mod secrets;
mod transcripts;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result};
use serde_json::Value;
use tests::{Stack, spawn};

/// The program with a stack's address and tokens.
pub(super) struct Guilds {
    program: std::path::PathBuf,
    environment: Vec<(&'static str, String)>,
}

/// What it said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Said {
    fn of(output: Output) -> Result<Self> {
        Ok(Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// Stdout, of what exits 0 and says nothing else.
    #[track_caller]
    pub(super) fn done(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        self.stdout
    }

    /// Stdout as JSON, of what exits 0.
    #[track_caller]
    pub(super) fn json(self) -> Result<Value> {
        let text = self.done();
        serde_json::from_str(&text).with_context(|| text.clone())
    }
}

impl Guilds {
    pub(super) fn of(stack: &Stack) -> Self {
        let url = format!("http://{}", stack.control_plane.address());
        Self {
            program: stack.shared.program("guilds"),
            environment: vec![
                ("GUILDS_URL", url),
                ("GUILDS_BACKEND_TOKEN", stack.shared.backend_token.clone()),
                ("GUILDS_OPERATOR_TOKEN", stack.shared.operator_token.clone()),
            ],
        }
    }

    /// A command in an environment of its own.
    pub(super) fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let mut command = spawn::command(&self.program);
        self.environ(&mut command).args(words);
        command
    }

    /// Gives another program the same environment, and the folder of `guilds` to search.
    pub(super) fn environ<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let folder = self.program.parent().unwrap_or(Path::new("/"));
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
            .env("LANG", "C.UTF-8")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
    }

    pub(super) fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<Said> {
        Said::of(spawn::output(&mut self.command(words))?)
    }

    /// With something on its stdin.
    pub(super) fn fed<S: AsRef<OsStr>>(&self, words: &[S], input: &str) -> Result<Said> {
        let output = spawn::output_with_input(&mut self.command(words), input.as_bytes())?;
        Said::of(output)
    }

    /// With a terminal's width.
    pub(super) fn wide<S: AsRef<OsStr>>(&self, columns: usize, words: &[S]) -> Result<Said> {
        let mut command = self.command(words);
        command.env("COLUMNS", columns.to_string());
        Said::of(spawn::output(&mut command)?)
    }
}

#[tokio::test]
async fn call_opens_a_run_prints_the_content_and_ends_the_run() -> Result<()> {
    let stack = Stack::storage().await?;
    let guilds = Guilds::of(&stack);
    let ada = stack.ada.id.as_str();
    let call = ["call", "--agent", ada];
    let said = guilds.run(
        &[
            &call[..],
            &["note_write", "level=agent", "key=a.md", "content=5"],
        ]
        .concat(),
    )?;
    assert_eq!(
        said.done(),
        format!("{{\"path\":\"agent/{ada}/a.md\",\"created\":true}}\nremaining_tool_calls: 59\n")
    );
    // `limit` is an integer in the schema, so its text is read as one; `:=` is raw JSON.
    for limit in ["limit=1", "limit:=1"] {
        guilds
            .run(&[&call[..], &["note_find", limit]].concat())?
            .done();
    }
    let arguments = serde_json::json!({ "path": format!("agent/{ada}/a.md") }).to_string();
    let read = guilds.run(&[&call[..], &["note_get", "--json", &arguments]].concat())?;
    assert!(read.done().contains("\"content\":\"5\""));
    let result = guilds
        .run(&[&call[..], &["note_find", "-o", "json"]].concat())?
        .json()?;
    assert_eq!(result["metadata"]["tool_name"], "note_find");

    let runs = guilds
        .run(&["run", "list", "--agent", ada, "-o", "json"])?
        .json()?;
    let states: Vec<_> = runs["runs"]
        .as_array()
        .context("runs")?
        .iter()
        .map(|run| run["state"].clone())
        .collect();
    assert_eq!(states, vec!["ended"; 5]);
    Ok(())
}
