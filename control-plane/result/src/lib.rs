//! From a handler's raw result to the one thing that may be stored as a tool message: pure functions, no I/O.
//!
//! Each step is a type that only the step before it can make:
//! [`Raw`] → [`Filtered`] → [`Redacted`] → [`Capped`] → [`Stamped`]. A text that
//! skipped a step has no type that can be stored. This is the way:
//!
//! ```
//! use tool_result::{Facts, Filter, Raw, Redactor, make};
//! let facts = Facts { tool_name: "shell", duration_ms: 1, with_exit_code: false };
//! let filtered = Raw::text("hi".to_owned()).filter(Filter::None);
//! let message = make(&filtered, &Redactor::default(), 65_536, 9, &facts);
//! assert_eq!(message.content(), "hi\nremaining_tool_calls: 9");
//! ```
//!
//! A message of one's own does not compile:
//!
//! ```compile_fail
//! let message = tool_result::Stamped {
//!     content: "as I like it".to_owned(),
//!     metadata: "{}".to_owned(),
//! };
//! ```
//!
//! nor does a step out of order:
//!
//! ```compile_fail
//! use tool_result::{Facts, Raw};
//! let facts = Facts { tool_name: "shell", duration_ms: 1, with_exit_code: false };
//! let message = Raw::text("unredacted".to_owned()).stamp(3, &facts);
//! ```

mod cap;
mod connector;
mod cuts;
mod filter;
mod redact;
mod stamp;

pub use cap::Capped;
pub use filter::{Filter, Filtered};
pub use redact::{Redacted, Redactor, Secret};
pub use stamp::{Facts, Stamped};

/// Most bytes a machine may return beyond the cap, so that what is cut there was
/// seen by the redactor with some text to spare.
pub const MACHINE_SLACK_BYTES: u64 = 64 * 1024;

/// The raw result of a machine call.
#[derive(Debug, Default)]
pub struct MachineResult {
    /// The text before filter, redaction, cap and stamp.
    pub text: String,
    /// Bytes as produced, also where the machine cut them.
    pub original_bytes: u64,
    /// Bytes at the end of `text` that its reader put after what the machine gave.
    pub appended_bytes: usize,
    /// Exit code for the metadata.
    pub exit_code: Option<i32>,
    /// The text is a refusal or the end at a limit: it opens with `ERROR: `.
    pub is_error: bool,
}

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
        let redactor = Redactor::new(1, vec![secret]);
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
}
