//! The pure steps of `tool-result`, and the one way from their end into the database.

use sqlx::PgConnection;
use uuid::Uuid;

pub use tool_result::{
    Capped, Facts, Filtered, MACHINE_SLACK_BYTES, Raw, Redacted, Redactor, Secret, Stamped, make,
};

use crate::store;
use crate::store::calls::Stored;
use crate::tools::ToolError;

/// What the caller reads when a handler gave no result. A failure names only the call; its
/// cause is for the operator's log.
#[must_use]
pub fn of_error(error: &ToolError, tool: &str, call_id: &str) -> Raw {
    match error {
        ToolError::Refused(message) => Raw::error(message),
        ToolError::Failed(_) => Raw::failed(tool, call_id),
    }
}

/// Stores a message as that of a claimed or sent call, with the run's next sequence, unless
/// the organisation's secrets are others by now.
///
/// # Errors
/// When the database does not answer.
pub async fn store(
    message: &Stamped,
    db: &mut PgConnection,
    run: Uuid,
    call_id: &str,
) -> sqlx::Result<Stored> {
    let text = (message.content(), message.metadata());
    store::calls::store_message(db, run, call_id, text, message.version()).await
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_a_stamped_result_becomes_a_message() {
        let mut callers = Vec::new();
        visit(
            std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
            &mut callers,
        );
        callers.sort();
        assert_eq!(callers, ["run/result.rs", "store/calls.rs"]);
    }

    fn visit(folder: &std::path::Path, callers: &mut Vec<String>) {
        // Spelled in two halves, so that this test is not its own finding.
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
