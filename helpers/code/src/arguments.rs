//! The arguments of `shell`, checked whole.

use serde_json::{Map, Value};

/// Longest limit of a call, in seconds: a browser's and a model's patience.
const MAX_LIMIT_S: u64 = 50;

/// What `shell` is asked to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// Text for bash.
    pub(crate) command: String,
    /// Where, relative to the home.
    pub(crate) cwd: Option<String>,
    /// Limit in seconds, 1 to 50.
    pub(crate) limit_s: u64,
    /// What the command reads on stdin; without it, nothing.
    pub(crate) stdin: Option<String>,
}

/// Reads the object.
///
/// # Errors
/// Every problem in one sentence.
pub(crate) fn read(text: &str) -> Result<Arguments, String> {
    let object: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| format!("the arguments are no object: {error}"))?;
    let mut problems = Vec::new();
    let (mut command, mut cwd, mut limit_s, mut stdin) = (None, None, MAX_LIMIT_S, None);
    for (key, value) in object {
        match (key.as_str(), value) {
            ("command", Value::String(text)) if text.contains('\0') => {
                command = Some(text);
                problems.push("command contains a NUL character".to_owned());
            }
            ("command", Value::String(text)) => command = Some(text),
            ("cwd", Value::String(text)) => cwd = Some(text),
            ("stdin", Value::String(text)) => stdin = Some(text),
            ("limit_s", Value::Number(number)) => match number.as_u64() {
                Some(number) if (1..=MAX_LIMIT_S).contains(&number) => limit_s = number,
                _ => problems.push(format!(
                    "limit_s is {number}; it is a whole number from 1 to {MAX_LIMIT_S}"
                )),
            },
            ("limit_s", other) => problems.push(wrong("limit_s", "a whole number", &other)),
            (name @ ("command" | "cwd" | "stdin"), other) => {
                if name == "command" {
                    command = Some(String::new());
                }
                problems.push(wrong(name, "a string", &other));
            }
            (other, _) => problems.push(format!(
                "{other} is not known; known are command, cwd, limit_s, stdin"
            )),
        }
    }
    if command.is_none() {
        problems.push("command is missing".to_owned());
    }
    match command {
        Some(command) if problems.is_empty() => Ok(Arguments {
            command,
            cwd,
            limit_s,
            stdin,
        }),
        _ => Err(problems.join("; ")),
    }
}

fn wrong(name: &str, wanted: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("{name} is {found}; it is {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_enough() {
        let arguments = read(r#"{"command":"ls"}"#).unwrap();
        assert_eq!(arguments.command, "ls");
        assert_eq!(arguments.cwd, None);
        assert_eq!(arguments.limit_s, 50);
        assert_eq!(arguments.stdin, None);
    }

    #[test]
    fn every_problem_is_told() {
        assert_eq!(
            read(r#"{"cwd":3,"limit_s":51,"when":1}"#).unwrap_err(),
            concat!(
                "cwd is a number; it is a string; ",
                "limit_s is 51; it is a whole number from 1 to 50; ",
                "when is not known; known are command, cwd, limit_s, stdin; ",
                "command is missing"
            )
        );
        assert_eq!(
            read(r#"{"command":null,"limit_s":"5"}"#).unwrap_err(),
            "command is null; it is a string; limit_s is a string; it is a whole number"
        );
        assert_eq!(
            read(r#"{"command":"a\u0000b","limit_s":1.5}"#).unwrap_err(),
            "command contains a NUL character; limit_s is 1.5; it is a whole number from 1 to 50"
        );
    }
}
