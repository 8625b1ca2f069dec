//! The document against the list of routes and against itself.

use std::collections::BTreeSet;

use super::*;
use crate::http::routes;

fn made() -> Value {
    serde_json::from_str(&document(&routes().into_parts().0)).unwrap()
}

#[test]
fn every_route_has_its_words_and_all_words_are_of_a_route() {
    let (routes, _) = routes().into_parts();
    let words = words();
    let mut used = BTreeSet::new();
    for route in &routes {
        let (told, kind) = told(&words, route);
        let name = format!("{} {}", route.method, route.path);
        assert!(told["summary"].is_string(), "nothing is told about {name}");
        used.insert(kind.map_or(name.clone(), |kind| {
            let rest = &route.path["/v1/operator/".len() + kind.len()..];
            format!("{} {KIND}{rest}", route.method)
        }));
    }
    let written: BTreeSet<String> = words.keys().cloned().collect();
    assert_eq!(written, used, "words about no route");
    let distinct: BTreeSet<_> = routes.iter().collect();
    assert_eq!(distinct.len(), routes.len(), "a route twice");
}

#[test]
fn every_file_is_json_and_no_words_are_written_twice() {
    let all: usize = PARTS
        .iter()
        .map(|part| {
            serde_json::from_str::<Map<String, Value>>(part)
                .unwrap()
                .len()
        })
        .sum();
    assert_eq!(all, words().len());
    serde_json::from_str::<Map<String, Value>>(SHAPES).unwrap();
}

/// Every reference of a document.
fn references<'a>(node: &'a Value, found: &mut BTreeSet<&'a str>) {
    match node {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get("$ref") {
                found.insert(target);
            }
            map.values().for_each(|inner| references(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn every_reference_is_to_a_shape_and_every_shape_is_referred_to() {
    let document = made();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    let shapes: BTreeSet<String> = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
        .map(|name| format!("#/components/schemas/{name}"))
        .collect();
    let found: BTreeSet<String> = found.into_iter().map(str::to_owned).collect();
    assert_eq!(found, shapes);
}

#[test]
fn every_shape_is_a_schema() {
    let document = made();
    for (name, shape) in document["components"]["schemas"].as_object().unwrap() {
        jsonschema::draft202012::meta::validate(shape)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn operations_are_told_apart_and_say_whose_token_opens_them() {
    let document = made();
    let mut ids = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            assert!(ids.insert(id.clone()), "{id} twice");
            let opens = operation["security"][0].as_object();
            let opens = opens.and_then(|scheme| scheme.keys().next().map(String::as_str));
            let expected = match path.as_str() {
                "/healthz/live" | "/healthz/ready" | "/metrics" | "/openapi.json" => None,
                "/v1/runs/{run}/mcp" => Some("run"),
                path if path.starts_with("/v1/operator/") => Some("operator"),
                _ => Some("backend"),
            };
            assert_eq!(opens, expected, "{method} {path}");
        }
    }
}
