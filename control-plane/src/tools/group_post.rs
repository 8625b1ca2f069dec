//! `group_post`: post to the guild's chat, and ask whom it tags.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::group_tags::{same, tags};
use super::validation::storable;
use super::{Answer, Cx, Family, Filter, Offered, Place, Tool, ToolError};
use crate::store::agents;
use crate::store::events::{Event, What};

/// Most characters of a post.
const MAX_CONTENT: usize = 20_000;
/// The tag of the operator. No agent has this id.
const OPERATOR: &str = "user";

pub(super) struct GroupPost;

#[derive(Deserialize)]
pub(super) struct Args {
    content: String,
}

#[derive(Serialize)]
struct Posted {
    post: Uuid,
    asks: Vec<String>,
    unknown: Vec<String>,
}

impl Tool for GroupPost {
    const NAME: &'static str = "group_post";
    const DESCRIPTION: &'static str = "Posts to the chat of your guild, where its agents and its operator read. @name asks the agent of that id to reply, @user asks the operator, and a post without a tag asks nobody. A tag stands at the beginning of a word and outside of code. Answers whom the post asks, and in `unknown` the tags that are no agent of your guild; your own name asks nobody.";
    const SCHEMA: &'static str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "content": {
      "type": "string",
      "description": "The post, in Markdown, at most 20,000 characters."
    }
  },
  "required": ["content"],
  "additionalProperties": false
}"#;
    const EXAMPLE: &'static str =
        r#"{"content": "@bob the list of contacts is ready. @user may we write to them?"}"#;
    const OFFERED: Offered = Offered::Binding(Family::GroupPost);
    const FILTER: Filter = Filter::None;
    const PLACE: Place = Place::Storage;
    type Args = Args;

    async fn run(cx: Cx<'_>, args: Args) -> Result<Answer, ToolError> {
        check(&args.content)?;
        let agent = &cx.caller.agent;
        let content = cx.words.redact(&storable(args.content));
        let names: Vec<String> = tags(&content)
            .into_iter()
            .filter(|name| !same(name, &agent.id))
            .collect();
        let ids: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let members = agents::of_guild(cx.db, &agent.organisation, &agent.guild, &ids).await?;
        let (asks, unknown): (Vec<String>, Vec<String>) =
            names.into_iter().zip(ids).fold(Default::default(), |(mut asks, mut unknown), (name, id)| {
                if id == OPERATOR || members.contains(&id) {
                    asks.push(id);
                } else {
                    unknown.push(name);
                }
                (asks, unknown)
            });
        let posted = Posted {
            post: Uuid::now_v7(),
            asks,
            unknown,
        };
        let text = serde_json::to_string(&posted)?;
        let event = Event {
            organisation: agent.organisation.clone(),
            guild: Some(agent.guild.clone()),
            agent: Some(agent.id.clone()),
            what: What::GroupPost {
                post: posted.post,
                content,
                asks: posted.asks,
            },
        };
        Ok(Answer::TextAndEvent(text, Box::new(event)))
    }
}

fn check(content: &str) -> Result<(), ToolError> {
    if content.trim().is_empty() {
        return Err(ToolError::invalid(
            "content is empty: a post needs text that is not white space",
        ));
    }
    let characters = content.chars().count();
    if characters > MAX_CONTENT {
        return Err(ToolError::invalid(format!(
            "content has {characters} characters, at most {MAX_CONTENT} are allowed"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(content: &str, expected: Option<&str>) {
        let found = check(content).err().map(|error| error.to_string());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn a_post_has_text_and_at_most_20000_characters() {
        let empty = Some("422 content is empty: a post needs text that is not white space");
        refused("", empty);
        refused(" \n\t\u{a0}", empty);
        refused(&"é".repeat(20_000), None);
        refused(
            &"a".repeat(20_001),
            Some("422 content has 20001 characters, at most 20000 are allowed"),
        );
    }
}
