//! `/v1/runs/{run}/tools`: the turn's offer in the shapes that model APIs take.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::query::Parameters;
use super::{InPath, run_id};
use crate::http::Api;
use crate::http::auth::Backend;
use crate::http::error::{ApiError, body};
use crate::run::offer::OfferedTool;

const FORMATS: [&str; 4] = ["guilds", "openai", "anthropic", "mcp"];

/// `GET /v1/runs/{run}/tools?format=guilds|openai|anthropic|mcp`
pub(in crate::http) async fn list(
    _: Backend,
    State(api): State<Api>,
    InPath(run): InPath<String>,
    mut query: Parameters,
) -> Result<Response, ApiError> {
    let format = query.word("format", &FORMATS).unwrap_or("guilds");
    query.finish()?;
    let tools = api.engine.tools(run_id(&run)?).await?;
    if format == "guilds" {
        return Ok(body(
            StatusCode::OK,
            &json!({ "tools": tools, "next": Value::Null }),
        ));
    }
    let tools: Vec<Shaped<'_>> = tools.iter().map(|tool| shape(format, tool)).collect();
    Ok(body(
        StatusCode::OK,
        &json!({ "tools": tools, "next": Value::Null }),
    ))
}

#[derive(Serialize)]
#[serde(untagged)]
enum Shaped<'a> {
    Openai {
        r#type: &'static str,
        function: Function<'a>,
    },
    Anthropic {
        name: &'a str,
        description: &'a str,
        input_schema: &'a RawValue,
    },
    Mcp {
        name: &'a str,
        description: &'a str,
        #[serde(rename = "inputSchema")]
        input_schema: &'a RawValue,
    },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

fn shape<'a>(format: &str, tool: &'a OfferedTool) -> Shaped<'a> {
    let (name, description, input_schema) = (&*tool.name, &*tool.description, &*tool.input_schema);
    match format {
        "openai" => Shaped::Openai {
            r#type: "function",
            function: Function {
                name,
                description,
                parameters: input_schema,
            },
        },
        "anthropic" => Shaped::Anthropic {
            name,
            description,
            input_schema,
        },
        _ => Shaped::Mcp {
            name,
            description,
            input_schema,
        },
    }
}
