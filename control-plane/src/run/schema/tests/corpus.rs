//! Schemas of the kinds that public MCP servers publish, each with what a model is shown of it.
//!
//! A case is three paragraphs of a file in `corpus/`: its name, the schema as
//! published, and the schema as shown, or `left out: ` and the reason. The second is
//! written by hand from the rules in `docs/backend.md`.

use serde_json::Value;

use super::super::repair::fit;
use super::super::rewrite;

const FILES: [(&str, &str); 5] = [
    ("plain", include_str!("corpus/plain.txt")),
    ("formats", include_str!("corpus/formats.txt")),
    ("references", include_str!("corpus/references.txt")),
    ("unions", include_str!("corpus/unions.txt")),
    ("odd", include_str!("corpus/odd.txt")),
];

/// The line that stands for it in the files.
const LINE: &str = "Optional. Omit this key when unused; do not pass an empty value.";

struct Case {
    name: String,
    published: String,
    shown: String,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (file, text) in FILES {
        let paragraphs: Vec<&str> = text
            .split("\n\n")
            .map(str::trim)
            .filter(|paragraph| !paragraph.is_empty())
            .collect();
        assert_eq!(paragraphs.len() % 3, 0, "{file} has half a case");
        for case in paragraphs.chunks(3) {
            cases.push(Case {
                name: format!("{file}: {}", case[0]),
                published: case[1].to_owned(),
                shown: case[2].replace("OMIT", LINE),
            });
        }
    }
    cases
}

/// Without the white space that the files are broken with; order of keys kept.
fn compact(name: &str, json: &str) -> String {
    let value: Value =
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{name}: {error}: {json}"));
    value.to_string()
}

#[test]
fn there_are_at_least_sixty_cases_each_with_a_name_of_its_own() {
    let cases = cases();
    assert!(cases.len() >= 60, "{}", cases.len());
    let names: std::collections::BTreeSet<&str> =
        cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len());
}

#[test]
fn every_schema_is_shown_as_written_beside_it() {
    let mut wrong = Vec::new();
    for case in cases() {
        let found = match fit(&case.published) {
            Ok(fitted) => fitted.shown.get().to_owned(),
            Err(unfit) => format!("left out: {unfit}"),
        };
        let expected = if case.shown.starts_with("left out: ") {
            case.shown
        } else {
            compact(&case.name, &case.shown)
        };
        if found != expected {
            wrong.push(format!(
                "{}\n  expected {expected}\n  found    {found}",
                case.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_shown_stays_when_it_is_published_again() {
    for case in cases() {
        if let Ok(first) = fit(&case.published) {
            let again = fit(first.shown.get()).unwrap();
            assert_eq!(again.shown.get(), first.shown.get(), "{}", case.name);
            assert_eq!(
                rewrite(first.shown.get()).get(),
                first.shown.get(),
                "{}",
                case.name
            );
        }
    }
}

#[test]
fn every_shown_schema_is_one_that_model_apis_take() {
    for case in cases() {
        let Ok(fitted) = fit(&case.published) else {
            continue;
        };
        let shown: Value = serde_json::from_str(fitted.shown.get()).unwrap();
        jsonschema::draft202012::meta::validate(&shown).unwrap();
        assert_eq!(shown["type"], "object", "{}", case.name);
        assert!(shown["properties"].is_object(), "{}", case.name);
        for key in ["anyOf", "oneOf", "allOf", "not", "enum", "$ref", "$schema"] {
            assert!(
                shown.get(key).is_none(),
                "{} has {key} at the top",
                case.name
            );
        }
    }
}
