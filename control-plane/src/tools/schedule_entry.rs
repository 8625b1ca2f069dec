//! What the schedule tools share: checks of texts and ids, and the answer that shows one schedule.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use super::texts::has_lines;
use super::validation::{shown, storable};
use super::{Answer, Caller, Cx, ToolError};
use crate::store::agents::Agent;
use crate::store::schedules::stored::{self, Stored};
use crate::store::schedules::writing::{self, When};
use crate::store::schedules::{self, Filter, Schedule};

/// Schedules an agent may have.
pub(super) const MOST: i64 = 50;
/// Most characters of a description.
const MAX_DESCRIPTION: usize = 400;
/// Most characters of an instruction.
const MAX_INSTRUCTION: usize = 2_000;

/// The arguments of a tool that names one schedule.
#[derive(Deserialize)]
pub(super) struct One {
    pub(super) schedule_id: String,
}
/// Their schema.
pub(super) const ONE_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "schedule_id": {
      "type": "string",
      "description": "Id of the schedule, as schedule_list shows it."
    }
  },
  "required": ["schedule_id"],
  "additionalProperties": false
}"#;
/// Arguments that it accepts.
pub(super) const ONE_EXAMPLE: &str = r#"{"schedule_id": "0192f0c1-2345-7abc-8def-0123456789ab"}"#;

/// What is wrong with the texts of a schedule.
pub(super) fn check_texts(description: &str, instruction: &str) -> Vec<String> {
    let mut problems = Vec::new();
    // White space around it is left out.
    let description = description.trim();
    let mut check = |name: &str, text: &str, most: usize| {
        let characters = text.chars().count();
        if text.trim().is_empty() {
            problems.push(format!("{name} is empty"));
        } else if characters > most {
            problems.push(format!(
                "{name} has {characters} characters, at most {most} are allowed"
            ));
        }
    };
    check("description", description, MAX_DESCRIPTION);
    check("instruction", instruction, MAX_INSTRUCTION);
    if has_lines(description) {
        problems.push("description has more than one line".to_owned());
    }
    problems
}

/// Stores a schedule whose rule and texts are good, and answers it.
pub(super) async fn create(
    cx: Cx<'_>,
    (description, instruction): (&str, &str),
    when: When<'_>,
) -> Result<Answer, ToolError> {
    let Caller { agent, .. } = cx.caller;
    let held = writing::count_held(cx.db, agent).await?;
    if held >= MOST {
        return Err(ToolError::invalid(format!(
            "you have {held} schedules and may have {MOST}; remove one with schedule_delete first"
        )));
    }
    // The chat backend and operators read them.
    let words = |text: &str| cx.words.redact(&storable(text.to_owned()));
    let texts = (words(description.trim()), words(instruction));
    let stored = writing::insert(cx.db, agent, (&texts.0, &texts.1), when).await?;
    activate(cx.db, &stored).await?;
    answer(cx.db, agent, stored.id).await
}

/// Lets a schedule fire from now on.
pub(super) async fn activate(db: &mut PgConnection, stored: &Stored) -> Result<(), ToolError> {
    let next = stored.next().map_err(ToolError::failed)?;
    if next.is_none() {
        return Err(ToolError::invalid("this schedule would never fire"));
    }
    writing::activate(db, stored.id, next.as_ref()).await?;
    Ok(())
}

/// One of the agent's own schedules, held until the call is done.
pub(super) async fn own(
    db: &mut PgConnection,
    agent: &Agent,
    id: &str,
) -> Result<Stored, ToolError> {
    let held = match Uuid::try_parse(id) {
        Ok(uuid) => stored::hold(db, &agent.organisation, Some(&agent.id), uuid).await?,
        Err(_) => None,
    };
    held.ok_or_else(|| absent(id))
}

/// An id that names none of the agent's schedules.
pub(super) fn absent(id: &str) -> ToolError {
    ToolError::not_found(format!(
        "you have no schedule {}; schedule_list shows yours",
        shown(id)
    ))
}

#[derive(Serialize)]
struct Shown {
    schedule: Schedule,
}

/// The answer that shows a schedule as `schedule_list` does.
pub(super) async fn answer(
    db: &mut PgConnection,
    agent: &Agent,
    id: Uuid,
) -> Result<Answer, ToolError> {
    let filter = Filter {
        agent: Some(&agent.id),
        only: Some(id),
        ..Filter::default()
    };
    let found = schedules::page(db, &agent.organisation, filter, 1).await?;
    let owned = found.into_iter().next();
    let schedule = owned.ok_or(sqlx::Error::RowNotFound)?.schedule;
    Ok(Answer::Text(serde_json::to_string(&Shown { schedule })?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(description: &str, instruction: &str, expected: &[&str]) {
        assert_eq!(check_texts(description, instruction), expected);
    }

    #[test]
    fn texts_have_their_limits_in_characters() {
        check(&"é".repeat(400), &"é".repeat(2_000), &[]);
        check(" Mail\n", "Read\nthe mail.", &[]);
        check(&format!("{}\n", "a".repeat(400)), "i", &[]);
        check(
            &"a".repeat(401),
            &"a".repeat(2_001),
            &[
                "description has 401 characters, at most 400 are allowed",
                "instruction has 2001 characters, at most 2000 are allowed",
            ],
        );
    }

    #[test]
    fn every_problem_of_the_texts_is_told_at_once() {
        check(" ", "\n", &["description is empty", "instruction is empty"]);
        check("two\nlines", "i", &["description has more than one line"]);
        check(
            "two\u{2028}lines",
            "i",
            &["description has more than one line"],
        );
    }
}
