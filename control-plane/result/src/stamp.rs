//! The last step: the trailer and the metadata.

use serde::Serialize;

use super::{Capped, Redactor};

/// Remaining calls at which the wrap-up line appears.
const LOW_BUDGET: u32 = 8;
const LOW_BUDGET_LINE: &str =
    "Write durable findings and finish with text. A batch costs one call each.";

/// What the path of a call knows beside the result.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The name the call used.
    pub tool_name: &'a str,
    /// Milliseconds from the beginning of its execution to the result.
    pub duration_ms: u64,
    /// The metadata of this tool carries `exit_code`.
    pub with_exit_code: bool,
}

/// A tool message: content and metadata as they are stored and read.
#[derive(Debug, Clone)]
pub struct Stamped {
    content: String,
    metadata: String,
    error: bool,
    truncated: bool,
    /// Version of the secrets that were taken out of it.
    version: i64,
}

#[derive(Serialize)]
struct Metadata<'a> {
    tool_name: &'a str,
    duration_ms: u64,
    output_filter: &'a str,
    truncated: bool,
    original_bytes: u64,
    stored_bytes: u64,
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<Option<i32>>,
}

impl Capped {
    /// Puts the trailer under the result and writes the metadata. The name of
    /// the tool came from the caller, so it is redacted here.
    #[must_use]
    pub fn stamp(self, remaining: u32, redactor: &Redactor, facts: &Facts<'_>) -> Stamped {
        let error = self.error.then(|| {
            let first = self.text.lines().next().unwrap_or_default();
            first.strip_prefix("ERROR: ").unwrap_or(first).to_owned()
        });
        let mut content = self.text;
        content.push('\n');
        if remaining <= LOW_BUDGET {
            content.push_str(LOW_BUDGET_LINE);
            content.push('\n');
        }
        content.push_str(&format!("remaining_tool_calls: {remaining}"));
        let tool_name = redactor.apply(&facts.tool_name.replace('\0', "\u{fffd}"));
        let metadata = Metadata {
            tool_name: &tool_name,
            duration_ms: facts.duration_ms,
            output_filter: self.filter.as_str(),
            truncated: self.truncated,
            original_bytes: self.original_bytes,
            stored_bytes: content.len() as u64,
            error: error.as_deref(),
            exit_code: facts.with_exit_code.then_some(self.exit_code),
        };
        // Numbers, booleans and strings always have a JSON text.
        let metadata = serde_json::to_string(&metadata).unwrap_or_else(|_| "{}".to_owned());
        Stamped {
            content,
            metadata,
            error: error.is_some(),
            truncated: self.truncated,
            version: self.version,
        }
    }
}

impl Stamped {
    /// The stamped string.
    #[must_use]
    pub fn content(&self) -> &str {
        &self.content
    }

    /// The metadata's JSON text.
    #[must_use]
    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    /// Whether the result is an error.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        self.error
    }

    /// Whether the cap cut it.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Version of the secrets that were taken out of it.
    #[must_use]
    pub const fn version(&self) -> i64 {
        self.version
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Raw, Redactor, make};
    use super::Facts;
    use crate::Filter;

    #[track_caller]
    fn check(raw: Raw, remaining: u32, content: &str, metadata: &str) {
        let facts = Facts {
            tool_name: "note_get",
            duration_ms: 5,
            with_exit_code: false,
        };
        let message = make(
            &raw.filter(Filter::None),
            &Redactor::default(),
            65_536,
            remaining,
            &facts,
        );
        assert_eq!(message.content(), content);
        assert_eq!(message.metadata(), metadata);
    }

    #[test]
    fn the_trailer_is_last_and_has_no_newline() {
        check(
            Raw::text("{}".to_owned()),
            9,
            "{}\nremaining_tool_calls: 9",
            r#"{"tool_name":"note_get","duration_ms":5,"output_filter":"none","truncated":false,"original_bytes":2,"stored_bytes":26,"error":null}"#,
        );
    }

    #[test]
    fn the_low_budget_line_sits_above_it_from_eight_on() {
        check(
            Raw::error("404 no such note\nsecond line"),
            8,
            "ERROR: 404 no such note\nsecond line\nWrite durable findings and finish with text. A batch costs one call each.\nremaining_tool_calls: 8",
            r#"{"tool_name":"note_get","duration_ms":5,"output_filter":"none","truncated":false,"original_bytes":35,"stored_bytes":133,"error":"404 no such note"}"#,
        );
    }
}
