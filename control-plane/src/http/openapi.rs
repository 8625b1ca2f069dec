//! `/openapi.json`: the description of the API (OpenAPI 3.1), computed from the list of routes.
//!
//! What each route takes and answers stands in `openapi/*.json` under its method and
//! path; paths, tokens, pages and errors, which are the same everywhere, are added here.

use serde_json::{Map, Value, json};

use super::routes::Route;

/// The words about routes, one file a part of the API.
const PARTS: [&str; 3] = [
    include_str!("openapi/runs.json"),
    include_str!("openapi/operators.json"),
    include_str!("openapi/service.json"),
];
/// The shapes that more than one route speaks of.
const SHAPES: &str = include_str!("openapi/shapes.json");
/// Words about routes that stand for each kind of object in the operator's document.
const KIND: &str = "/v1/operator/{kind}";

/// The document as text.
pub(super) fn document(routes: &[Route]) -> String {
    let words = words();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let operation = operation(route, told(&words, route));
        let path = paths
            .entry(route.path.clone())
            .or_insert_with(|| Value::Object(Map::new()));
        path[route.method.to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Guilds",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs, their tools and calls for chat backends, and what operators set up and read.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "backend": { "type": "http", "scheme": "bearer",
                    "description": "A token of the role backend: all organisations." },
                "operator": { "type": "http", "scheme": "bearer",
                    "description": "A token of the role operator: one organisation." },
                "run": { "type": "http", "scheme": "bearer",
                    "description": "The token in `mcp` of a run's start: that run alone." },
            },
            "schemas": parsed(SHAPES),
        },
    })
    .to_string()
}

fn words() -> Map<String, Value> {
    PARTS
        .into_iter()
        .flat_map(|part| match parsed(part) {
            Value::Object(words) => words,
            _ => Map::new(),
        })
        .collect()
}

/// The files are part of the program, and a test reads each.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// What is written about a route, and the kind of object that its path names.
fn told(words: &Map<String, Value>, route: &Route) -> (Value, Option<&'static str>) {
    let key = format!("{} {}", route.method, route.path);
    if let Some(told) = words.get(&key) {
        return (told.clone(), None);
    }
    let kind = crate::operator::words().find(|kind| {
        route
            .path
            .strip_prefix(&format!("/v1/operator/{kind}"))
            .is_some_and(|rest| rest.is_empty() || rest == "/{id}")
    });
    let told = kind.and_then(|kind| {
        let rest = &route.path["/v1/operator/".len() + kind.len()..];
        words.get(&format!("{} {KIND}{rest}", route.method))
    });
    (told.cloned().unwrap_or_default(), kind)
}

fn operation(route: &Route, (told, kind): (Value, Option<&'static str>)) -> Value {
    let mut parameters: Vec<Value> = in_path(&route.path)
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    let mut query = told["query"].as_object().cloned().unwrap_or_default();
    let lists_kind = kind.is_some() && route.method == "GET" && !route.path.ends_with('}');
    if lists_kind || !told["page"].is_null() {
        query.insert(
            "after".to_owned(),
            json!({ "type": "string", "description": "The `next` of the page before." }),
        );
        query.insert(
            "limit".to_owned(),
            json!({ "type": "integer", "minimum": 1, "maximum": 1_000, "default": 100 }),
        );
    }
    for (name, mut schema) in query {
        let required = schema
            .as_object_mut()
            .and_then(|schema| schema.shift_remove("required"));
        let mut parameter = json!({ "name": name, "in": "query", "schema": schema });
        if let Some(required) = required {
            parameter["required"] = required;
        }
        parameters.push(parameter);
    }
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": named(&told["summary"], kind),
        "parameters": parameters,
        "responses": responses(route, &told, kind),
        "security": security(route, &told),
    });
    if let Some(content) = body(&told["body"]) {
        operation["requestBody"] =
            json!({ "required": told["body_optional"].is_null(), "content": content });
    }
    operation
}

/// The names in braces.
fn in_path(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// `get_v1_runs_run_tools`
fn operation_id(route: &Route) -> String {
    let path: Vec<String> = route
        .path
        .split(['/', '.'])
        .filter(|part| !part.is_empty())
        .map(|part| part.trim_matches(['{', '}']).replace('-', "_"))
        .collect();
    format!("{}_{}", route.method.to_ascii_lowercase(), path.join("_"))
}

fn named(words: &Value, kind: Option<&str>) -> Value {
    match (words, kind) {
        (Value::String(words), Some(kind)) => words.replace("{kind}", kind).into(),
        (words, _) => words.clone(),
    }
}

/// A body's content: a media type with its schema, JSON where none is named.
fn body(told: &Value) -> Option<Value> {
    match told {
        Value::Null => None,
        Value::Object(map) if map.keys().all(|key| key.contains('/')) => {
            let content: Map<String, Value> = map
                .iter()
                .map(|(media, schema)| (media.clone(), json!({ "schema": schema })))
                .collect();
            Some(Value::Object(content))
        }
        schema => Some(json!({ "application/json": { "schema": schema } })),
    }
}

fn responses(route: &Route, told: &Value, kind: Option<&str>) -> Value {
    let mut answer = told["answer"].clone();
    if let Some(page) = told["page"].as_object() {
        answer = listed(page, told["beside"].as_object());
    }
    if let Some(kind) = kind {
        let object = reference(kind);
        answer = match route.method {
            "GET" if route.path.ends_with('}') => object,
            "GET" => listed(
                &Map::from_iter([(kind.to_owned(), object)]),
                beside(kind).as_object(),
            ),
            _ => answer,
        };
    }
    let status = told["status"].as_u64().unwrap_or(200).to_string();
    let mut success = json!({ "description": named(&told["summary"], kind) });
    if let Some(content) = body(&answer) {
        success["content"] = content;
    }
    let refused = |what: &str| json!({ "description": what, "content": body(&reference("Error")) });
    json!({
        status: success,
        "4XX": refused("Refused: the message is written for whoever asked."),
        "5XX": refused("Failed, or not now: the operator's log has the cause."),
    })
}

/// A page: its rows under their plural, and the cursor of the next.
fn listed(page: &Map<String, Value>, beside: Option<&Map<String, Value>>) -> Value {
    let mut properties = Map::new();
    for (plural, row) in page {
        properties.insert(plural.clone(), json!({ "type": "array", "items": row }));
    }
    properties.insert("next".to_owned(), reference("Cursor"));
    properties.extend(beside.cloned().unwrap_or_default());
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

/// What a list of a kind tells beside its page.
fn beside(kind: &str) -> Value {
    match kind {
        "machines" => json!({ "control_plane": reference("ControlPlane") }),
        _ => Value::Null,
    }
}

fn reference(shape: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{shape}") })
}

/// Whose token opens a route: by its path, unless its words say otherwise.
fn security(route: &Route, told: &Value) -> Value {
    let open = |scheme: &str| json!([{ scheme: [] }]);
    match told["token"].as_str() {
        Some(scheme) => open(scheme),
        None if route.path.starts_with("/v1/operator/") => open("operator"),
        None if route.path.starts_with("/v1/") => open("backend"),
        None => json!([]),
    }
}

#[cfg(test)]
mod tests;
