//! Readers of a helper's reply: from what the machine answered to the raw result.

use machine_agent_api::Reply;

use super::{MachineCallNames, MachineResult, ToolError};

/// Reads the reply of a helper that ran no command of the agent's.
pub(super) fn page(_: &MachineCallNames, reply: Reply) -> Result<MachineResult, ToolError> {
    read(Reply {
        exit_code: None,
        ..reply
    })
}

/// Reads the reply of `guilds-code` and `guilds-script-run`, whose command's
/// exit code goes into the metadata. A command that ran is no error.
pub(super) fn command(names: &MachineCallNames, reply: Reply) -> Result<MachineResult, ToolError> {
    let mut result = read(reply)?;
    // A script's last line tells an exit that is not 0; a shell's first line does.
    if let (false, Some(code)) = (names.script.is_empty(), result.exit_code)
        && code != 0
    {
        let line = format!("[exit {code}]");
        if result.text.lines().next_back() != Some(&line) {
            let before = result.text.len();
            if !result.text.is_empty() && !result.text.ends_with('\n') {
                result.text.push('\n');
            }
            result.text.push_str(&line);
            result.appended_bytes = result.text.len() - before;
            result.original_bytes += result.appended_bytes as u64;
        }
    }
    Ok(result)
}

fn read(reply: Reply) -> Result<MachineResult, ToolError> {
    let is_error = reply.error.is_some();
    if reply.output.is_none() && !is_error {
        return Err(ToolError::failed(
            "the helper answered neither output nor error",
        ));
    }
    let output = reply.output.unwrap_or_default();
    let mut text = String::new();
    // A refusal opens the text, whatever else there is to tell.
    if let Some(error) = reply.error {
        text.push_str("ERROR: ");
        text.push_str(&error);
    }
    for part in reply
        .notices
        .iter()
        .map(String::as_str)
        .chain([output.as_str()])
    {
        if part.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
    }
    let around = (text.len() - output.len()) as u64;
    Ok(MachineResult {
        original_bytes: around + reply.original_bytes.max(output.len() as u64),
        exit_code: reply.exit_code.filter(|_| !is_error),
        is_error,
        appended_bytes: 0,
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(output: Option<&str>, error: Option<&str>, exit_code: Option<i32>) -> Reply {
        Reply {
            output: output.map(str::to_owned),
            error: error.map(str::to_owned),
            exit_code,
            ..Reply::default()
        }
    }

    #[track_caller]
    fn check(script: &str, reply: Reply, text: &str, exit_code: Option<i32>, is_error: bool) {
        let names = MachineCallNames {
            script: script.to_owned(),
            limit_s: 120,
        };
        let result = command(&names, reply).unwrap();
        assert_eq!(
            (result.text.as_str(), result.exit_code, result.is_error),
            (text, exit_code, is_error)
        );
        assert_eq!(result.original_bytes, text.len() as u64);
    }

    #[test]
    fn a_command_that_ran_is_no_error_whatever_its_exit_code() {
        check("s", reply(Some("hi"), None, Some(0)), "hi", Some(0), false);
        check(
            "s",
            reply(Some("hi\n[exit 3]"), None, Some(3)),
            "hi\n[exit 3]",
            Some(3),
            false,
        );
        check(
            "s",
            reply(Some("hi"), None, Some(3)),
            "hi\n[exit 3]",
            Some(3),
            false,
        );
        check(
            "s",
            reply(Some(""), None, Some(1)),
            "[exit 1]",
            Some(1),
            false,
        );
        check(
            "",
            reply(Some("[exited 1 · 0.1 s · ~]"), None, Some(1)),
            "[exited 1 · 0.1 s · ~]",
            Some(1),
            false,
        );
    }

    #[test]
    fn at_its_limit_a_script_tells_what_it_had_printed() {
        check(
            "s",
            reply(
                Some("one\ntwo"),
                Some("script s reached its limit of 120 s"),
                Some(137),
            ),
            "ERROR: script s reached its limit of 120 s\none\ntwo",
            None,
            true,
        );
    }

    #[test]
    fn notices_stand_before_the_output_and_after_an_error() {
        let mut told = reply(Some("url: x"), None, None);
        told.notices = vec!["Chrome was started again".to_owned()];
        told.original_bytes = 1_000;
        let result = page(&MachineCallNames::default(), told.clone()).unwrap();
        assert_eq!(result.text, "Chrome was started again\nurl: x");
        assert_eq!(result.original_bytes, 1_025);
        told.output = None;
        told.error = Some("no element matches #a".to_owned());
        let result = page(&MachineCallNames::default(), told).unwrap();
        assert_eq!(
            result.text,
            "ERROR: no element matches #a\nChrome was started again"
        );
    }

    #[test]
    fn a_reply_of_nothing_is_a_failure() {
        let error = page(&MachineCallNames::default(), Reply::default()).unwrap_err();
        assert!(matches!(error, ToolError::Failed(_)));
    }
}
