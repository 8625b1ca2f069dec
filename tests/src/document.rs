//! Every request and answer of the tests against the API's own document.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use hyper::Method;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::api::Answer;

/// Answers that were checked so far.
static CHECKED: AtomicUsize = AtomicUsize::new(0);

/// The document, with the schemas that were needed so far compiled.
#[derive(Debug)]
pub(crate) struct Document {
    paths: Map<String, Value>,
    components: Value,
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

/// How many answers were held against the document.
#[must_use]
pub fn checked() -> usize {
    CHECKED.load(Ordering::Relaxed)
}

impl Document {
    /// Reads it. What it leaves open is closed: a field that it does not name is a fault.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut document: Value = serde_json::from_str(text)?;
        close(&mut document);
        Ok(Self {
            paths: document["paths"].as_object().cloned().context("paths")?,
            components: document["components"].take(),
            compiled: Mutex::default(),
        })
    }

    /// Checks an answer, and the request that brought it when it was accepted.
    pub(crate) fn check(
        &self,
        method: &Method,
        path: &str,
        request: &[u8],
        answer: &Answer,
    ) -> Result<()> {
        if *method == Method::HEAD {
            return Ok(());
        }
        let Some((template, operation)) = self.operation(method, path) else {
            return self.refused(method, path, answer);
        };
        let name = format!("{method} {template}");
        let accepted = (200..300).contains(&answer.status);
        if accepted && let Ok(body) = serde_json::from_slice::<Value>(request) {
            let content = &operation["requestBody"]["content"];
            self.validate(&name, "takes", content, "application/json", &body)?;
        }
        let responses = &operation["responses"];
        let by_status = [
            answer.status.to_string(),
            format!("{}XX", answer.status / 100),
        ];
        let told = by_status
            .iter()
            .find_map(|status| responses.get(status))
            .with_context(|| format!("{name} answered {}, which no word tells", answer.status))?;
        let media = answer.content_type.split(';').next().unwrap_or_default();
        if media == "application/json" {
            // Digits that a reader can't hold are somebody's data.
            let Ok(body) = answer.json() else {
                return Ok(());
            };
            let what = format!("answers {}", answer.status);
            self.validate(&name, &what, &told["content"], media, &body)?;
            CHECKED.fetch_add(1, Ordering::Relaxed);
        } else if !answer.text.is_empty() && !media.is_empty() {
            let content = &told["content"];
            if content.get(media).is_none() && content.get("*/*").is_none() {
                bail!("{name} answered {media}, which no word tells");
            }
        }
        Ok(())
    }

    /// What is no route is refused as everything is.
    fn refused(&self, method: &Method, path: &str, answer: &Answer) -> Result<()> {
        if answer.status < 400 {
            bail!(
                "{method} {path} answered {}, and the document has no such route",
                answer.status
            );
        }
        Ok(())
    }

    fn operation(&self, method: &Method, path: &str) -> Option<(&str, &Value)> {
        let path = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |template: &str| {
            let template: Vec<&str> = template.split('/').collect();
            template.len() == parts.len()
                && template
                    .iter()
                    .zip(&parts)
                    .all(|(one, part)| one.starts_with('{') || one == part)
        };
        // A path without braces before one with them.
        self.paths
            .iter()
            .filter(|(template, _)| fits(template))
            .min_by_key(|(template, _)| template.matches('{').count())
            .and_then(|(template, operations)| {
                let operation = operations.get(method.as_str().to_ascii_lowercase())?;
                Some((template.as_str(), operation))
            })
    }

    fn validate(
        &self,
        name: &str,
        what: &str,
        content: &Value,
        media: &str,
        body: &Value,
    ) -> Result<()> {
        let schema = &content[media]["schema"];
        if schema.is_null() {
            // No body is told: an empty object is as good as none.
            if what == "takes" && body.as_object().is_some_and(Map::is_empty) {
                return Ok(());
            }
            bail!("{name} {what} with a body that no word tells");
        }
        let validator = self.compiled(&format!("{name} {what}"), schema)?;
        let problems: Vec<String> = validator
            .iter_errors(body)
            .take(5)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        if !problems.is_empty() {
            bail!(
                "{name} {what} otherwise than /openapi.json says (its words are in control-plane/src/http/openapi/): {}",
                problems.join("; ")
            );
        }
        Ok(())
    }

    fn compiled(&self, key: &str, schema: &Value) -> Result<Arc<Validator>> {
        let kept = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept().get(key) {
            return Ok(Arc::clone(found));
        }
        let whole = json!({ "allOf": [schema], "components": self.components });
        let validator = jsonschema::draft202012::new(&whole)
            .map_err(|error| anyhow::anyhow!("{key}: {error}"))?;
        let validator = Arc::new(validator);
        kept().insert(key.to_owned(), Arc::clone(&validator));
        Ok(validator)
    }
}

/// Objects whose fields are named have no others.
fn close(node: &mut Value) {
    match node {
        Value::Object(map) => {
            map.values_mut().for_each(close);
            if map.get("properties").is_some_and(Value::is_object)
                && map.get("type").is_some_and(|word| word == "object")
                && !map.contains_key("additionalProperties")
            {
                map.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}
