//! From a handler's raw result to the one thing that may be stored as a tool message.
//!
//! Each step is a type that only the step before it can make:
//! [`Raw`] → [`Filtered`] → [`Redacted`] → [`Capped`] → [`Stamped`]. A text that
//! skipped a step has no type that can be stored. This is the way:
//!
//! ```
//! use control_plane::run::result::{Facts, Raw, Redactor, make};
//! use control_plane::tools::Filter;
//! let facts = Facts { tool_name: "shell", duration_ms: 1, with_exit_code: false };
//! let filtered = Raw::text("hi".to_owned()).filter(Filter::None);
//! let message = make(&filtered, &Redactor::default(), 65_536, 9, &facts);
//! assert_eq!(message.content(), "hi\nremaining_tool_calls: 9");
//! ```
//!
//! A message of one's own does not compile:
//!
//! ```compile_fail
//! let message = control_plane::run::result::Stamped {
//!     content: "as I like it".to_owned(),
//!     metadata: "{}".to_owned(),
//! };
//! ```
//!
//! nor does a step out of order:
//!
//! ```compile_fail
//! use control_plane::run::result::{Facts, Raw};
//! let facts = Facts { tool_name: "shell", duration_ms: 1, with_exit_code: false };
//! let message = Raw::text("unredacted".to_owned()).stamp(3, &facts);
//! ```

mod cap;
mod cuts;
mod filter;
mod redact;
mod stamp;

pub use cap::Capped;
pub use filter::Filtered;
pub use redact::{Redacted, Redactor, Secret, Unbuildable};
pub use stamp::{Facts, Stamped};

use crate::tools::{MachineResult, ToolError};

/// Most bytes a machine may return beyond the cap, so that what is cut there was
/// seen by the redactor with some text to spare.
pub const MACHINE_SLACK_BYTES: u64 = 64 * 1024;

/// What a handler gave back, before any step.
#[derive(Debug)]
pub struct Raw {
    text: String,
    original_bytes: u64,
    /// Where the machine's limit ended its text.
    cut: Option<usize>,
    error: bool,
    exit_code: Option<i32>,
}

impl Raw {
    /// A result.
    #[must_use]
    pub fn text(text: String) -> Self {
        Self {
            original_bytes: text.len() as u64,
            text,
            cut: None,
            error: false,
            exit_code: None,
        }
    }

    /// A refusal: `message` is everything after `ERROR: `.
    #[must_use]
    pub fn error(message: &str) -> Self {
        Self {
            error: true,
            ..Self::text(format!("ERROR: {message}"))
        }
    }

    /// What a machine answered when it was asked for at most `max_output_bytes`.
    #[must_use]
    pub fn machine(result: MachineResult, max_output_bytes: u64) -> Self {
        let length = result.text.len() as u64;
        let end = result.text.len().saturating_sub(result.appended_bytes);
        // A cut never splits a character, so it may end three bytes early.
        let cut = result.original_bytes > length && end as u64 + 4 > max_output_bytes;
        Self {
            cut: cut.then_some(end),
            original_bytes: result.original_bytes.max(length),
            text: result.text,
            error: result.is_error,
            exit_code: result.exit_code,
        }
    }

    /// What the caller reads when a handler gave no result. A failure names only
    /// the call; its cause is for the operator's log.
    #[must_use]
    pub fn from_tool_error(error: &ToolError, tool: &str, call_id: &str) -> Self {
        match error {
            ToolError::Refused(message) => Self::error(message),
            ToolError::Failed(_) => Self::failed(tool, call_id),
        }
    }

    /// A failure whose cause is in the operator's log.
    #[must_use]
    pub fn failed(tool: &str, call_id: &str) -> Self {
        Self::error(&format!(
            "{tool} failed; the operator's log has the cause under call {call_id}"
        ))
    }
}

/// Takes a filtered result through every other step. It stays, as the secrets may change
/// until its message is stored.
#[must_use]
pub fn make(
    filtered: &Filtered,
    redactor: &Redactor,
    cap_bytes: usize,
    remaining: u32,
    facts: &Facts<'_>,
) -> Stamped {
    filtered
        .redact(redactor)
        .cap(cap_bytes)
        .stamp(remaining, redactor, facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Filter;

    const FACTS: Facts<'static> = Facts {
        tool_name: "shell",
        duration_ms: 12,
        with_exit_code: true,
    };

    #[test]
    fn a_result_passes_every_step() {
        let raw = Raw::machine(
            MachineResult {
                text: "\u{1b}[1mhi\u{1b}[0m key-123456\0".to_owned(),
                original_bytes: 20,
                exit_code: Some(3),
                ..MachineResult::default()
            },
            131_072,
        );
        let secret = Secret {
            name: "KEY".to_owned(),
            value: "key-123456".into(),
        };
        let redactor = Redactor::new(1, vec![secret]).unwrap();
        let filtered = raw.filter(Filter::Terminal);
        let message = make(&filtered, &redactor, 65_536, 8, &FACTS);
        assert_eq!(
            message.content(),
            "hi [redacted:KEY]\u{fffd}\nWrite durable findings and finish with text. A batch costs one call each.\nremaining_tool_calls: 8"
        );
        assert_eq!(
            message.metadata(),
            r#"{"tool_name":"shell","duration_ms":12,"output_filter":"terminal","truncated":false,"original_bytes":22,"stored_bytes":118,"error":null,"exit_code":3}"#
        );
    }

    #[test]
    fn what_the_machine_cut_is_marked_even_when_the_filter_made_it_short() {
        let mut text = "\u{1b}[0m".repeat(300);
        text.push_str("tail");
        let length = text.len() as u64;
        let raw = Raw::machine(
            MachineResult {
                text,
                original_bytes: 1_000_000,
                ..MachineResult::default()
            },
            length,
        );
        let message = make(
            &raw.filter(Filter::Terminal),
            &Redactor::default(),
            65_536,
            9,
            &FACTS,
        );
        assert_eq!(
            message.content(),
            "tail\n[truncated]\nremaining_tool_calls: 9"
        );
        assert!(
            message
                .metadata()
                .contains(r#""truncated":true,"original_bytes":1000000"#)
        );
    }

    #[test]
    fn only_the_stamp_writes_a_message() {
        let mut callers = Vec::new();
        visit(
            std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
            &mut callers,
        );
        callers.sort();
        assert_eq!(callers, ["run/result/stamp.rs", "store/calls.rs"]);
    }

    fn visit(folder: &std::path::Path, callers: &mut Vec<String>) {
        // Spelled in two halves, so that this file is not its own finding.
        let needle = ["store_", "message("].concat();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, callers);
            } else if std::fs::read_to_string(&path).unwrap().contains(&needle) {
                let root = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
                callers.push(
                    path.to_str()
                        .unwrap()
                        .strip_prefix(root)
                        .unwrap()
                        .to_owned(),
                );
            }
        }
    }
}
