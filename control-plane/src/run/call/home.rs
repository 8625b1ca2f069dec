//! A file of the agent's home for a handler that needs it: read on the machine, as the agent.

use http_body_util::{BodyExt as _, Limited};
use machine_agent_api::{ErrorCode, ReadFile, check_path};
use secrecy::SecretSlice;

use super::super::engine::Engine;
use super::super::start::{machine_of, place_of};
use crate::machine::MachineError;
use crate::store::agents::Agent;
use crate::tools::{HomeFile, ReadHome};

impl Engine {
    /// Reads a file of the agent's home. It goes to the handler alone: it is in no message
    /// and no log.
    pub(super) async fn read_home(&self, agent: &Agent, read: &ReadHome) -> HomeFile {
        let path = &read.path;
        check_path(path).map_err(|what| format!("422 the path {what}"))?;
        let operation = ReadFile {
            agent: &agent.id,
            path,
        };
        let (machine, place) = (machine_of(agent), place_of(agent));
        let ask = || self.machines.read_file(&machine, &place, &operation);
        let mut answer = ask().await;
        if let Err(MachineError::Refused {
            code: ErrorCode::NotFound,
            ..
        }) = answer
        {
            // It may be the agent that the machine doesn't know yet, as after it was made anew.
            self.make_ready(agent)
                .await
                .map_err(|error| error.to_string())?;
            answer = ask().await;
        }
        let body = answer.map_err(|error| refusal(&error))?;
        let (length, most) = (body.length(), read.most_bytes);
        if length > most {
            return Err(format!(
                "422 ~/{path} has {length} bytes; at most {most} are allowed"
            ));
        }
        let limit = usize::try_from(most).unwrap_or(usize::MAX);
        let bytes = Limited::new(body, limit).collect().await.map_err(|error| {
            format!("~/{path} could not be read whole: {error}; nothing was stored, call again")
        })?;
        Ok(SecretSlice::from(bytes.to_bytes().to_vec()))
    }
}

/// A machine's refusal is about the file; everything else is about the machine.
fn refusal(error: &MachineError) -> String {
    match error {
        MachineError::Refused { code, message } => match code {
            ErrorCode::NotFound => format!("404 {message}"),
            ErrorCode::Invalid | ErrorCode::Conflict | ErrorCode::BodyTooLarge => {
                format!("422 {message}")
            }
            _ => message.clone(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: ErrorCode) -> MachineError {
        MachineError::Refused {
            code,
            message: "~/a is a folder, not a file".to_owned(),
        }
    }

    #[test]
    fn what_is_wrong_with_the_file_has_a_status_and_what_is_wrong_with_the_machine_has_none() {
        assert_eq!(
            refusal(&refused(ErrorCode::Invalid)),
            "422 ~/a is a folder, not a file"
        );
        assert_eq!(
            refusal(&refused(ErrorCode::NotFound)),
            "404 ~/a is a folder, not a file"
        );
        assert_eq!(
            refusal(&refused(ErrorCode::Failed)),
            "~/a is a folder, not a file"
        );
        let away = MachineError::Unreachable {
            machine: "local".to_owned(),
            reason: "connection refused".to_owned(),
        };
        assert_eq!(
            refusal(&away),
            "machine local can't be reached: connection refused"
        );
    }
}
